/* SPDX-License-Identifier: Apache-2.0 */
/* The size of a team never changes a bit: every operation of cpu_fast on teams of none, 1, 2, 3 and
   5, on shapes that are cut into several tasks. Runs the rows of the kernel benchmark. */
#include "base/rng.h"
#include "harness/kernel_case.h"
#include "kernels/bench_case.h"

#define MAX_SIZES 5
static const int sizes[MAX_SIZES] = {0, 1, 2, 3, 5}; /* 0: no team */

/* Dims of the timed shape, made smaller but still cut into tasks. */
static void shrink(const struct bench_case *c, int64_t *d)
{
    for (int i = 0; i < BENCH_DIMS; i++) {
        d[i] = c->full[i];
        if (d[i] > 4096)
            d[i] = 4099 + d[i] % 7;
        else if (d[i] > 512)
            d[i] = 301 + d[i] % 11;
        else if (d[i] == 512)
            d[i] = 261;
    }
    if (strstr(c->name, "swiglu"))
        d[1] = 410; /* even */
    if (strcmp(c->letters, "T") == 0)
        d[0] = 200003;
}

struct made {
    struct bench_run run;
    int64_t size[BENCH_BUFFERS];
};

static void make(struct made *m, const struct bench_case *c, const int64_t *d)
{
    struct tri_rng_key key = tri_rng_key(5, TRI_RNG_TEST, 1);
    int64_t num_ids = 1;
    *m = (struct made){.run = {.d = d}};
    c->sizes(d, m->size);
    for (int i = 0; i < BENCH_BUFFERS; i++) {
        m->run.buffer[i] = malloc((size_t)(m->size[i] + 1) * sizeof(float));
        tri_rng_uniform(key, 1000000 * i, m->size[i], 0.5f, m->run.buffer[i]);
        for (int64_t e = 0; e < m->size[i]; e++)
            m->run.buffer[i][e] += 0.6f;
    }
    for (int i = 0; i < BENCH_DIMS; i++)
        num_ids *= c->num_ids >> i & 1 ? d[i] : 1;
    m->run.ids = malloc((size_t)num_ids * sizeof(*m->run.ids));
    for (int64_t i = 0; i < num_ids; i++)
        m->run.ids[i] = (int32_t)(i * 7919 % d[c->limit]);
    m->run.samples = calloc(64, sizeof(*m->run.samples));
}

static void release(struct made *m)
{
    for (int i = 0; i < BENCH_BUFFERS; i++)
        free(m->run.buffer[i]);
    free(m->run.ids);
    free(m->run.samples);
}

static void run_on_team(struct made *m, const struct bench_case *c, const int64_t *d, int size)
{
    tri_team *team = NULL;
    size_t bytes =
        c->scratch ? c->scratch(tri_kernels_scratch("cpu_fast"), d, size > 0 ? size : 1) : 0;
    if (size > 0)
        assert_int_equal(tri_team_create(size, NULL, &team), TRI_OK);
    struct tri_queue q = {.device = &tri_device_host, .team = team};
    make(m, c, d);
    m->run.queue = &q;
    m->run.workspace = case_workspace(bytes);
    c->run(tri_kernels_find("cpu_fast", NULL), &m->run);
    case_workspace_free(m->run.workspace, bytes);
    tri_team_destroy(&team);
}

static void test_same_bits(void **state)
{
    (void)state;
    for (int n = 0; n < tri_bench_num_cases; n++) {
        const struct bench_case *c = &tri_bench_cases[n];
        struct made first, other;
        int64_t d[BENCH_DIMS];
        shrink(c, d);
        run_on_team(&first, c, d, sizes[0]);
        for (int s = 1; s < MAX_SIZES; s++) {
            run_on_team(&other, c, d, sizes[s]);
            for (int i = 0; i < BENCH_BUFFERS; i++)
                if (memcmp(first.run.buffer[i], other.run.buffer[i],
                           (size_t)first.size[i] * sizeof(float)) != 0)
                    fail_msg("'%s', buffer %d: a team of %d gives other bits", c->name, i,
                             sizes[s]);
            release(&other);
        }
        release(&first);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
