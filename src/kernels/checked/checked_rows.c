/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Element-wise and row-wise operations under watch. Two
 * functions each: the call on any table, and the entry that lists the tensors with their roles.
 */
#include "kernels/checked/checked.h"

static void call_fill(const struct tri_kernels *k, struct tri_queue *q, const struct tri_tensor *t,
                      struct checked_args *a, void *workspace)
{
    (void)workspace;
    k->fill(q, t[0], a->scalar);
}

void tri_checked_fill(struct tri_queue *q, struct tri_tensor y, float value)
{
    struct checked_call call = {.name = "fill",
                                .fn = call_fill,
                                .num = 1,
                                .tensors = {{"y", CHECKED_OUT, y}},
                                .args = {.scalar = value}};
    tri_checked_run(q, &call);
}

static void call_copy(const struct tri_kernels *k, struct tri_queue *q, const struct tri_tensor *t,
                      struct checked_args *a, void *workspace)
{
    (void)a;
    (void)workspace;
    k->copy(q, t[0], t[1]);
}

void tri_checked_copy(struct tri_queue *q, struct tri_tensor y, struct tri_tensor x)
{
    struct checked_call call = {.name = "copy",
                                .fn = call_copy,
                                .num = 2,
                                .tensors = {{"y", CHECKED_OUT, y}, {"x", CHECKED_IN, x}}};
    tri_checked_run(q, &call);
}

static void call_add(const struct tri_kernels *k, struct tri_queue *q, const struct tri_tensor *t,
                     struct checked_args *a, void *workspace)
{
    (void)a;
    (void)workspace;
    k->add(q, t[0], t[1], t[2]);
}

void tri_checked_add(struct tri_queue *q, struct tri_tensor y, struct tri_tensor a,
                     struct tri_tensor b)
{
    struct checked_call call = {
        .name = "add",
        .fn = call_add,
        .num = 3,
        .tensors = {{"y", CHECKED_OUT, y}, {"a", CHECKED_IN, a}, {"b", CHECKED_IN, b}}};
    tri_checked_run(q, &call);
}

static void call_scale(const struct tri_kernels *k, struct tri_queue *q, const struct tri_tensor *t,
                       struct checked_args *a, void *workspace)
{
    (void)workspace;
    k->scale(q, t[0], t[1], a->scalar);
}

void tri_checked_scale(struct tri_queue *q, struct tri_tensor y, struct tri_tensor x, float alpha)
{
    struct checked_call call = {.name = "scale",
                                .fn = call_scale,
                                .num = 2,
                                .tensors = {{"y", CHECKED_OUT, y}, {"x", CHECKED_IN, x}},
                                .args = {.scalar = alpha}};
    tri_checked_run(q, &call);
}

static void call_softcap(const struct tri_kernels *k, struct tri_queue *q,
                         const struct tri_tensor *t, struct checked_args *a, void *workspace)
{
    (void)workspace;
    k->softcap(q, t[0], t[1], a->scalar);
}

void tri_checked_softcap(struct tri_queue *q, struct tri_tensor y, struct tri_tensor x, float cap)
{
    struct checked_call call = {.name = "softcap",
                                .fn = call_softcap,
                                .num = 2,
                                .tensors = {{"y", CHECKED_OUT, y}, {"x", CHECKED_IN, x}},
                                .args = {.scalar = cap}};
    tri_checked_run(q, &call);
}

static void call_bias_add(const struct tri_kernels *k, struct tri_queue *q,
                          const struct tri_tensor *t, struct checked_args *a, void *workspace)
{
    (void)a;
    (void)workspace;
    k->bias_add(q, t[0], t[1]);
}

void tri_checked_bias_add(struct tri_queue *q, struct tri_tensor y, struct tri_tensor bias)
{
    struct checked_call call = {.name = "bias_add",
                                .fn = call_bias_add,
                                .num = 2,
                                .tensors = {{"y", CHECKED_INOUT, y}, {"bias", CHECKED_IN, bias}}};
    tri_checked_run(q, &call);
}

static void call_bias_backward(const struct tri_kernels *k, struct tri_queue *q,
                               const struct tri_tensor *t, struct checked_args *a, void *workspace)
{
    (void)a;
    k->bias_backward(q, t[0], t[1], workspace);
}

void tri_checked_bias_backward(struct tri_queue *q, struct tri_tensor dbias, struct tri_tensor dy,
                               void *workspace)
{
    struct checked_call call = {
        .name = "bias_backward",
        .fn = call_bias_backward,
        .num = 2,
        .tensors = {{"dbias", CHECKED_INOUT, dbias}, {"dy", CHECKED_IN, dy}},
        .workspace = workspace};
    tri_checked_run(q, &call);
}

static void call_dropout_add(const struct tri_kernels *k, struct tri_queue *q,
                             const struct tri_tensor *t, struct checked_args *a, void *workspace)
{
    (void)workspace;
    k->dropout_add(q, t[0], t[1], t[2], a->settings);
}

void tri_checked_dropout_add(struct tri_queue *q, struct tri_tensor y, struct tri_tensor x,
                             struct tri_tensor residual, const struct tri_dropout *dropout)
{
    struct checked_call call = {.name = "dropout_add",
                                .fn = call_dropout_add,
                                .num = 3,
                                .tensors = {{"y", CHECKED_OUT, y},
                                            {"x", CHECKED_IN, x},
                                            {"residual", CHECKED_IN, residual}},
                                .args = {.settings = dropout}};
    tri_checked_run(q, &call);
}

static void call_dropout_backward(const struct tri_kernels *k, struct tri_queue *q,
                                  const struct tri_tensor *t, struct checked_args *a,
                                  void *workspace)
{
    (void)workspace;
    k->dropout_backward(q, t[0], t[1], a->settings);
}

void tri_checked_dropout_backward(struct tri_queue *q, struct tri_tensor dx, struct tri_tensor dy,
                                  const struct tri_dropout *dropout)
{
    struct checked_call call = {.name = "dropout_backward",
                                .fn = call_dropout_backward,
                                .num = 2,
                                .tensors = {{"dx", CHECKED_OUT, dx}, {"dy", CHECKED_IN, dy}},
                                .args = {.settings = dropout}};
    tri_checked_run(q, &call);
}

static void call_activation(const struct tri_kernels *k, struct tri_queue *q,
                            const struct tri_tensor *t, struct checked_args *a, void *workspace)
{
    (void)workspace;
    k->activation(q, t[0], t[1], a->settings);
}

void tri_checked_activation(struct tri_queue *q, struct tri_tensor y, struct tri_tensor x,
                            const struct tri_activation_form *form)
{
    struct checked_call call = {.name = "activation",
                                .fn = call_activation,
                                .num = 2,
                                .tensors = {{"y", CHECKED_OUT, y}, {"x", CHECKED_IN, x}},
                                .args = {.settings = form}};
    tri_checked_run(q, &call);
}

static void call_activation_backward(const struct tri_kernels *k, struct tri_queue *q,
                                     const struct tri_tensor *t, struct checked_args *a,
                                     void *workspace)
{
    (void)workspace;
    k->activation_backward(q, t[0], t[1], t[2], a->settings);
}

void tri_checked_activation_backward(struct tri_queue *q, struct tri_tensor dx,
                                     struct tri_tensor dy, struct tri_tensor x,
                                     const struct tri_activation_form *form)
{
    struct checked_call call = {
        .name = "activation_backward",
        .fn = call_activation_backward,
        .num = 3,
        .tensors = {{"dx", CHECKED_OUT, dx}, {"dy", CHECKED_IN, dy}, {"x", CHECKED_IN, x}},
        .args = {.settings = form}};
    tri_checked_run(q, &call);
}

static void call_gate(const struct tri_kernels *k, struct tri_queue *q, const struct tri_tensor *t,
                      struct checked_args *a, void *workspace)
{
    (void)a;
    (void)workspace;
    k->gate(q, t[0], t[1], t[2]);
}

void tri_checked_gate(struct tri_queue *q, struct tri_tensor y, struct tri_tensor x,
                      struct tri_tensor gate)
{
    struct checked_call call = {
        .name = "gate",
        .fn = call_gate,
        .num = 3,
        .tensors = {{"y", CHECKED_OUT, y}, {"x", CHECKED_IN, x}, {"gate", CHECKED_IN, gate}}};
    tri_checked_run(q, &call);
}

static void call_gate_backward(const struct tri_kernels *k, struct tri_queue *q,
                               const struct tri_tensor *t, struct checked_args *a, void *workspace)
{
    (void)a;
    (void)workspace;
    k->gate_backward(q, t[0], t[1], t[2], t[3], t[4]);
}

void tri_checked_gate_backward(struct tri_queue *q, struct tri_tensor dx, struct tri_tensor dgate,
                               struct tri_tensor dy, struct tri_tensor x, struct tri_tensor gate)
{
    struct checked_call call = {.name = "gate_backward",
                                .fn = call_gate_backward,
                                .num = 5,
                                .tensors = {{"dx", CHECKED_OUT, dx},
                                            {"dgate", CHECKED_OUT, dgate},
                                            {"dy", CHECKED_IN, dy},
                                            {"x", CHECKED_IN, x},
                                            {"gate", CHECKED_IN, gate}}};
    tri_checked_run(q, &call);
}

static void call_layernorm(const struct tri_kernels *k, struct tri_queue *q,
                           const struct tri_tensor *t, struct checked_args *a, void *workspace)
{
    (void)workspace;
    k->layernorm(q, t[0], t[1], t[2], t[3], t[4], t[5], a->scalar);
}

void tri_checked_layernorm(struct tri_queue *q, struct tri_tensor y, struct tri_tensor mean,
                           struct tri_tensor rstd, struct tri_tensor x, struct tri_tensor weight,
                           struct tri_tensor bias, float eps)
{
    struct checked_call call = {.name = "layernorm",
                                .fn = call_layernorm,
                                .num = 6,
                                .tensors = {{"y", CHECKED_OUT, y},
                                            {"mean", CHECKED_OUT, mean},
                                            {"rstd", CHECKED_OUT, rstd},
                                            {"x", CHECKED_IN, x},
                                            {"weight", CHECKED_IN, weight},
                                            {"bias", CHECKED_IN, bias}},
                                .args = {.scalar = eps}};
    tri_checked_run(q, &call);
}

static void call_layernorm_backward(const struct tri_kernels *k, struct tri_queue *q,
                                    const struct tri_tensor *t, struct checked_args *a,
                                    void *workspace)
{
    (void)a;
    k->layernorm_backward(q, t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], workspace);
}

void tri_checked_layernorm_backward(struct tri_queue *q, struct tri_tensor dx,
                                    struct tri_tensor dweight, struct tri_tensor dbias,
                                    struct tri_tensor dy, struct tri_tensor x,
                                    struct tri_tensor mean, struct tri_tensor rstd,
                                    struct tri_tensor weight, void *workspace)
{
    struct checked_call call = {.name = "layernorm_backward",
                                .fn = call_layernorm_backward,
                                .num = 8,
                                .tensors = {{"dx", CHECKED_OUT, dx},
                                            {"dweight", CHECKED_INOUT, dweight},
                                            {"dbias", CHECKED_INOUT, dbias},
                                            {"dy", CHECKED_IN, dy},
                                            {"x", CHECKED_IN, x},
                                            {"mean", CHECKED_IN, mean},
                                            {"rstd", CHECKED_IN, rstd},
                                            {"weight", CHECKED_IN, weight}},
                                .workspace = workspace};
    tri_checked_run(q, &call);
}

static void call_rmsnorm(const struct tri_kernels *k, struct tri_queue *q,
                         const struct tri_tensor *t, struct checked_args *a, void *workspace)
{
    (void)workspace;
    k->rmsnorm(q, t[0], t[1], t[2], t[3], a->scalar);
}

void tri_checked_rmsnorm(struct tri_queue *q, struct tri_tensor y, struct tri_tensor rstd,
                         struct tri_tensor x, struct tri_tensor weight, float eps)
{
    struct checked_call call = {.name = "rmsnorm",
                                .fn = call_rmsnorm,
                                .num = 4,
                                .tensors = {{"y", CHECKED_OUT, y},
                                            {"rstd", CHECKED_OUT, rstd},
                                            {"x", CHECKED_IN, x},
                                            {"weight", CHECKED_IN, weight}},
                                .args = {.scalar = eps}};
    tri_checked_run(q, &call);
}

static void call_rmsnorm_backward(const struct tri_kernels *k, struct tri_queue *q,
                                  const struct tri_tensor *t, struct checked_args *a,
                                  void *workspace)
{
    (void)a;
    k->rmsnorm_backward(q, t[0], t[1], t[2], t[3], t[4], t[5], workspace);
}

void tri_checked_rmsnorm_backward(struct tri_queue *q, struct tri_tensor dx,
                                  struct tri_tensor dweight, struct tri_tensor dy,
                                  struct tri_tensor x, struct tri_tensor rstd,
                                  struct tri_tensor weight, void *workspace)
{
    struct checked_call call = {.name = "rmsnorm_backward",
                                .fn = call_rmsnorm_backward,
                                .num = 6,
                                .tensors = {{"dx", CHECKED_OUT, dx},
                                            {"dweight", CHECKED_INOUT, dweight},
                                            {"dy", CHECKED_IN, dy},
                                            {"x", CHECKED_IN, x},
                                            {"rstd", CHECKED_IN, rstd},
                                            {"weight", CHECKED_IN, weight}},
                                .workspace = workspace};
    tri_checked_run(q, &call);
}

static void call_rope(const struct tri_kernels *k, struct tri_queue *q, const struct tri_tensor *t,
                      struct checked_args *a, void *workspace)
{
    (void)workspace;
    k->rope(q, t[0], t[1], t[2], a->settings);
}

void tri_checked_rope(struct tri_queue *q, struct tri_tensor x, struct tri_tensor cosine,
                      struct tri_tensor sine, const struct tri_rope *rope)
{
    struct checked_call call = {.name = "rope",
                                .fn = call_rope,
                                .num = 3,
                                .tensors = {{"x", CHECKED_INOUT, x},
                                            {"cos", CHECKED_IN, cosine},
                                            {"sin", CHECKED_IN, sine}},
                                .args = {.settings = rope}};
    tri_checked_run(q, &call);
}
