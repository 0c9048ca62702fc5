/* SPDX-License-Identifier: Apache-2.0 */
/* The plan for people: the three answers, who holds what, bytes by purpose, the schedule, on one
   screen. */
#include "placement/plan.h"

#include "spec/implementation.h"
#include "spec/model_spec.h"

#include <inttypes.h>
#include <string.h>

/* Of more stages the middle ones are left out. */
#define PRINT_MAX_STAGES 16

/* 1536 as "1.5 KiB"; exact below 10,000 bytes of a unit. */
static const char *print_bytes(size_t bytes, char text[24])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    double value = (double)bytes;
    int unit = 0;
    for (; value >= 1024 && unit < 5; unit++)
        value /= 1024;
    snprintf(text, 24, "%.*f %s", unit == 0 ? 0 : 1, value, units[unit]);
    return text;
}

/* Modules of node that take the operations of one implementation. */
static int print_count(const struct tri_model_spec *spec, const struct tri_module_spec *node,
                       const char *implementation)
{
    const char *kernels = tri_implementation_kernels(spec->extensions, spec->num_extensions, node);
    int count = strcmp(kernels, implementation) == 0;
    for (int i = 0; i < node->num_children; i++)
        count += print_count(spec, &node->children[i], implementation);
    return count;
}

static void print_shape(FILE *out, const struct tri_placement *placement,
                        const struct tri_plan_summary *summary)
{
    const struct tri_gpt_config *shape = &placement->spec->shape;
    const struct tri_transformer_config *t = &shape->transformer;
    fprintf(out,
            "shape      %s%s%" PRId64 " layers, width %" PRId64 ", %" PRId64 " heads in %" PRId64
            " groups, feed-forward %" PRId64 "\n",
            shape->family, shape->family[0] ? ": " : "", t->num_layers, t->hidden_size,
            t->num_attention_heads, t->num_query_groups, t->ffn_hidden_size);
    fprintf(out,
            "           vocabulary %" PRId64 " (%" PRId64 " with padding)%s; %" PRId64
            " parameters\n",
            shape->vocab_size, placement->padded_vocab_size,
            shape->untie_embeddings_and_output_weights ? "" : ", tied", summary->total_parameters);
}

static const char *plural(int64_t num)
{
    return num == 1 ? "" : "s";
}

static void print_spec(FILE *out, const struct tri_placement *placement)
{
    const struct tri_model_spec *spec = placement->spec;
    const struct tri_plan_request *request = &placement->request;
    fprintf(out, "spec       ");
    for (int i = 0; i < request->num_scratch; i++) {
        int count = 0;
        for (int unit = 0; unit < spec->num_units; unit++)
            count += print_count(spec, &spec->units[unit], request->scratch[i].implementation);
        fprintf(out, "%s%s (%s) %d module%s", i ? ", " : "", request->scratch[i].implementation,
                request->scratch[i].table->name, count, plural(count));
    }
    fputc('\n', out);
}

static void print_placement(FILE *out, const struct tri_placement *placement)
{
    const struct tri_placement_config *config = &placement->config;
    fprintf(out, "placement  %d rank%s = tp %" PRId64 " x pp %d x dp %d",
            placement->grid.world_size, plural(placement->grid.world_size), placement->split.tp,
            placement->num_stages, placement->dp);
    if (placement->num_slices > 1)
        fprintf(out, ", %d slices per stage", placement->num_slices);
    fprintf(out, "%s%s; %d thread%s each\n", config->sequence_parallel ? ", sequence parallel" : "",
            config->use_distributed_optimizer ? ", distributed optimizer" : "",
            placement->request.team_size, plural(placement->request.team_size));
    if (placement->request.comm.name)
        fprintf(out, "messages   %s: %s\n", placement->request.comm.name,
                placement->request.comm.why);
    fprintf(out,
            "schedule   %s: %d microbatch%s of %" PRId64 " x %" PRId64
            " tokens; bubble %.1f %% of the "
            "busy time\n",
            placement->schedule.name, placement->num_microbatches,
            placement->num_microbatches == 1 ? "" : "es", placement->request.micro_batch_size,
            placement->request.seq_length, 100 * tri_schedule_bubble(&placement->schedule));
}

/* "embedding, layers 0-3" for each slice of a stage. */
static void print_slices(FILE *out, const struct tri_slice_plan *slices, int num_slices)
{
    for (int i = 0; i < num_slices; i++) {
        const struct tri_slice_plan *slice = &slices[i];
        int num = slice->num_units - slice->has_embedding - slice->has_head;
        int first = slice->first_unit + slice->has_embedding - 1;
        const char *space = i ? " | " : "";
        fprintf(out, "%s%s", space, slice->has_embedding ? "embedding" : "");
        if (slice->num_units == 0)
            fprintf(out, "nothing");
        if (num > 0 && slice->has_embedding)
            fprintf(out, ", ");
        if (num == 1)
            fprintf(out, "layer %d", first);
        else if (num > 1)
            fprintf(out, "layers %d-%d", first, first + num - 1);
        if (slice->has_head)
            fprintf(out, "%shead", slice->num_units > 1 ? ", " : "");
    }
    fputc('\n', out);
}

/* One stage: bytes by purpose of any of its ranks, then what it holds. */
static void print_stage(FILE *out, const struct tri_placement *placement, int stage)
{
    tri_arena *arena = tri_arena_create();
    struct tri_rank_plan plan;
    int rank = tri_grid_move(&placement->grid, 0, TRI_AXIS_PP, stage);
    if (arena && tri_rank_plan_make(placement, rank, arena, NULL, &plan) == TRI_OK) {
        char text[24];
        fprintf(out, "%5d %5d", stage, rank);
        for (int i = 0; i < TRI_NUM_ARENAS; i++)
            fprintf(out, " %10s", print_bytes(plan.arena_bytes[i], text));
        fprintf(out, " %10s  ", print_bytes(plan.total_bytes, text));
        print_slices(out, plan.slices, plan.num_slices);
    }
    if (arena)
        tri_arena_destroy(&arena);
}

static void print_stages(FILE *out, const struct tri_placement *placement)
{
    int num = placement->num_stages;
    fprintf(out, "\nstage  rank");
    for (int i = 0; i < TRI_NUM_ARENAS; i++)
        fprintf(out, " %10s", tri_arena_name((enum tri_arena_kind)i));
    fprintf(out, " %10s  holds\n", "total");
    for (int stage = 0; stage < num; stage++) {
        if (num > PRINT_MAX_STAGES && stage >= PRINT_MAX_STAGES / 2 &&
            stage < num - PRINT_MAX_STAGES / 2) {
            if (stage == PRINT_MAX_STAGES / 2)
                fprintf(out, "  ... %d more stages\n", num - PRINT_MAX_STAGES);
            continue;
        }
        print_stage(out, placement, stage);
    }
}

static void print_rank(FILE *out, const struct tri_rank_plan *rank)
{
    fprintf(out, "rank %d: tp %d, pp %d, dp %d; %d parameter tensor%s in %d bucket%s; slots",
            rank->rank, rank->coordinate[TRI_AXIS_TP], rank->coordinate[TRI_AXIS_PP],
            rank->coordinate[TRI_AXIS_DP], rank->num_params, plural(rank->num_params),
            rank->num_buckets, plural(rank->num_buckets));
    for (int i = 0; i < rank->num_slices; i++)
        fprintf(out, " %d", rank->num_slots[i]);
    fprintf(out, "; optimizer holds %" PRId64 " elements\n", rank->shard_elements);
}

static void print_rows(FILE *out, const struct tri_rank_plan *rank)
{
    fprintf(out, "\narena  %14s %14s copies  from      until     owner, name\n", "offset", "bytes");
    for (int i = 0; i < rank->num_rows; i++) {
        const struct tri_plan_row *row = &rank->rows[i];
        char from[24], until[24];
        snprintf(from, sizeof(from), "%d.%d", row->from.action, row->from.step);
        snprintf(until, sizeof(until), "%d.%d", row->until.action, row->until.step);
        fprintf(out, "%-6s %14zu %14zu %6d  %-9s %-9s %s, %s\n", tri_arena_name(row->arena),
                row->offset, row->bytes, row->num_copies, from, until, row->owner, row->name);
    }
}

void tri_plan_print(FILE *out, const struct tri_placement *placement,
                    const struct tri_rank_plan *rank, bool all_rows)
{
    struct tri_plan_summary summary;
    if (tri_plan_summarise(placement, NULL, &summary) != TRI_OK)
        summary = (struct tri_plan_summary){0};
    print_shape(out, placement, &summary);
    print_spec(out, placement);
    print_placement(out, placement);
    print_stages(out, placement);
    char heaviest[24], lightest[24];
    fprintf(out, "\nheaviest rank %d with %s, lightest %s; %.3g model flops per step\n",
            summary.heaviest_rank, print_bytes(summary.heaviest_bytes, heaviest),
            print_bytes(summary.lightest_bytes, lightest), summary.flops_per_step);
    print_rank(out, rank);
    if (all_rows)
        print_rows(out, rank);
}
