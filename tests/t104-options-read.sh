#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every option is read by some code: the field of each row of a run's tables is read outside the files that
# hold rows and rules. The compiler says who reads what: it compiles all sources with every field of the
# config structs marked as deprecated. Three planted rows prove that a row is found whose field nobody
# reads, whose field is only written, and whose field is only read in a struct of another kind.
set -euo pipefail
export LC_ALL=C
: "${SOURCE:=$(cd "$(dirname "$0")/.." && pwd)}" "${CC:=cc}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$SOURCE"

flags=(-std=gnu17 -D_GNU_SOURCE '-DTRI_VERSION="0"' -include src/base/banned.h -I"$work/src" -Isrc -Iinclude -I.)
read -ra libraries < <(pkg-config --cflags jansson yaml-0.1 libpcre2-8 libutf8proc libzstd openblas)
if command -v mpicc >/dev/null 2>&1; then
    read -ra mpi < <(mpicc -showme:compile 2>/dev/null || true)
    flags+=("${mpi[@]}")
fi
[ "$(uname -m)" != x86_64 ] || flags+=(-march=x86-64-v3)
flags+=("${libraries[@]}")

# Prints stdin without comments.
strip_comments() {
    awk 'BEGIN { RS = "\001" }
    {
        while (match($0, /\/\*([^*]|\*+[^*\/])*\*+\//))
            $0 = substr($0, 1, RSTART - 1) " " substr($0, RSTART + RLENGTH)
        print
    }'
}

# Prints the header of stdin with every field of a config struct marked; the mark names the struct.
mark_fields() {
    strip_comments | awk '
    /^struct tri_[a-z_]* \{/ { name = $2; print; next }
    /^\};/ { name = "" }
    name == "" { print; next }
    {
        text = text " " $0
        if (text ~ /; *$/) {
            print "    __attribute__((deprecated(\"" name "\")))" text
            text = ""
        }
    }'
}

# Adds three rows to the train section, and code that reads none of them.
plant() {
    sed -i 's/^struct tri_train_config {/&\n    bool nobody_reads, only_written, only_elsewhere;/' \
        "$work/src/train/config.h.plain"
    local row rows=''
    for row in nobody_reads only_written only_elsewhere; do
        rows+="    {.name = \"$row\", .type = TRI_OPTION_BOOL, .offset = FIELD($row)},\n"
    done
    sed "s/^\(static const struct tri_option rows\[\] = {\)/\1\n$rows/" src/train/config.c \
        >"$work/src/train/config.c"
    cat >"$work/planted.c" <<'C'
#include "train/config.h"
struct other {
    bool only_elsewhere;
};
void planted_write(struct tri_train_config *config);
void planted_write(struct tri_train_config *config)
{
    config->only_written = true;
}
bool planted_read(const struct other *other);
bool planted_read(const struct other *other)
{
    return other->only_elsewhere;
}
C
}

# Prints "row struct field" for each row of a table file; facts, which conditions ask for, are no options.
list_rows() {
    "$CC" "${flags[@]}" -E -P "$1" | tr '\n' ' ' |
        grep -o '\.name = "[a-z_0-9]*"[^{}]*__builtin_offsetof *([^)]*)' |
        sed 's/\.name = "\([^"]*\)".*offsetof *(struct \([a-z_]*\), *\([a-z_0-9]*\))/\1 \2 \3/' |
        grep -v ' tri_run_facts ' || true
}

# Prints "struct field" for each marked field that file reads; an assignment to it is no reading.
list_reads() {
    { "$CC" "${flags[@]}" -fsyntax-only "$1" 2>&1 || true; } | awk -v file="$1" '
    BEGIN { while ((getline text < file) > 0) line[++num] = text }
    # False when field is only assigned to in text; rows say .offset = offsetof(struct, field).
    function is_read(text, field) {
        if (text ~ /\.offset = (offsetof|[A-Z]+)\(/) return 0
        while (at = index(text, field)) {
            text = substr(text, at + length(field))
            if (text !~ /^(\[[^]]*\])? *=[^=]/) return 1
        }
        return 0
    }
    match($0, /^[^:]*:[0-9]+:[0-9]+: warning: .[a-z_0-9]+. is deprecated: [a-z_]+/) {
        split($0, place, ":")
        if (place[1] != file) next
        field = substr($0, index($0, "warning: ") + 10)
        sub(/[^a-z_0-9].*/, "", field)
        owner = $0
        sub(/.* is deprecated: /, "", owner)
        sub(/[^a-z_].*/, "", owner)
        if (is_read(substr(line[place[2]], place[3] > 2 ? place[3] - 2 : 1), field))
            print owner, field
    }
    /: error: / { print "error", $0 }'
}

mapfile -t tables < <(grep -lE '^(static )?const struct tri_option_table [a-z_]+ = \{' -r src --include='*.c' | sort)
mapfile -t rules < <(ls src/*/options*.c src/*/config.c src/shape/check.c | grep -v options_short)
mapfile -t headers < <(grep -lE '^struct tri_([a-z_]*_config|shape_short) \{' -r src --include='*.h')
for header in "${headers[@]}"; do
    mkdir -p "$work/$(dirname "$header")"
    cp "$header" "$work/$header.plain"
done
plant
for header in "${headers[@]}"; do
    mark_fields <"$work/$header.plain" >"$work/$header"
done
for table in "${tables[@]}"; do
    [ ! -f "$work/$table" ] || table=$work/$table
    list_rows "$table"
done >"$work/rows"

find src cli -name '*.c' ! -path '*/mpi_none/*' | sort |
    grep -vxFf <(printf '%s\n' "${rules[@]}") >"$work/sources"
[ ${#mpi[@]} -gt 0 ] || sed -i '/comm\/mpi\//d' "$work/sources"
echo "$work/planted.c" >>"$work/sources"
while read -r file; do
    list_reads "$file"
done <"$work/sources" | sort -u >"$work/reads"
if grep -m 3 '^error' "$work/reads"; then
    echo "some sources do not compile here"
    exit 1
fi

# Every documented option is among the rows.
grep -o '^| `[a-z_0-9]*`' docs/OPTIONS.md | tr -d '|` ' | sort >"$work/documented"
grep -v -E '^(nobody_reads|only_)' "$work/rows" | cut -d' ' -f1 | sort >"$work/named"
diff "$work/documented" "$work/named" || {
    echo "the option page and the rows differ"
    exit 1
}

# Token ids only go into config.json, which is written by what a family's keys name.
is_token() {
    grep -q "TRI_HF_TOKEN, \"$1\"" src/spec/model_*.c
}

while read -r row owner field; do
    grep -qxF "$owner $field" "$work/reads" || is_token "$row" || echo "$row"
done <"$work/rows" | sort >"$work/unread"
printf '%s\n' nobody_reads only_elsewhere only_written >"$work/planted"
if ! diff "$work/planted" "$work/unread" >"$work/difference"; then
    sed -n "s/^> \(.*\)/no code reads the option '\1'; use it, or leave out its row/p
        s/^< \(.*\)/this check does not find the planted row '\1'/p" "$work/difference"
    exit 1
fi
echo "all $(wc -l <"$work/named") options are read, and 3 planted ones are found"
