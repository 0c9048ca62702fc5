/* SPDX-License-Identifier: Apache-2.0 */
/* Scripts to argument lists: what a shell would hand to pretrain_gpt.py, told without running anything. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "explain/list_expression.h"
#include "explain/shell.h"

#include <stdlib.h>
#include <string.h>

/* words joined by '|'. */
static const struct {
    const char *script, *words;
} scripts[] = {
    {"python pretrain_gpt.py --a 1 --b\n", "--a|1|--b"},
    {"python x/pretrain_gpt.py \\\n  --a 1 \\\n --b # comment\n--c\n", "--a|1|--b"},
    {"pretrain_gpt.py --a 'b c' \"d e\" f\\ g ''\n", "--a|b c|d e|f g|"},
    {"A=1\nB=$A$A C=\"x $A\"\npretrain_gpt.py $A ${B} \"$C\" $C '$A'\n", "1|11|x 1|x|1|$A"},
    {"A=(--a 1 # it's a comment\n --b 'c d')\nA+=(--e)\npretrain_gpt.py ${A[@]}\n",
     "--a|1|--b|c|d|--e"},
    {"A=(--a 1 --b 'c d')\npretrain_gpt.py \"${A[@]}\" ${A}\n", "--a|1|--b|c d|--a"},
    {"A=\"--a 1\"\nA+=' --b'\npretrain_gpt.py $A\n", "--a|1|--b"},
    {"pretrain_gpt.py --a ${X:-5} ${Y-\"6 7\"} $X ${X} \"${Z}\" $1 $@\n",
     "--a|5|6 7|$X|${X}|${Z}|$1|$@"},
    {"A=\npretrain_gpt.py x ${A:-y} ${A-z} \"$A\" ${A:+n} ${B:+m}\n", "x|y|"},
    {"N=3\npretrain_gpt.py $((N*2+1)) $(( (N + 1) % 3 )) $((M+1)) $((1/0))\n",
     "7|1|$((M+1))|$((1/0))"},
    {"pretrain_gpt.py --a $(nproc --all) `date` \"$(echo \"a b\")\"\n",
     "--a|$(nproc --all)|`date`|$(echo \"a b\")"},
    {"if [ \"$A\" = b ]; then X=1; else X=2; fi\npretrain_gpt.py $X\n", "2"},
    {"A=b\nif [ \"$A\" == b ] && [[ -z $B ]]; then X=1; elif true; then X=3; else X=2; fi\n"
     "pretrain_gpt.py $X\n",
     "1"},
    {"A=5\nif [[ $A -gt 7 || $A -eq 5 ]]; then X=1; fi\npretrain_gpt.py $X\n", "1"},
    {"if [ ! -f x ]; then exit 1; fi\nif ! false; then X=1; fi\npretrain_gpt.py $X\n", "1"},
    {"if true; then if false; then X=1; else X=2; fi; Y=3; fi\npretrain_gpt.py $X $Y\n", "2|3"},
    {"S=mid\ncase $S in big) X=1;; m*|small) X=2 ;; *) X=3;; esac\npretrain_gpt.py $X\n", "2"},
    {"case $S in\n  '') X=1\n  ;;\n  *) X=3;;\nesac\npretrain_gpt.py $X\n", "1"},
    {"export A=1; declare -i B=2\nlocal C=3\nD=4 python pretrain_gpt.py $A $B $C $D\n", "1|2|3|$D"},
    {"python pretrain_gpt.py --a 1 2>&1 | tee log\n", "--a|1"},
    {"python pretrain_gpt.py --a 1 > log 2>err < in &\n", "--a|1"},
    {"cat <<EOF > x\npretrain_gpt.py --no\nEOF\npretrain_gpt.py --yes\n", "--yes"},
    {"C=\"python pretrain_gpt.py --a 'b c'\"\neval $C\nsrun sh -c \"$C --d\"\n", "--a|b c|--d"},
    {"run() {\n  A=2\n}\nfor i in 1 2; do B=$i; done\npretrain_gpt.py $A $B\n", "2|$i"},
    {"python tools/other.py --z 1\npython pretrain_gpt.py --a\npython tools/more.py --z\n", "--a"},
    {"torchrun --nnodes 2 train_custom.py --a\n", "--a"},
    {"--a 1\n--b 2 # plain text\n3\n", "--a|1|--b|2|3"},
    {"A=(--a 1)\nB=\"--b 2\"\nC=other\n", "--a|1|--b|2"},
    {"pretrain_gpt.py --a 1\r\n", "--a|1"},
    {"pretrain_gpt.py --a \\\r\n 1\r\n", "--a|1"},
    {"pretrain_gpt.py --a=\"x y\" --b='$A'\n", "--a=x y|--b=$A"},
    {"pretrain_gpt.py --a (x) {y} ;;\n", "--a"},
    {"pretrain_gpt.py --a \"unclosed\n", "--a|unclosed\n"},
    {"A=$A$A\npretrain_gpt.py --a $A\n", "--a|$A$A"},
    {"echo nothing here\n", ""},
    {"", ""},
};

static void test_scripts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++) {
        tri_arena *arena = tri_arena_create();
        tri_error *err = tri_error_create();
        struct tri_shell_result result;
        char joined[1024] = "";
        assert_int_equal(tri_shell_read(scripts[i].script, "script", arena, err, &result), TRI_OK);
        for (int w = 0; w < result.arguments.num; w++) {
            size_t used = strlen(joined);
            snprintf(joined + used, sizeof joined - used, "%s%s", w ? "|" : "",
                     result.arguments.words[w]);
        }
        if (strcmp(joined, scripts[i].words) != 0)
            fail_msg("script %zu:\n%s\ngives '%s', not '%s'", i, scripts[i].script, joined,
                     scripts[i].words);
        tri_error_destroy(&err);
        tri_arena_destroy(&arena);
    }
}

/* Cut anywhere, a script is read to its end. */
static void test_cuts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++) {
        for (size_t length = strlen(scripts[i].script); length-- > 0;) {
            char text[512];
            snprintf(text, sizeof text, "%.*s", (int)length, scripts[i].script);
            tri_arena *arena = tri_arena_create();
            struct tri_shell_result result;
            assert_int_equal(tri_shell_read(text, "script", arena, NULL, &result), TRI_OK);
            tri_arena_destroy(&arena);
        }
    }
}

/* items: digits; NULL: refused. */
static const struct {
    const char *text, *items;
} lists[] = {
    {"[1,0,2]", "102"},
    {"([1]*3+[0])*2", "11101110"},
    {"[1] + [0] * 2 * 2", "10000"},
    {" ( [1, 0] ) ", "10"},
    {"[1]*0+[2]", "2"},
    {"[1]*0", NULL},
    {"", NULL},
    {"3", NULL},
    {"[", NULL},
    {"[]", NULL},
    {"[1]*", NULL},
    {"[1]+", NULL},
    {"[1]]", NULL},
    {"([1]", NULL},
    {"[-1]", NULL},
    {"[1]*512", ""},
    {"[1]*513", NULL},
    {"[1]*99999999999999999999", NULL},
    {"[1]*512+[1]", NULL},
    {"((((((((((((((([1])))))))))))))))", NULL},
};

static void test_lists(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        struct tri_option_list list;
        if (tri_list_expression(lists[i].text, &list) != (lists[i].items != NULL))
            fail_msg("'%s'", lists[i].text);
        for (size_t k = 0; lists[i].items && k < strlen(lists[i].items); k++)
            assert_int_equal(list.value[k], lists[i].items[k] - '0');
        if (lists[i].items && lists[i].items[0])
            assert_int_equal(list.num, strlen(lists[i].items));
    }
}

static void test_growth(void **state)
{
    (void)state;
    char text[4096] = "A=\"--x y z w\"\n";
    for (int i = 0; i < 40; i++)
        strncat(text, "A=\"$A $A\"\n", sizeof text - strlen(text) - 1);
    strncat(text, "pretrain_gpt.py $A\n", sizeof text - strlen(text) - 1);
    tri_arena *arena = tri_arena_create();
    tri_error *err = tri_error_create();
    struct tri_shell_result result;
    assert_int_equal(tri_shell_read(text, "bomb.sh", arena, err, &result), TRI_INVALID);
    assert_non_null(strstr(tri_error_message(err, 0), "bomb.sh: its variables make more than"));
    tri_error_destroy(&err);
    tri_arena_destroy(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scripts),
        cmocka_unit_test(test_cuts),
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_growth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
