/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of the kernel benchmark. Letters as in kernels/kernels.h; T counts elements. */
#include "base/exact_sum.h"
#include "base/rng.h"
#include "kernels/bench_case.h"

#include <string.h>

static struct tri_tensor view(float *data, int num_dims, int64_t a, int64_t b, int64_t c, int64_t d)
{
    const int64_t dims[4] = {a, b, c, d};
    return tri_tensor_view(data, TRI_DTYPE_F32, num_dims, dims);
}

/* gemm: M N K, transpose a, transpose b, beta */
static void gemm_sizes(const int64_t *d, int64_t *size)
{
    size[0] = d[0] * d[1];
    size[1] = d[0] * d[2];
    size[2] = d[1] * d[2];
}

static void gemm_run(const struct tri_kernels *k, struct bench_run *r)
{
    const int64_t *d = r->d;
    bool ta = d[3] != 0, tb = d[4] != 0;
    k->gemm(r->queue, tri_tensor_f32_2d(r->buffer[0], d[0], d[1]),
            tri_tensor_f32_2d(r->buffer[1], ta ? d[2] : d[0], ta ? d[0] : d[2]),
            tri_tensor_f32_2d(r->buffer[2], tb ? d[1] : d[2], tb ? d[2] : d[1]), ta, tb,
            (float)d[5], r->workspace);
}

static size_t gemm_scratch(const struct tri_scratch_table *s, const int64_t *d, int team_size)
{
    return s->gemm(d[0], d[1], d[2], team_size);
}

static double gemm_flops(const int64_t *d)
{
    return 2.0 * (double)d[0] * (double)d[1] * (double)d[2];
}

/* attention: S_q S_k B H G D, causal; queries are the last S_q positions */
static void attention_sizes(const int64_t *d, int64_t *size)
{
    size[0] = size[3] = d[0] * d[2] * d[3] * d[5];
    size[1] = d[0] * d[2] * d[3];
    size[4] = size[5] = d[1] * d[2] * d[4] * d[5];
}

static void attention_grad_sizes(const int64_t *d, int64_t *size)
{
    attention_sizes(d, size);
    size[2] = size[6] = size[0];
    size[7] = size[8] = size[4];
}

static struct tri_attention attention_causal(const int64_t *d)
{
    return (struct tri_attention){
        .scale = 0.125f, .causal = true, .query_offset = d[1] - d[0], .seq_length = d[1]};
}

static struct tri_tensor attention_heads(struct bench_run *r, int buffer, int64_t S, int64_t H)
{
    return view(r->buffer[buffer], 4, S, r->d[2], H, r->d[5]);
}

static void attention_call(const struct tri_kernels *k, struct bench_run *r,
                           const struct tri_attention *a)
{
    const int64_t *d = r->d;
    k->attention(r->queue, attention_heads(r, 0, d[0], d[3]),
                 view(r->buffer[1], 3, d[2], d[3], d[0], 0), attention_heads(r, 3, d[0], d[3]),
                 attention_heads(r, 4, d[1], d[4]), attention_heads(r, 5, d[1], d[4]), a,
                 r->workspace);
}

static void attention_run(const struct tri_kernels *k, struct bench_run *r)
{
    const struct tri_attention a = attention_causal(r->d);
    attention_call(k, r, &a);
}

static void attention_dropout_run(const struct tri_kernels *k, struct bench_run *r)
{
    struct tri_attention a = attention_causal(r->d);
    a.dropout = (struct tri_dropout){.threshold = tri_dropout_threshold(0.1),
                                     .scale = 1 / 0.9f,
                                     .key = {1, 2},
                                     .sample_ids = r->samples};
    attention_call(k, r, &a);
}

/* out and lse are arbitrary here: the arithmetic is the same. */
static void attention_grad_run(const struct tri_kernels *k, struct bench_run *r)
{
    const struct tri_attention a = attention_causal(r->d);
    const int64_t *d = r->d;
    k->attention_backward(r->queue, attention_heads(r, 6, d[0], d[3]),
                          attention_heads(r, 7, d[1], d[4]), attention_heads(r, 8, d[1], d[4]),
                          attention_heads(r, 2, d[0], d[3]), attention_heads(r, 0, d[0], d[3]),
                          view(r->buffer[1], 3, d[2], d[3], d[0], 0),
                          attention_heads(r, 3, d[0], d[3]), attention_heads(r, 4, d[1], d[4]),
                          attention_heads(r, 5, d[1], d[4]), &a, r->workspace);
}

static size_t attention_scratch(const struct tri_scratch_table *s, const int64_t *d, int team_size)
{
    return s->attention(d[0], d[1], d[2], d[3], d[4], d[5], team_size);
}

static size_t attention_grad_scratch(const struct tri_scratch_table *s, const int64_t *d,
                                     int team_size)
{
    return s->attention_backward(d[0], d[1], d[2], d[3], d[4], d[5], team_size);
}

/* Pairs (query, key) that see each other. */
static double attention_pairs(const int64_t *d)
{
    double hidden = (double)(d[0] - 1) / 2;
    return (double)d[0] * ((double)d[1] - hidden) * (double)(d[2] * d[3]);
}

static double attention_flops(const int64_t *d)
{
    return 4 * attention_pairs(d) * (double)d[5];
}

static double attention_grad_flops(const int64_t *d)
{
    return 10 * attention_pairs(d) * (double)d[5];
}

/* norms: R C; buffers y, mean, rstd, x, weight, bias, dy, dweight, dbias (y is dx) */
static void norm_sizes(const int64_t *d, int64_t *size)
{
    size[0] = size[3] = size[6] = d[0] * d[1];
    size[1] = size[2] = d[0];
    size[4] = size[5] = size[7] = size[8] = d[1];
}

static struct tri_tensor rows(struct bench_run *r, int buffer)
{
    return tri_tensor_f32_2d(r->buffer[buffer], r->d[0], r->d[1]);
}

static void layernorm_run(const struct tri_kernels *k, struct bench_run *r)
{
    int64_t R = r->d[0], C = r->d[1];
    k->layernorm(r->queue, rows(r, 0), tri_tensor_f32_1d(r->buffer[1], R),
                 tri_tensor_f32_1d(r->buffer[2], R), rows(r, 3), tri_tensor_f32_1d(r->buffer[4], C),
                 tri_tensor_f32_1d(r->buffer[5], C), 1e-5f);
}

static void layernorm_grad_run(const struct tri_kernels *k, struct bench_run *r)
{
    int64_t R = r->d[0], C = r->d[1];
    k->layernorm_backward(r->queue, rows(r, 0), tri_tensor_f32_1d(r->buffer[7], C),
                          tri_tensor_f32_1d(r->buffer[8], C), rows(r, 6), rows(r, 3),
                          tri_tensor_f32_1d(r->buffer[1], R), tri_tensor_f32_1d(r->buffer[2], R),
                          tri_tensor_f32_1d(r->buffer[4], C), r->workspace);
}

static void rmsnorm_run(const struct tri_kernels *k, struct bench_run *r)
{
    k->rmsnorm(r->queue, rows(r, 0), tri_tensor_f32_1d(r->buffer[2], r->d[0]), rows(r, 3),
               tri_tensor_f32_1d(r->buffer[4], r->d[1]), 1e-5f);
}

static void rmsnorm_grad_run(const struct tri_kernels *k, struct bench_run *r)
{
    int64_t R = r->d[0], C = r->d[1];
    k->rmsnorm_backward(r->queue, rows(r, 0), tri_tensor_f32_1d(r->buffer[7], C), rows(r, 6),
                        rows(r, 3), tri_tensor_f32_1d(r->buffer[2], R),
                        tri_tensor_f32_1d(r->buffer[4], C), r->workspace);
}

static size_t norm_scratch(const struct tri_scratch_table *s, const int64_t *d, int team_size)
{
    return s->layernorm_backward(d[0], d[1], team_size);
}

/* Element-wise: R C; buffers y, x, residual, and one more row for a bias */
static void elements_sizes(const int64_t *d, int64_t *size)
{
    size[0] = size[1] = size[2] = d[0] * d[1];
    size[3] = d[1];
}

/* gate: R C; buffers y, x, gate, dx, dgate, dy */
static void gate_sizes(const int64_t *d, int64_t *size)
{
    for (int i = 0; i < 6; i++)
        size[i] = d[0] * d[1];
}

static void gate_run(const struct tri_kernels *k, struct bench_run *r)
{
    k->gate(r->queue, rows(r, 0), rows(r, 1), rows(r, 2));
}

static void gate_grad_run(const struct tri_kernels *k, struct bench_run *r)
{
    k->gate_backward(r->queue, rows(r, 3), rows(r, 4), rows(r, 5), rows(r, 1), rows(r, 2));
}

static void add_run(const struct tri_kernels *k, struct bench_run *r)
{
    k->add(r->queue, rows(r, 0), rows(r, 1), rows(r, 2));
}

static void copy_run(const struct tri_kernels *k, struct bench_run *r)
{
    k->copy(r->queue, rows(r, 0), rows(r, 1));
}

static void bias_run(const struct tri_kernels *k, struct bench_run *r)
{
    k->bias_add(r->queue, rows(r, 0), tri_tensor_f32_1d(r->buffer[3], r->d[1]));
}

static void bias_grad_run(const struct tri_kernels *k, struct bench_run *r)
{
    k->bias_backward(r->queue, tri_tensor_f32_1d(r->buffer[3], r->d[1]), rows(r, 1), r->workspace);
}

static size_t bias_scratch(const struct tri_scratch_table *s, const int64_t *d, int team_size)
{
    return s->bias_backward(d[0], d[1], team_size);
}

static const struct tri_activation_form gelu = {TRI_ACTIVATION_GELU, 0, 0};
static const struct tri_activation_form gelu_tanh = {TRI_ACTIVATION_GELU_TANH, 0, 0};
static const struct tri_activation_form swiglu = {TRI_ACTIVATION_SWIGLU, 0, 0};
static const struct tri_activation_form swiglu_cut = {TRI_ACTIVATION_SWIGLU, 1, 0.5f};

static void gelu_run(const struct tri_kernels *k, struct bench_run *r)
{
    k->activation(r->queue, rows(r, 0), rows(r, 1), &gelu);
}

static void gelu_tanh_run(const struct tri_kernels *k, struct bench_run *r)
{
    k->activation(r->queue, rows(r, 0), rows(r, 1), &gelu_tanh);
}

static void gelu_tanh_grad_run(const struct tri_kernels *k, struct bench_run *r)
{
    k->activation_backward(r->queue, rows(r, 0), rows(r, 2), rows(r, 1), &gelu_tanh);
}

static void swiglu_run(const struct tri_kernels *k, struct bench_run *r)
{
    k->activation(r->queue, tri_tensor_f32_2d(r->buffer[0], r->d[0], r->d[1] / 2), rows(r, 1),
                  &swiglu);
}

static void swiglu_grad_run(const struct tri_kernels *k, struct bench_run *r)
{
    k->activation_backward(r->queue, rows(r, 0),
                           tri_tensor_f32_2d(r->buffer[2], r->d[0], r->d[1] / 2), rows(r, 1),
                           &swiglu);
}

static void swiglu_cut_run(const struct tri_kernels *k, struct bench_run *r)
{
    k->activation(r->queue, tri_tensor_f32_2d(r->buffer[0], r->d[0], r->d[1] / 2), rows(r, 1),
                  &swiglu_cut);
}

static void swiglu_cut_grad_run(const struct tri_kernels *k, struct bench_run *r)
{
    k->activation_backward(r->queue, rows(r, 0),
                           tri_tensor_f32_2d(r->buffer[2], r->d[0], r->d[1] / 2), rows(r, 1),
                           &swiglu_cut);
}

static void dropout_run(const struct tri_kernels *k, struct bench_run *r)
{
    const struct tri_dropout dropout = {.threshold = tri_dropout_threshold(0.1),
                                        .scale = 1 / 0.9f,
                                        .key = {1, 2},
                                        .sample_ids = r->samples};
    k->dropout_add(r->queue, rows(r, 0), rows(r, 1), rows(r, 2), &dropout);
}

/* Bytes of one, two and three tensors passing, and of one and a half (gated: half as wide). */
static double bytes1(const int64_t *d)
{
    return 4.0 * (double)d[0] * (double)d[1];
}

static double bytes2(const int64_t *d)
{
    return 2 * bytes1(d);
}

static double bytes3(const int64_t *d)
{
    return 3 * bytes1(d);
}

static double bytes5(const int64_t *d)
{
    return 5 * bytes1(d);
}

static double bytes_gated(const int64_t *d)
{
    return 1.5 * bytes1(d);
}

static double bytes_gated_grad(const int64_t *d)
{
    return 2.5 * bytes1(d);
}

/* rope: S B H D on the queries */
static void rope_sizes(const int64_t *d, int64_t *size)
{
    size[0] = d[0] * d[1] * d[2] * d[3];
    size[1] = size[2] = d[0] * d[3] / 2;
}

static void rope_run(const struct tri_kernels *k, struct bench_run *r)
{
    const int64_t *d = r->d;
    const struct tri_rope rope = {.positions = {r->ids}};
    k->rope(r->queue, view(r->buffer[0], 4, d[0], d[1], d[2], d[3]),
            tri_tensor_f32_2d(r->buffer[1], d[0], d[3] / 2),
            tri_tensor_f32_2d(r->buffer[2], d[0], d[3] / 2), &rope);
}

static double rope_bytes(const int64_t *d)
{
    return 8.0 * (double)(d[0] * d[1] * d[2] * d[3]);
}

/* cross entropy: R V; buffers logits, max, sum, target, moment */
static void ce_sizes(const int64_t *d, int64_t *size)
{
    size[0] = d[0] * d[1];
    size[1] = size[2] = size[3] = size[4] = d[0];
}

static struct tri_tensor ce_rows(struct bench_run *r, int buffer)
{
    return tri_tensor_f32_1d(r->buffer[buffer], r->d[0]);
}

static void ce_max_run(const struct tri_kernels *k, struct bench_run *r)
{
    k->ce_max(r->queue, ce_rows(r, 1), rows(r, 0), 0, r->d[1] - 3);
}

static void ce_sum_run(const struct tri_kernels *k, struct bench_run *r)
{
    k->ce_sum(r->queue, ce_rows(r, 2), ce_rows(r, 3), (struct tri_tensor){0}, rows(r, 0),
              ce_rows(r, 1), r->ids, 0, r->d[1] - 3);
}

/* The entropy takes the moment's place. */
static void ce_entropy_run(const struct tri_kernels *k, struct bench_run *r)
{
    k->ce_sum(r->queue, ce_rows(r, 2), ce_rows(r, 3), ce_rows(r, 4), rows(r, 0), ce_rows(r, 1),
              r->ids, 0, r->d[1] - 3);
    k->ce_entropy(r->queue, ce_rows(r, 4), ce_rows(r, 2), ce_rows(r, 4));
}

static void ce_grad_run(const struct tri_kernels *k, struct bench_run *r)
{
    k->ce_backward(r->queue, rows(r, 0), ce_rows(r, 1), ce_rows(r, 2), r->ids, NULL, 0.5f, 0, 0,
                   r->d[1] - 3);
}

/* embedding: R C V */
static void embedding_sizes(const int64_t *d, int64_t *size)
{
    size[0] = d[0] * d[1];
    size[1] = d[2] * d[1];
}

static void embedding_run(const struct tri_kernels *k, struct bench_run *r)
{
    k->embedding(r->queue, rows(r, 0), tri_tensor_f32_2d(r->buffer[1], r->d[2], r->d[1]), r->ids,
                 0);
}

static void embedding_grad_run(const struct tri_kernels *k, struct bench_run *r)
{
    k->embedding_backward(r->queue, tri_tensor_f32_2d(r->buffer[1], r->d[2], r->d[1]), rows(r, 0),
                          r->ids, 0);
}

/* optimizer: T; buffers p, m, v, g */
static void adam_sizes(const int64_t *d, int64_t *size)
{
    size[0] = size[1] = size[2] = size[3] = d[0];
}

static void adam_run(const struct tri_kernels *k, struct bench_run *r)
{
    const struct tri_adam adam = {.lr = 1e-3f,
                                  .beta1 = 0.9f,
                                  .beta2 = 0.95f,
                                  .eps = 1e-8f,
                                  .weight_decay = 0.1f,
                                  .bias1 = 0.5f,
                                  .bias2 = 0.5f};
    struct tri_tensor t[4];
    for (int i = 0; i < 4; i++)
        t[i] = tri_tensor_f32_1d(r->buffer[i], r->d[0]);
    k->adam(r->queue, t[0], t[1], t[2], t[3], 0.5f, &adam);
}

static double adam_bytes(const int64_t *d)
{
    return 28.0 * (double)d[0];
}

/* The sum is left in buffer 1, so that it is compared. */
static void squares_run(const struct tri_kernels *k, struct bench_run *r)
{
    struct tri_exact_sum sum;
    tri_exact_sum_init(&sum);
    k->sum_squares(r->queue, &sum, tri_tensor_f32_1d(r->buffer[0], r->d[0]), 1, r->workspace);
    r->buffer[1][0] = (float)tri_exact_sum_value(&sum);
}

static size_t squares_scratch(const struct tri_scratch_table *s, const int64_t *d, int team_size)
{
    return s->sum_squares(d[0], team_size);
}

static void find_run(const struct tri_kernels *k, struct bench_run *r)
{
    r->buffer[1][0] = (float)k->find_non_finite(r->queue, tri_tensor_f32_1d(r->buffer[0], r->d[0]));
}

static double bytes_vector(const int64_t *d)
{
    return 4.0 * (double)d[0];
}

/* Fields common to many rows; macros because initialisers have no other way to share them. */
#define GEMM                                                                                       \
    .letters = "MNKab+", .sizes = gemm_sizes, .run = gemm_run, .scratch = gemm_scratch,            \
    .outputs = 1, .flops = gemm_flops
#define SMALL_GEMM(ta, tb, beta) .check = {67, 131, 93, ta, tb, beta}

/* A row of the table is one to three lines of text. */
/* clang-format off */
const struct bench_case tri_bench_cases[] = {
    {.name = "gemm qkv", .full = {2048, 2304, 768, 0, 1, 0}, SMALL_GEMM(0, 1, 0), GEMM},
    {.name = "gemm proj", .full = {2048, 768, 768, 0, 1, 0}, SMALL_GEMM(0, 1, 0), GEMM},
    {.name = "gemm fc1", .full = {2048, 3072, 768, 0, 1, 0}, SMALL_GEMM(0, 1, 0), GEMM},
    {.name = "gemm fc2", .full = {2048, 768, 3072, 0, 1, 0}, SMALL_GEMM(0, 1, 0), GEMM},
    {.name = "gemm head", .full = {2048, 50304, 768, 0, 1, 0}, SMALL_GEMM(0, 1, 0), GEMM},
    {.name = "gemm qkv dx", .full = {2048, 768, 2304, 0, 0, 0}, SMALL_GEMM(0, 0, 0), GEMM},
    {.name = "gemm fc1 dx", .full = {2048, 768, 3072, 0, 0, 0}, SMALL_GEMM(0, 0, 0), GEMM},
    {.name = "gemm fc2 dx", .full = {2048, 3072, 768, 0, 0, 0}, SMALL_GEMM(0, 0, 0), GEMM},
    {.name = "gemm head dx", .full = {2048, 768, 50304, 0, 0, 0}, SMALL_GEMM(0, 0, 0), GEMM},
    {.name = "gemm qkv dw", .full = {2304, 768, 2048, 1, 0, 1}, SMALL_GEMM(1, 0, 1), GEMM},
    {.name = "gemm proj dw", .full = {768, 768, 2048, 1, 0, 1}, SMALL_GEMM(1, 0, 1), GEMM},
    {.name = "gemm fc1 dw", .full = {3072, 768, 2048, 1, 0, 1}, SMALL_GEMM(1, 0, 1), GEMM},
    {.name = "gemm fc2 dw", .full = {768, 3072, 2048, 1, 0, 1}, SMALL_GEMM(1, 0, 1), GEMM},
    {.name = "gemm head dw", .full = {50304, 768, 2048, 1, 0, 1}, SMALL_GEMM(1, 0, 1), GEMM},
    {.name = "gemm decode", .full = {1, 3072, 768, 0, 1, 0}, SMALL_GEMM(0, 1, 0), GEMM},
    {.name = "attention", .letters = "qkBHGD", .full = {512, 512, 4, 12, 12, 64},
     .check = {67, 67, 2, 4, 2, 8}, .sizes = attention_sizes, .run = attention_run,
     .scratch = attention_scratch, .outputs = 3, .flops = attention_flops},
    {.name = "attention long", .letters = "qkBHGD", .full = {2048, 2048, 1, 12, 4, 64},
     .check = {67, 67, 2, 4, 2, 8}, .sizes = attention_sizes, .run = attention_run,
     .scratch = attention_scratch, .outputs = 3, .flops = attention_flops},
    {.name = "attention decode", .letters = "qkBHGD", .full = {1, 1024, 4, 12, 12, 64},
     .check = {1, 67, 2, 4, 2, 8}, .sizes = attention_sizes, .run = attention_run,
     .scratch = attention_scratch, .outputs = 3, .flops = attention_flops},
    {.name = "attention dropout", .letters = "qkBHGD", .full = {512, 512, 4, 12, 12, 64},
     .check = {67, 67, 2, 4, 2, 8}, .sizes = attention_sizes, .run = attention_dropout_run,
     .scratch = attention_scratch, .outputs = 3, .flops = attention_flops},
    {.name = "attention_backward", .letters = "qkBHGD", .full = {512, 512, 4, 12, 12, 64},
     .check = {67, 67, 2, 4, 2, 8}, .sizes = attention_grad_sizes, .run = attention_grad_run,
     .scratch = attention_grad_scratch, .outputs = 0x1c0, .flops = attention_grad_flops},
    {.name = "layernorm", .letters = "RC", .full = {2048, 768}, .check = {67, 131},
     .sizes = norm_sizes, .run = layernorm_run, .outputs = 7, .bytes = bytes2},
    {.name = "layernorm_backward", .letters = "RC", .full = {2048, 768}, .check = {67, 131},
     .sizes = norm_sizes, .run = layernorm_grad_run, .scratch = norm_scratch, .outputs = 0x181,
     .bytes = bytes3},
    {.name = "rmsnorm", .letters = "RC", .full = {2048, 768}, .check = {67, 131},
     .sizes = norm_sizes, .run = rmsnorm_run, .outputs = 5, .bytes = bytes2},
    {.name = "rmsnorm_backward", .letters = "RC", .full = {2048, 768}, .check = {67, 131},
     .sizes = norm_sizes, .run = rmsnorm_grad_run, .scratch = norm_scratch, .outputs = 0x81,
     .bytes = bytes3},
    {.name = "activation gelu", .letters = "RC", .full = {2048, 3072}, .check = {67, 131},
     .sizes = elements_sizes, .run = gelu_run, .outputs = 1, .bytes = bytes2},
    {.name = "activation gelu_tanh", .letters = "RC", .full = {2048, 3072}, .check = {67, 131},
     .sizes = elements_sizes, .run = gelu_tanh_run, .outputs = 1, .bytes = bytes2},
    {.name = "activation_backward gelu_tanh", .letters = "RC", .full = {2048, 3072},
     .check = {67, 131}, .sizes = elements_sizes, .run = gelu_tanh_grad_run, .outputs = 1,
     .bytes = bytes3},
    {.name = "activation swiglu", .letters = "RC", .full = {2048, 4096}, .check = {67, 130},
     .sizes = elements_sizes, .run = swiglu_run, .outputs = 1, .bytes = bytes_gated},
    {.name = "activation_backward swiglu", .letters = "RC", .full = {2048, 4096},
     .check = {67, 130}, .sizes = elements_sizes, .run = swiglu_grad_run, .outputs = 1,
     .bytes = bytes_gated_grad},
    {.name = "activation swiglu cut", .letters = "RC", .full = {2048, 4096}, .check = {67, 130},
     .sizes = elements_sizes, .run = swiglu_cut_run, .outputs = 1, .bytes = bytes_gated},
    {.name = "activation_backward swiglu cut", .letters = "RC", .full = {2048, 4096},
     .check = {67, 130}, .sizes = elements_sizes, .run = swiglu_cut_grad_run, .outputs = 1,
     .bytes = bytes_gated_grad},
    {.name = "gate", .letters = "RC", .full = {2048, 768}, .check = {67, 131},
     .sizes = gate_sizes, .run = gate_run, .outputs = 1, .bytes = bytes3},
    {.name = "gate_backward", .letters = "RC", .full = {2048, 768}, .check = {67, 131},
     .sizes = gate_sizes, .run = gate_grad_run, .outputs = 0x18, .bytes = bytes5},
    {.name = "add", .letters = "RC", .full = {2048, 3072}, .check = {67, 131},
     .sizes = elements_sizes, .run = add_run, .outputs = 1, .bytes = bytes3},
    {.name = "copy", .letters = "RC", .full = {2048, 3072}, .check = {67, 131},
     .sizes = elements_sizes, .run = copy_run, .outputs = 1, .bytes = bytes2},
    {.name = "bias_add", .letters = "RC", .full = {2048, 3072}, .check = {67, 131},
     .sizes = elements_sizes, .run = bias_run, .outputs = 1, .bytes = bytes2},
    {.name = "bias_backward", .letters = "RC", .full = {2048, 3072}, .check = {67, 131},
     .sizes = elements_sizes, .run = bias_grad_run, .scratch = bias_scratch, .outputs = 8,
     .bytes = bytes1},
    {.name = "dropout_add", .letters = "RC", .full = {2048, 768}, .check = {67, 131},
     .sizes = elements_sizes, .run = dropout_run, .outputs = 1, .bytes = bytes3},
    {.name = "rope", .letters = "SBHD", .full = {512, 4, 12, 64}, .check = {19, 3, 2, 24},
     .sizes = rope_sizes, .run = rope_run, .outputs = 1, .num_ids = 3, .limit = 0,
     .bytes = rope_bytes},
    {.name = "ce_max", .letters = "RV", .full = {512, 50304}, .check = {31, 1009},
     .sizes = ce_sizes, .run = ce_max_run, .outputs = 2, .bytes = bytes1},
    {.name = "ce_sum", .letters = "RV", .full = {512, 50304}, .check = {31, 1009},
     .sizes = ce_sizes, .run = ce_sum_run, .outputs = 12, .num_ids = 1, .limit = 1,
     .bytes = bytes1},
    {.name = "ce_sum entropy", .letters = "RV", .full = {512, 50304}, .check = {31, 1009},
     .sizes = ce_sizes, .run = ce_entropy_run, .outputs = 28, .num_ids = 1, .limit = 1,
     .bytes = bytes1},
    {.name = "ce_backward", .letters = "RV", .full = {512, 50304}, .check = {31, 1009},
     .sizes = ce_sizes, .run = ce_grad_run, .outputs = 1, .num_ids = 1, .limit = 1,
     .bytes = bytes2},
    {.name = "embedding", .letters = "RCV", .full = {2048, 768, 50304}, .check = {67, 131, 97},
     .sizes = embedding_sizes, .run = embedding_run, .outputs = 1, .num_ids = 1, .limit = 2,
     .bytes = bytes2},
    {.name = "embedding_backward", .letters = "RCV", .full = {2048, 768, 50304},
     .check = {67, 131, 97}, .sizes = embedding_sizes, .run = embedding_grad_run, .outputs = 2,
     .num_ids = 1, .limit = 2, .bytes = bytes3},
    {.name = "adam", .letters = "T", .full = {16777216}, .check = {5003}, .sizes = adam_sizes,
     .run = adam_run, .outputs = 7, .bytes = adam_bytes},
    {.name = "sum_squares", .letters = "T", .full = {16777216}, .check = {5003},
     .sizes = adam_sizes, .run = squares_run, .scratch = squares_scratch, .outputs = 2,
     .bytes = bytes_vector},
    {.name = "find_non_finite", .letters = "T", .full = {16777216}, .check = {5003},
     .sizes = adam_sizes, .run = find_run, .outputs = 2, .bytes = bytes_vector},
};
/* clang-format on */

const int tri_bench_num_cases = (int)(sizeof(tri_bench_cases) / sizeof(tri_bench_cases[0]));
