/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a call on the wrapped backend under watch: outputs hold NaN beforehand, inputs are compared
 * with a copy afterwards, results of finite inputs must be finite, and with shadow the same call on
 * cpu_ref, over copies, must give the same within a coarse tolerance.
 *
 * An operation is handed no table, so what is wrapped must be found without one: the wrapper is
 * therefore single, one per process, and creating a second is refused while the first lives.
 */
#include "kernels/checked/checked.h"
#include "kernels/rows.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHADOW_SHARE 1e-3 /* of the largest value: catches mistakes, not roundings */
#define TEXT_BYTES   256

static struct checked {
    pthread_mutex_t lock;      /* of report, and of being created */
    struct tri_kernels *table; /* NULL: none lives */
    const struct tri_kernels *inner;
    bool shadow;
    tri_checked_report *report;
    void *arg;
} checked = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const struct tri_kernels checked_ops = {
    .name = "checked",
    .fill = tri_checked_fill,
    .copy = tri_checked_copy,
    .add = tri_checked_add,
    .scale = tri_checked_scale,
    .softcap = tri_checked_softcap,
    .bias_add = tri_checked_bias_add,
    .bias_backward = tri_checked_bias_backward,
    .dropout_add = tri_checked_dropout_add,
    .dropout_backward = tri_checked_dropout_backward,
    .activation = tri_checked_activation,
    .activation_backward = tri_checked_activation_backward,
    .gate = tri_checked_gate,
    .gate_backward = tri_checked_gate_backward,
    .layernorm = tri_checked_layernorm,
    .layernorm_backward = tri_checked_layernorm_backward,
    .rmsnorm = tri_checked_rmsnorm,
    .rmsnorm_backward = tri_checked_rmsnorm_backward,
    .rope = tri_checked_rope,
    .ce_max = tri_checked_ce_max,
    .ce_sum = tri_checked_ce_sum,
    .ce_loss = tri_checked_ce_loss,
    .ce_entropy = tri_checked_ce_entropy,
    .ce_backward = tri_checked_ce_backward,
    .gemm = tri_checked_gemm,
    .attention = tri_checked_attention,
    .attention_backward = tri_checked_attention_backward,
    .attention_sink_backward = tri_checked_attention_sink_backward,
    .embedding = tri_checked_embedding,
    .embedding_backward = tri_checked_embedding_backward,
    .sum_squares = tri_checked_sum_squares,
    .adam = tri_checked_adam,
    .find_non_finite = tri_checked_find_non_finite,
};

tri_status tri_kernels_create_checked(const struct tri_kernels *inner, bool shadow,
                                      tri_checked_report *report, void *arg, tri_error *err,
                                      struct tri_kernels **table)
{
    tri_status status = TRI_OK;
    pthread_mutex_lock(&checked.lock);
    struct tri_kernels *made = malloc(sizeof(*made));
    if (checked.table) {
        status = tri_error_set(err, TRI_INVALID,
                               "a checked table round '%s' exists already; destroy it first",
                               checked.inner->name);
        free(made);
    } else if (!made) {
        status = tri_error_set(err, TRI_NOMEM, "out of memory for a checked kernel table");
    } else {
        memcpy(made, &checked_ops, sizeof(*made));
        checked.table = made;
        checked.inner = inner;
        checked.shadow = shadow;
        checked.report = report;
        checked.arg = arg;
        *table = made;
    }
    pthread_mutex_unlock(&checked.lock);
    return status;
}

void tri_kernels_destroy_checked(struct tri_kernels **table)
{
    if (!*table)
        return;
    pthread_mutex_lock(&checked.lock);
    TRI_ASSERT(checked.table == *table);
    free(*table);
    checked.table = *table = NULL;
    pthread_mutex_unlock(&checked.lock);
}

/* What is kept of one tensor: its values before the call, packed, and room for the shadow's. */
struct watch {
    float *before, *shadow;
    int64_t num;
    /* Its address range meets another's and one of the two is written: in-place use, or heads of one
       fused tensor. It is then neither poisoned nor held to be unchanged. */
    bool is_overlapped;
};

static void checked_say(const struct checked_call *call, const char *name, const char *problem)
{
    char text[TEXT_BYTES];
    snprintf(text, sizeof(text), "operation '%s' of backend '%s', tensor '%s': %s", call->name,
             checked.inner->name, name, problem);
    pthread_mutex_lock(&checked.lock);
    checked.report(checked.arg, text);
    pthread_mutex_unlock(&checked.lock);
}

static void pack(float *to, struct tri_tensor from)
{
    struct tri_rows rows = tri_rows_of(from);
    int64_t step = from.num_dims > 0 ? from.strides[from.num_dims - 1] : 1;
    for (int64_t r = 0; r < rows.num; r++)
        for (int64_t c = 0; c < rows.columns; c++)
            to[r * rows.columns + c] = tri_rows_get(&rows, r)[c * step];
}

static bool is_finite(const float *x, int64_t n, bool low_allowed)
{
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(x[i]) && !(low_allowed && x[i] == -INFINITY))
            return false;
    return true;
}

/* Address range of a tensor, as [first, end). */
static void extent(struct tri_tensor t, const float **first, const float **end)
{
    int64_t last = 0;
    for (int i = 0; i < t.num_dims; i++)
        last += (t.dims[i] - 1) * t.strides[i];
    *first = t.data;
    *end = *first + last + 1;
}

static bool overlaps(struct tri_tensor a, struct tri_tensor b)
{
    const float *a0, *a1, *b0, *b1;
    extent(a, &a0, &a1);
    extent(b, &b0, &b1);
    return a0 < b1 && b0 < a1;
}

static bool is_output(enum checked_role role)
{
    return role != CHECKED_IN;
}

static bool is_overwritten(enum checked_role role)
{
    return role == CHECKED_OUT || role == CHECKED_OUT_LOW;
}

/* Copies what the tensors hold; false when out of memory. */
static bool watch_begin(const struct checked_call *call, struct watch *watch)
{
    for (int i = 0; i < call->num; i++) {
        struct tri_tensor t = call->tensors[i].t;
        if (!t.data)
            continue;
        watch[i].num = tri_tensor_elements(&t);
        size_t bytes = (size_t)(watch[i].num + 1) * sizeof(float);
        watch[i].before = malloc(bytes);
        watch[i].shadow = malloc(bytes);
        if (!watch[i].before || !watch[i].shadow)
            return false;
        pack(watch[i].before, t);
        for (int o = 0; o < call->num; o++)
            if (o != i && call->tensors[o].t.data && overlaps(t, call->tensors[o].t))
                watch[i].is_overlapped |=
                    is_output(call->tensors[o].role) || is_output(call->tensors[i].role);
    }
    return true;
}

/* Outputs that share no memory with another tensor hold NaN before the call. */
static void watch_poison(struct tri_queue *q, const struct checked_call *call,
                         const struct watch *watch)
{
    for (int i = 0; i < call->num; i++)
        if (call->tensors[i].t.data && is_overwritten(call->tensors[i].role) &&
            !watch[i].is_overlapped)
            tri_kernels_cpu_ref()->fill(q, call->tensors[i].t, NAN);
}

/* The call on cpu_ref, over packed copies: outputs land in watch[i].shadow. */
static void watch_shadow(struct tri_queue *q, const struct checked_call *call,
                         struct checked_args *args, struct watch *watch)
{
    struct tri_tensor t[CHECKED_MAX_TENSORS];
    for (int i = 0; i < call->num; i++) {
        t[i] = call->tensors[i].t;
        if (!t[i].data)
            continue;
        memcpy(watch[i].shadow, watch[i].before, (size_t)watch[i].num * sizeof(float));
        t[i] = tri_tensor_view(watch[i].shadow, TRI_DTYPE_F32, t[i].num_dims, t[i].dims);
    }
    call->fn(tri_kernels_cpu_ref(), q, t, args, NULL);
}

static void compare_shadow(const struct checked_call *call, int i, const float *got,
                           const float *want, int64_t num)
{
    double worst = 0, largest = 0;
    char text[TEXT_BYTES];
    for (int64_t e = 0; e < num; e++) {
        if (!isfinite(want[e]) || !isfinite(got[e]))
            continue;
        worst = fmax(worst, fabs((double)got[e] - want[e]));
        largest = fmax(largest, fabs(want[e]));
    }
    if (worst <= SHADOW_SHARE * largest)
        return;
    snprintf(text, sizeof(text), "differs from cpu_ref by %.3g where the largest value is %.3g",
             worst, largest);
    checked_say(call, call->tensors[i].name, text);
}

static void watch_end(const struct checked_call *call, const struct watch *watch, bool was_finite)
{
    for (int i = 0; i < call->num; i++) {
        const struct checked_tensor *t = &call->tensors[i];
        if (!t->t.data)
            continue;
        float *after = malloc((size_t)(watch[i].num + 1) * sizeof(float));
        if (!after)
            return;
        pack(after, t->t);
        if (!is_output(t->role) && !watch[i].is_overlapped &&
            memcmp(after, watch[i].before, (size_t)watch[i].num * sizeof(float)) != 0)
            checked_say(call, t->name, "an input was changed");
        if (is_output(t->role) && was_finite &&
            !is_finite(after, watch[i].num, t->role == CHECKED_OUT_LOW))
            checked_say(call, t->name, "non-finite result of finite inputs");
        if (is_output(t->role) && checked.shadow)
            compare_shadow(call, i, after, watch[i].shadow, watch[i].num);
        free(after);
    }
}

static bool inputs_finite(const struct checked_call *call, const struct watch *watch)
{
    for (int i = 0; i < call->num; i++)
        if (call->tensors[i].t.data && !is_overwritten(call->tensors[i].role) &&
            !is_finite(watch[i].before, watch[i].num, true))
            return false;
    return true;
}

void tri_checked_run(struct tri_queue *q, struct checked_call *call)
{
    struct watch watch[CHECKED_MAX_TENSORS] = {0};
    struct tri_tensor t[CHECKED_MAX_TENSORS];
    struct checked_args shadow_args = call->args;
    for (int i = 0; i < call->num; i++)
        t[i] = call->tensors[i].t;
    if (!watch_begin(call, watch)) {
        checked_say(call, "all", "out of memory, the call is not checked");
        call->fn(checked.inner, q, t, &call->args, call->workspace);
    } else {
        bool was_finite = isfinite(call->args.scalar) && inputs_finite(call, watch);
        watch_poison(q, call, watch);
        if (checked.shadow)
            watch_shadow(q, call, &shadow_args, watch);
        call->fn(checked.inner, q, t, &call->args, call->workspace);
        watch_end(call, watch, was_finite);
        double got = call->args.result, want = shadow_args.result;
        if (checked.shadow && fabs(got - want) > SHADOW_SHARE * fabs(want))
            checked_say(call, "result", "differs from cpu_ref");
    }
    for (int i = 0; i < call->num; i++) {
        free(watch[i].before);
        free(watch[i].shadow);
    }
}
