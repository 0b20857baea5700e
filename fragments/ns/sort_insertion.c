/*+++
 * name = "sort_insertion"
 * kind = "NS"
 * summary = "Insertion sort of random 32-bit integers"
 * resource_class = "control"
 * sizes = [12, 24, 48, 96, 192, 384, 768, 1536, 3072, 6144, 12288]
 * size_unit = "elements"
 * quick = [12, 96]
 * requires = []
 * modes = ["default"]
 * origin = "own; Knuth, The Art of Computer Programming 3, section 5.2.1"
 * tacle = "insertsort"
 * licence = "Apache-2.0"
 +++*/
#include <stdio.h>

#include "deadbeat/fragment.h"

struct sort_insertion {
    uint64_t random;
    uint64_t before; /* random state from which the last run() drew its input */
    _Alignas(DB_CACHE_LINE) int32_t elements[];
};

extern const struct db_fragment db_fragment_sort_insertion;

static size_t context_bytes(uint32_t size)
{
    return sizeof(struct sort_insertion) + sizeof(int32_t) * size;
}

static int setup(struct db_context *context)
{
    struct sort_insertion *s = context->memory;
    s->random = s->before = db_seed_state(context->seed);
    for (uint32_t i = 0; i < context->size; i++)
        s->elements[i] = -(int32_t)i;
    return 0;
}

static void sort(int32_t *elements, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        const int32_t x = elements[i];
        size_t j = i;
        for (; j > 0 && elements[j - 1] > x; j--)
            elements[j] = elements[j - 1];
        elements[j] = x;
    }
}

static void run(struct db_context *context)
{
    struct sort_insertion *s = context->memory;
    uint64_t random = s->random;
    s->before = random;
    for (size_t i = 0; i < context->size; i++)
        s->elements[i] = (int32_t)(db_random(&random) >> 32);
    s->random = random;
    sort(s->elements, context->size);
    db_keep(s);
}

/* Ascending, and the same multiset as the input: equal sums of a hash of each element. */
static int check(const struct db_context *context, char *why, size_t why_bytes)
{
    const struct sort_insertion *s = context->memory;
    uint64_t random = s->before, want = 0, got = 0;
    for (size_t i = 0; i < context->size; i++) {
        want += db_seed_state(db_random(&random) >> 32);
        got += db_seed_state((uint32_t)s->elements[i]);
        if (i > 0 && s->elements[i - 1] > s->elements[i]) {
            snprintf(why, why_bytes, "elements %zu and %zu are in the wrong order", i - 1, i);
            return 1;
        }
    }
    if (got != want) {
        snprintf(why, why_bytes, "the sorted elements are not those of the input");
        return 1;
    }
    return 0;
}

const struct db_fragment db_fragment_sort_insertion = {
    .name = "sort_insertion",
    .kind = DB_NS,
    .context_bytes = context_bytes,
    .setup = setup,
    .run = run,
    .check = check,
};
