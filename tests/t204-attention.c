/* SPDX-License-Identifier: Apache-2.0 */
/* Attention of a kernel table (argv[1]) against the full softmax in double: grouped heads, causal,
   window, segments, an offset as with a cache, dropout, heads of a fused tensor, queries that see
   nothing; and its gradients, with a finite difference on the side. */
#include "base/rng.h"
#include "harness/kernel_case.h"

static struct kernel_case kc;

struct attention_case {
    const char *name;
    int64_t S_q, S_k, B, H, G, D;
    bool causal;
    int64_t window, offset, segment; /* segment: mean length, 0: none */
    double p;
};

static const struct attention_case cases[] = {
    {"one", 1, 1, 1, 1, 1, 3, true, 0, 0, 0, 0},
    {"causal", 37, 37, 2, 3, 3, 16, true, 0, 0, 0, 0},
    {"blocks", 300, 300, 1, 2, 2, 24, true, 0, 0, 0, 0},
    {"full", 70, 333, 2, 2, 1, 8, false, 0, 0, 0, 0},
    {"grouped", 140, 140, 1, 6, 2, 20, true, 0, 0, 0, 0},
    {"window", 400, 400, 1, 2, 1, 8, true, 19, 0, 0, 0},
    {"wide window", 600, 600, 1, 1, 1, 4, true, 290, 0, 0, 0},
    {"open window", 150, 290, 1, 1, 1, 8, false, 40, 0, 0, 0},
    {"segments", 290, 290, 2, 2, 2, 8, true, 0, 0, 61, 0},
    {"decode", 1, 311, 3, 4, 2, 32, true, 0, 310, 0, 0},
    {"cache", 5, 277, 2, 4, 4, 16, true, 0, 272, 0, 0},
    {"blind", 20, 6, 1, 1, 1, 8, true, 4, 0, 0, 0}, /* late queries see no key */
    {"dropout", 150, 150, 2, 4, 2, 8, true, 0, 0, 0, 0.3},
    {"all", 270, 270, 2, 4, 2, 12, true, 100, 0, 90, 0.1},
};
#define NUM_CASES (sizeof(cases) / sizeof(cases[0]))

struct attention_run {
    const struct attention_case *c;
    struct tri_attention a;
    struct case_tensor query, key, value, out, lse, dout, dquery, dkey, dvalue;
    int32_t *segments;
    int64_t samples[4];
    double *want[5]; /* out, lse, dquery, dkey, dvalue */
    float sink[8];   /* of each head */
    double dsink[8];
};

static struct attention_run run_make(const struct attention_case *c)
{
    struct attention_run r = {.c = c, .samples = {5, 1LL << 40, 77, 3}};
    r.query = case_make(&kc, CASE_DIMS(c->S_q, c->B, c->H, c->D), 3, 1);
    r.key = case_make(&kc, CASE_DIMS(c->S_k, c->B, c->G, c->D), 1, 1);
    r.value = case_make(&kc, CASE_DIMS(c->S_k, c->B, c->G, c->D), 2, 1);
    r.out = case_make(&kc, CASE_DIMS(c->S_q, c->B, c->H, c->D), 0, 1);
    r.dout = case_make(&kc, CASE_DIMS(c->S_q, c->B, c->H, c->D), 2, 1);
    r.lse = case_make(&kc, CASE_DIMS(c->B, c->H, c->S_q), 0, 1);
    r.dquery = case_make(&kc, CASE_DIMS(c->S_q, c->B, c->H, c->D), 1, 1);
    r.dkey = case_make(&kc, CASE_DIMS(c->S_k, c->B, c->G, c->D), 0, 1);
    r.dvalue = case_make(&kc, CASE_DIMS(c->S_k, c->B, c->G, c->D), 4, 1);
    r.segments = calloc((size_t)(c->B * c->S_k), sizeof(*r.segments));
    for (int64_t i = 1; c->segment > 0 && i < c->B * c->S_k; i++)
        r.segments[i] = r.segments[i - 1] + (case_random_int(&kc, c->segment) == 0);
    r.a = (struct tri_attention){.scale = 1.7f / sqrtf((float)c->D),
                                 .causal = c->causal,
                                 .window = c->window,
                                 .query_offset = c->offset,
                                 .segments = c->segment > 0 ? r.segments : NULL,
                                 .first_head = 3,
                                 .seq_length = 1000};
    r.a.dropout = (struct tri_dropout){.threshold = tri_dropout_threshold(c->p),
                                       .scale = (float)(1 / (1 - c->p)),
                                       .key = {11, 22}};
    r.want[0] = case_zeros(c->S_q * c->B * c->H * c->D);
    r.want[1] = case_zeros(c->S_q * c->B * c->H);
    r.want[2] = case_zeros(c->S_q * c->B * c->H * c->D);
    r.want[3] = case_zeros(c->S_k * c->B * c->G * c->D);
    r.want[4] = case_zeros(c->S_k * c->B * c->G * c->D);
    return r;
}

static void run_free(struct attention_run *r)
{
    struct case_tensor *all[] = {&r->query, &r->key,    &r->value, &r->out,   &r->lse,
                                 &r->dout,  &r->dquery, &r->dkey,  &r->dvalue};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        case_free(all[i]);
    for (int i = 0; i < 5; i++)
        free(r->want[i]);
    free(r->segments);
}

static bool sees(const struct attention_run *r, int64_t b, int64_t position, int64_t j)
{
    const struct attention_case *c = r->c;
    if (c->causal && j > position)
        return false;
    if (c->window > 0 && position - j >= c->window)
        return false;
    return !r->a.segments || r->segments[b * c->S_k + j] == r->segments[b * c->S_k + position];
}

static double factor(const struct attention_run *r, int64_t b, int64_t h, int64_t position,
                     int64_t j)
{
    if (r->a.dropout.threshold == 0)
        return 1;
    uint64_t sample = (uint64_t)r->samples[b];
    uint32_t counter[4] = {(uint32_t)sample, (uint32_t)(sample >> 32),
                           (uint32_t)((3 + h) * 1000 + position), (uint32_t)(j / 4)};
    uint32_t word[4];
    tri_philox4x32(counter, (struct tri_rng_key){{11, 22}}, word);
    return word[j % 4] >= r->a.dropout.threshold ? 1 / (1 - r->c->p) : 0;
}

static const float *row(const struct case_tensor *t, int64_t s, int64_t b, int64_t h)
{
    return t->base + s * t->t.strides[0] + b * t->t.strides[1] + h * t->t.strides[2];
}

static double dot(const float *a, const float *b, int64_t D)
{
    double sum = 0;
    for (int64_t d = 0; d < D; d++)
        sum += (double)a[d] * (double)b[d];
    return sum;
}

static double capped(const struct attention_run *r, double score)
{
    double cap = (double)r->a.softcap;
    return cap > 0 ? cap * tanh(score / cap) : score;
}

static double sink_of(const struct attention_run *r, int64_t h)
{
    return !r->a.has_sink ? -INFINITY : r->a.sink ? (double)r->sink[h] : 0;
}

/* p[j] of query i; returns the log of the sum, minus infinity when nothing is seen. */
static double softmax(const struct attention_run *r, double *p, int64_t i, int64_t b, int64_t h)
{
    const struct attention_case *c = r->c;
    int64_t g = h / (c->H / c->G), position = c->offset + i;
    double max = sink_of(r, h), sum = 0;
    for (int64_t j = 0; j < c->S_k; j++) {
        double score =
            (double)r->a.scale * dot(row(&r->query, i, b, h), row(&r->key, j, b, g), c->D);
        p[j] = sees(r, b, position, j) ? capped(r, score) : -INFINITY;
        max = fmax(max, p[j]);
    }
    if (r->a.has_sink)
        sum = exp(sink_of(r, h) - max);
    for (int64_t j = 0; j < c->S_k; j++)
        sum += p[j] = max == -INFINITY ? 0 : exp(p[j] - max);
    for (int64_t j = 0; j < c->S_k; j++)
        p[j] /= sum > 0 ? sum : 1;
    return max == -INFINITY ? max : max + log(sum);
}

/* Everything of query i of head h. */
static void want_query(struct attention_run *r, double *p, int64_t i, int64_t b, int64_t h)
{
    const struct attention_case *c = r->c;
    int64_t D = c->D, g = h / (c->H / c->G), position = c->offset + i;
    int64_t at = ((i * c->B + b) * c->H + h) * D;
    const float *dout = row(&r->dout, i, b, h);
    double delta = 0;
    double lse = r->want[1][(b * c->H + h) * c->S_q + i] = softmax(r, p, i, b, h);
    for (int64_t j = 0; j < c->S_k; j++) {
        const float *v = row(&r->value, j, b, g);
        double f = p[j] > 0 ? factor(r, b, h, position, j) : 0;
        delta += p[j] * f * dot(dout, v, D);
        for (int64_t d = 0; d < D; d++)
            r->want[0][at + d] += p[j] * f * (double)v[d];
    }
    for (int64_t j = 0; j < c->S_k; j++) {
        const float *k = row(&r->key, j, b, g), *v = row(&r->value, j, b, g);
        double f = p[j] > 0 ? factor(r, b, h, position, j) : 0;
        double score = (double)r->a.scale * dot(row(&r->query, i, b, h), k, D);
        double bent = r->a.softcap > 0 ? capped(r, score) / (double)r->a.softcap : 0;
        double ds = p[j] * (f * dot(dout, v, D) - delta) * (double)r->a.scale * (1 - bent * bent);
        int64_t kv = ((j * c->B + b) * c->G + g) * D;
        for (int64_t d = 0; d < D; d++) {
            r->want[2][at + d] += ds * (double)k[d];
            r->want[3][kv + d] += ds * (double)row(&r->query, i, b, h)[d];
            r->want[4][kv + d] += p[j] * f * (double)dout[d];
        }
    }
    if (r->a.has_sink)
        r->dsink[h] -= exp(sink_of(r, h) - lse) * delta;
}

static void run_forward(struct attention_run *r)
{
    const struct attention_case *c = r->c;
    r->a.dropout.sample_ids = r->samples;
    size_t bytes = kc.scratch->attention(c->S_q, c->S_k, c->B, c->H, c->G, c->D, 3);
    void *workspace = case_workspace(bytes);
    kc.k->attention(&kc.q, r->out.t, r->lse.t, r->query.t, r->key.t, r->value.t, &r->a, workspace);
    case_workspace_free(workspace, bytes);
}

static void run_backward(struct attention_run *r)
{
    const struct attention_case *c = r->c;
    size_t bytes = kc.scratch->attention_backward(c->S_q, c->S_k, c->B, c->H, c->G, c->D, 3);
    void *workspace = case_workspace(bytes);
    kc.k->attention_backward(&kc.q, r->dquery.t, r->dkey.t, r->dvalue.t, r->dout.t, r->out.t,
                             r->lse.t, r->query.t, r->key.t, r->value.t, &r->a, workspace);
    case_workspace_free(workspace, bytes);
}

/* The gradient of sinks, added to what is there. */
static void check_sinks(const struct attention_run *r)
{
    int64_t H = r->c->H;
    struct case_tensor sink = case_make(&kc, CASE_DIMS(H), 0, 1);
    struct case_tensor dsink = case_make(&kc, CASE_DIMS(H), 0, 1);
    double *want = case_double(&dsink.t);
    for (int64_t h = 0; h < H; h++) {
        sink.base[h] = r->sink[h];
        want[h] += r->dsink[h];
    }
    kc.k->attention_sink_backward(&kc.q, dsink.t, r->dout.t, r->out.t, r->lse.t, sink.t);
    case_expect(&dsink.t, want, "attention_grad", r->c->name);
    free(want);
    case_free(&sink);
    case_free(&dsink);
}

static void check_case(const struct attention_case *c, float softcap, bool has_sink,
                       bool is_learned)
{
    struct attention_run r = run_make(c);
    double *p = case_zeros(c->S_k);
    for (int h = 0; h < 8; h++)
        r.sink[h] = (float)(4 * case_random(&kc));
    r.a.softcap = softcap;
    r.a.has_sink = has_sink;
    r.a.sink = is_learned ? r.sink : NULL;
    for (int64_t b = 0; b < c->B; b++)
        for (int64_t h = 0; h < c->H; h++)
            for (int64_t i = 0; i < c->S_q; i++)
                want_query(&r, p, i, b, h);
    run_forward(&r);
    case_expect(&r.out.t, r.want[0], "attention", c->name);
    case_expect(&r.lse.t, r.want[1], "attention", c->name);
    run_backward(&r);
    case_expect(&r.dquery.t, r.want[2], "attention_grad", c->name);
    case_expect(&r.dkey.t, r.want[3], "attention_grad", c->name);
    case_expect(&r.dvalue.t, r.want[4], "attention_grad", c->name);
    if (is_learned)
        check_sinks(&r);
    free(p);
    run_free(&r);
}

static void test_against_double(void **state)
{
    (void)state;
    for (size_t n = 0; n < NUM_CASES; n++)
        check_case(&cases[n], 0, false, false);
}

static void test_caps_and_sinks(void **state)
{
    (void)state;
    for (size_t n = 0; n < NUM_CASES; n++) {
        if (cases[n].S_k > 1) /* of a lone key it is 0 but for rounding */
            check_case(&cases[n], 1.3f, false, false);
        check_case(&cases[n], 0, true, false);
        check_case(&cases[n], 0.8f, true, true);
    }
}

/* Scores 1 and 2 with the sinks 0 and 1. */
static void test_known_sinks(void **state)
{
    (void)state;
    static const double share[2][2] = {{.244728, .665241}, {.211942, .576117}};
    const struct attention_case c = {"known", 1, 2, 1, 1, 1, 1, false, 0, 0, 0, 0};
    for (int z = 0; z < 2; z++) {
        struct attention_run r = run_make(&c);
        r.a.scale = 1;
        r.a.has_sink = true;
        r.sink[0] = (float)z;
        r.a.sink = z == 0 ? NULL : r.sink;
        *case_at(&r.query.t, 0) = 1;
        for (int j = 0; j < 2; j++) {
            *case_at(&r.key.t, j) = (float)(j + 1);
            *case_at(&r.value.t, j) = j == 0 ? 1 : 0;
        }
        run_forward(&r);
        assert_true(fabs((double)*case_at(&r.out.t, 0) - share[z][0]) < 1e-6);
        *case_at(&r.value.t, 0) = 0;
        *case_at(&r.value.t, 1) = 1;
        run_forward(&r);
        assert_true(fabs((double)*case_at(&r.out.t, 0) - share[z][1]) < 1e-6);
        run_free(&r);
    }
}

static double run_loss(struct attention_run *r)
{
    double loss = 0;
    run_forward(r);
    for (int64_t e = 0; e < tri_tensor_elements(&r->out.t); e++)
        loss += (double)*case_at(&r->out.t, e) * (double)*case_at(&r->dout.t, e);
    return loss;
}

/* Gradients of sum(out * dout) by a central difference of forward itself. */
static void test_finite_difference(void **state)
{
    (void)state;
    const struct attention_case c = {"difference", 21, 21, 2, 4, 2, 6, true, 9, 0, 7, 0.25};
    struct attention_run r = run_make(&c);
    struct case_tensor *in[3] = {&r.query, &r.key, &r.value};
    struct case_tensor *grad[3] = {&r.dquery, &r.dkey, &r.dvalue};
    run_forward(&r);
    run_backward(&r);
    for (int n = 0; n < 24; n++) {
        int64_t e = case_random_int(&kc, tri_tensor_elements(&in[n % 3]->t));
        float *x = case_at(&in[n % 3]->t, e), old = *x;
        const double step = 1e-2;
        *x = old + (float)step;
        double up = run_loss(&r);
        *x = old - (float)step;
        double numeric = (up - run_loss(&r)) / (2 * step);
        *x = old;
        double slope = (double)*case_at(&grad[n % 3]->t, e);
        assert_true(fabs(numeric - slope) <= tri_tolerance_find("finite_difference")->fail);
    }
    run_free(&r);
}

/* Queries, keys and values are often parts of one tensor [S, B, heads, 3 D] or [S, B, (H + 2G) D]. */
static void test_fused_heads(void **state)
{
    (void)state;
    enum { S = 50, B = 2, H = 4, G = 2, D = 8 };
    struct case_tensor fused = case_make(&kc, CASE_DIMS(S, B, H + 2 * G, D), 0, 1);
    struct case_tensor grad = case_make(&kc, CASE_DIMS(S, B, H + 2 * G, D), 0, 1);
    const struct attention_case c = {"fused", S, S, B, H, G, D, true, 0, 0, 0, 0};
    struct attention_run r = run_make(&c);
    struct tri_tensor q = tri_tensor_slice(&fused.t, 2, 0, H);
    struct tri_tensor k = tri_tensor_slice(&fused.t, 2, H, G);
    struct tri_tensor v = tri_tensor_slice(&fused.t, 2, H + G, G);
    struct tri_tensor dq = tri_tensor_slice(&grad.t, 2, 0, H);
    struct tri_tensor dk = tri_tensor_slice(&grad.t, 2, H, G);
    struct tri_tensor dv = tri_tensor_slice(&grad.t, 2, H + G, G);
    kc.k->copy(&kc.q, r.query.t, q);
    kc.k->copy(&kc.q, r.key.t, k);
    kc.k->copy(&kc.q, r.value.t, v);
    run_forward(&r);
    run_backward(&r);
    double *want = case_double(&r.out.t), *wq = case_double(&r.dquery.t);
    double *wk = case_double(&r.dkey.t), *wv = case_double(&r.dvalue.t);
    size_t bytes = kc.scratch->attention_backward(S, S, B, H, G, D, 3);
    void *workspace = case_workspace(bytes);
    kc.k->attention_backward(&kc.q, dq, dk, dv, r.dout.t, r.out.t, r.lse.t, q, k, v, &r.a,
                             workspace);
    kc.k->attention(&kc.q, r.out.t, r.lse.t, q, k, v, &r.a, workspace);
    case_expect(&r.out.t, want, "exact", "fused out");
    case_expect(&dq, wq, "exact", "fused dquery");
    case_expect(&dk, wk, "exact", "fused dkey");
    case_expect(&dv, wv, "exact", "fused dvalue");
    case_workspace_free(workspace, bytes);
    free(want);
    free(wq);
    free(wk);
    free(wv);
    run_free(&r);
    case_free(&fused);
    case_free(&grad);
}

/* A window costs what it shows: keys before it may hold anything, and get no gradient. */
static void test_keys_before_a_window_are_not_read(void **state)
{
    (void)state;
    enum { S = 64, KEYS = 600, WINDOW = 19, FIRST = KEYS - S - WINDOW + 1 };
    const struct attention_case c = {"late", S, KEYS, 1, 2, 1, 8, true, WINDOW, KEYS - S, 0, 0};
    struct attention_run r = run_make(&c);
    for (int64_t i = 0; i < FIRST * c.D; i++)
        *case_at(&r.key.t, i) = *case_at(&r.value.t, i) = NAN;
    run_forward(&r);
    run_backward(&r);
    assert_int_equal(kc.k->find_non_finite(&kc.q, r.out.t), -1);
    assert_int_equal(kc.k->find_non_finite(&kc.q, r.dquery.t), -1);
    for (int64_t i = 0; i < KEYS * c.D; i++)
        assert_true(i < FIRST * c.D
                        ? *case_at(&r.dkey.t, i) == 0 && *case_at(&r.dvalue.t, i) == 0
                        : isfinite(*case_at(&r.dkey.t, i)) && *case_at(&r.dvalue.t, i) != 0);
    run_free(&r);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_double),
        cmocka_unit_test(test_caps_and_sinks),
        cmocka_unit_test(test_known_sinks),
        cmocka_unit_test(test_finite_difference),
        cmocka_unit_test(test_fused_heads),
        cmocka_unit_test(test_keys_before_a_window_are_not_read),
    };
    int reports = 0;
    kc = kernel_case_open(argc, argv, &reports);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    kernel_case_close(&kc);
    return failed + reports;
}
