/*+++
 * name = "pointer_chase"
 * kind = "NS"
 * summary = "500 dependent loads: 16 KiB aims at L1, 256 and 1024 at L2, 8 MiB at L3, 64 MiB at DRAM"
 * resource_class = "memory"
 * sizes = [16, 256, 1024, 8192, 65536]
 * size_unit = "KiB of private working set"
 * quick = [16]
 * requires = []
 * modes = ["default"]
 * origin = "own; cyclic permutation by Sattolo 1986"
 * tacle = ""
 * licence = "Apache-2.0"
 +++*/
#include <stdio.h>

#include "deadbeat/fragment.h"

#define HOPS 500

struct line {
    _Alignas(DB_LINE_OF_DATA) const struct line *next;
    uint64_t value; /* in the same cache line: read in the shadow of the load of next */
};

struct state {
    const struct line *position; /* where the next run goes on, so that no two runs visit the same lines */
    uint64_t runs;
    uint64_t sum; /* of the values of the lines that the last run left */
    struct line lines[];
};

static size_t line_count(uint32_t size)
{
    return (size_t)size * 1024 / sizeof(struct line);
}

static size_t context_bytes(uint32_t size)
{
    return sizeof(struct state) + line_count(size) * sizeof(struct line);
}

/* Sattolo's shuffle yields a single cycle through all lines. */
static int setup(struct db_context *context)
{
    struct state *state = context->memory;
    struct line *lines = state->lines;
    size_t count = line_count(context->size);
    uint64_t random = db_seed_state(context->seed);
    for (size_t i = 0; i < count; i++)
        lines[i] = (struct line){&lines[i], db_random(&random)};
    for (size_t i = count - 1; i > 0; i--) {
        size_t j = (size_t)(((db_random(&random) >> 32) * i) >> 32);
        const struct line *next = lines[i].next;
        lines[i].next = lines[j].next;
        lines[j].next = next;
    }
    state->position = lines;
    state->runs = 0;
    return 0;
}

static void run(struct db_context *context)
{
    struct state *state = context->memory;
    const struct line *position = state->position;
    uint64_t sum = 0;
    for (uint32_t hop = 0; hop < HOPS; hop++) {
        sum += position->value;
        position = position->next;
    }
    state->position = position;
    state->sum = sum;
    state->runs++;
}

/* What the last run must have summed, from where it must have begun; *position is where it must end. */
static uint64_t reference_sum(const struct line *begin, const struct line **position)
{
    uint64_t sum = 0;
    for (uint32_t hop = HOPS; hop > 0; hop--) {
        sum += begin->value;
        begin = begin->next;
    }
    *position = begin;
    return sum;
}

/* Walks the whole cycle once, for the line at which the last run must have begun: (runs - 1) times
 * HOPS hops from the first. */
static int check(const struct db_context *context, char *why, size_t why_bytes)
{
    const struct state *state = context->memory;
    size_t count = line_count(context->size), length = 0;
    if (state->runs == 0) {
        snprintf(why, why_bytes, "no hop was made");
        return 1;
    }
    size_t begin_rank = (size_t)((state->runs - 1) % count * HOPS % count);
    const struct line *line = state->lines, *begin = NULL, *position;
    do {
        if (length == begin_rank)
            begin = line;
        line = line->next;
        length++;
    } while (line != state->lines && length < count);
    if (line != state->lines || length != count) {
        snprintf(why, why_bytes, "the lines are not one cycle of %zu: %zu from first to first", count,
                 length);
        return 1;
    }
    uint64_t sum = reference_sum(begin, &position);
    if (sum != state->sum || position != state->position) {
        snprintf(why, why_bytes, "run %llu summed %016llx over its %u lines, not %016llx, or ended elsewhere",
                 (unsigned long long)state->runs, (unsigned long long)state->sum, HOPS,
                 (unsigned long long)sum);
        return 1;
    }
    return 0;
}

extern const struct db_fragment db_fragment_pointer_chase;
const struct db_fragment db_fragment_pointer_chase = {
    .name = "pointer_chase",
    .kind = DB_NS,
    .context_bytes = context_bytes,
    .setup = setup,
    .run = run,
    .check = check,
};
