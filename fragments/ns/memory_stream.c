/*+++
 * name = "memory_stream"
 * kind = "NS"
 * summary = "Triad a = b + s c: 16 KiB aims at L1, to 1 MiB at L2, 4 MiB at the last level, more at DRAM"
 * resource_class = "memory"
 * sizes = [16, 64, 256, 1024, 4096, 16384, 32768]
 * size_unit = "KiB of private working set"
 * quick = [16, 256]
 * requires = []
 * modes = ["default"]
 * origin = "own; the triad of McCalpin 1995, Memory bandwidth and machine balance"
 * tacle = ""
 * licence = "Apache-2.0"
 +++*/
#include <stdio.h>

#include "deadbeat/fragment.h"

#define ARRAYS 3
#define GROUP (DB_LINE_OF_DATA / sizeof(double))

struct state {
    uint64_t random;
    double scale;
    _Alignas(DB_CACHE_LINE) double values[]; /* a, then b, then c */
};

/* Elements of one array: whole cache lines. */
static size_t length(uint32_t size)
{
    return (size_t)size * 1024 / (ARRAYS * DB_LINE_OF_DATA) * GROUP;
}

static size_t context_bytes(uint32_t size)
{
    return sizeof(struct state) + ARRAYS * length(size) * sizeof(double);
}

/* An integer from 1 to 2^20: the triad of three of them is exact in a double, however it is rounded. */
static double draw(struct state *state)
{
    return (double)(1 + (db_random(&state->random) >> 44));
}

static int setup(struct db_context *context)
{
    struct state *state = context->memory;
    size_t count = length(context->size);
    state->random = db_seed_state(context->seed);
    for (size_t i = 0; i < count; i++) {
        state->values[i] = 0;
        state->values[count + i] = draw(state);
        state->values[2 * count + i] = draw(state);
    }
    state->scale = draw(state);
    return 0;
}

static void triad(double *restrict a, const double *restrict b, const double *restrict c, double scale,
                  size_t count)
{
    for (size_t i = 0; i < count; i += GROUP)
        for (size_t j = i; j < i + GROUP; j++) /* of fixed length, which compilers turn into vectors */
            a[j] = b[j] + scale * c[j];
}

/* A fresh scale makes every element of a fresh. */
static void run(struct db_context *context)
{
    struct state *state = context->memory;
    size_t count = length(context->size);
    state->scale = draw(state);
    triad(state->values, state->values + count, state->values + 2 * count, state->scale, count);
}

static int check(const struct db_context *context, char *why, size_t why_bytes)
{
    const struct state *state = context->memory;
    size_t count = length(context->size);
    const double *a = state->values, *b = a + count, *c = b + count;
    for (size_t i = 0; i < count; i++) {
        /* In integers: below 2^41. */
        uint64_t expected = (uint64_t)b[i] + (uint64_t)state->scale * (uint64_t)c[i];
        if (a[i] != (double)expected) {
            snprintf(why, why_bytes, "element %zu is %.1f, in integers %llu", i, a[i],
                     (unsigned long long)expected);
            return 1;
        }
    }
    return 0;
}

extern const struct db_fragment db_fragment_memory_stream;
const struct db_fragment db_fragment_memory_stream = {
    .name = "memory_stream",
    .kind = DB_NS,
    .context_bytes = context_bytes,
    .setup = setup,
    .run = run,
    .check = check,
};
