/*+++
 * name = "sort_heap"
 * kind = "NS"
 * summary = "Heap sort of random 32-bit integers"
 * resource_class = "control"
 * sizes = [8, 16, 32, 64, 160, 400, 1024, 2560, 6400, 16384, 49152, 120000]
 * size_unit = "elements"
 * quick = [400]
 * requires = []
 * modes = ["default"]
 * origin = "own; Knuth, The Art of Computer Programming 3, section 5.2.3"
 * tacle = ""
 * licence = "Apache-2.0"
 +++*/
#include <stdio.h>

#include "deadbeat/fragment.h"

struct sort_heap {
    uint64_t random;
    uint64_t before; /* random state from which the last run() drew its input */
    _Alignas(DB_CACHE_LINE) int32_t elements[];
};

extern const struct db_fragment db_fragment_sort_heap;

static size_t context_bytes(uint32_t size)
{
    return sizeof(struct sort_heap) + sizeof(int32_t) * size;
}

static int setup(struct db_context *context)
{
    struct sort_heap *s = context->memory;
    s->random = s->before = db_seed_state(context->seed);
    for (uint32_t i = 0; i < context->size; i++)
        s->elements[i] = -(int32_t)i;
    return 0;
}

/* Moves the element at `hole` down until both children, if any, are not above it. */
static void sift_down(int32_t *elements, size_t hole, size_t n)
{
    const int32_t x = elements[hole];
    for (size_t child = 2 * hole + 1; child < n; child = 2 * hole + 1) {
        if (child + 1 < n && elements[child + 1] > elements[child])
            child++;
        if (elements[child] <= x)
            break;
        elements[hole] = elements[child];
        hole = child;
    }
    elements[hole] = x;
}

static void sort(int32_t *elements, size_t n)
{
    for (size_t i = n / 2; i-- > 0;)
        sift_down(elements, i, n);
    for (size_t last = n - 1; last > 0; last--) {
        const int32_t largest = elements[0];
        elements[0] = elements[last];
        elements[last] = largest;
        sift_down(elements, 0, last);
    }
}

static void run(struct db_context *context)
{
    struct sort_heap *s = context->memory;
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
    const struct sort_heap *s = context->memory;
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

const struct db_fragment db_fragment_sort_heap = {
    .name = "sort_heap",
    .kind = DB_NS,
    .context_bytes = context_bytes,
    .setup = setup,
    .run = run,
    .check = check,
};
