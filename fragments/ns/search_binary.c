/*+++
 * name = "search_binary"
 * kind = "NS"
 * summary = "Binary search of eight random keys in a sorted table"
 * resource_class = "control"
 * sizes = [16, 256, 4096, 65536, 1048576]
 * size_unit = "elements"
 * quick = [16, 4096]
 * requires = []
 * modes = ["default"]
 * origin = "own; Knuth, The Art of Computer Programming 3, section 6.2.1"
 * tacle = "binarysearch"
 * licence = "Apache-2.0"
 +++*/
#include <stdio.h>

#include "deadbeat/fragment.h"

#define KEYS 8

struct search_binary {
    uint64_t random;
    uint32_t keys[KEYS];
    uint32_t found[KEYS]; /* index of the first element that is not below the key */
    _Alignas(DB_CACHE_LINE) uint32_t elements[];
};

extern const struct db_fragment db_fragment_search_binary;

static size_t context_bytes(uint32_t size)
{
    return sizeof(struct search_binary) + sizeof(uint32_t) * size;
}

static int setup(struct db_context *context)
{
    struct search_binary *s = context->memory;
    uint32_t element = 0;
    s->random = db_seed_state(context->seed);
    for (uint32_t i = 0; i < context->size; i++) {
        element += 1 + (uint32_t)(db_random(&s->random) >> 60);
        s->elements[i] = element;
    }
    for (int i = 0; i < KEYS; i++)
        s->found[i] = UINT32_MAX;
    return 0;
}

static uint32_t lower_bound(const uint32_t *elements, uint32_t n, uint32_t key)
{
    uint32_t low = 0, high = n;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (elements[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void run(struct db_context *context)
{
    struct search_binary *s = context->memory;
    const uint64_t range = (uint64_t)s->elements[context->size - 1] + 2;
    for (int i = 0; i < KEYS; i++) {
        s->keys[i] = (uint32_t)(((db_random(&s->random) >> 32) * range) >> 32);
        s->found[i] = lower_bound(s->elements, context->size, s->keys[i]);
    }
    db_keep(s);
}

/* What defines the answer: all before it are below the key, none from it on; in a sorted table the
 * two neighbours tell. */
static int check(const struct db_context *context, char *why, size_t why_bytes)
{
    const struct search_binary *s = context->memory;
    const uint32_t n = context->size;
    for (uint32_t i = 1; i < n; i++) {
        if (s->elements[i - 1] >= s->elements[i]) {
            snprintf(why, why_bytes, "the table is not sorted at element %u", i);
            return 1;
        }
    }
    for (int i = 0; i < KEYS; i++) {
        const uint32_t found = s->found[i], key = s->keys[i];
        if (found > n || (found > 0 && s->elements[found - 1] >= key) ||
            (found < n && s->elements[found] < key)) {
            snprintf(why, why_bytes, "key %u is not found at index %u", key, found);
            return 1;
        }
    }
    return 0;
}

const struct db_fragment db_fragment_search_binary = {
    .name = "search_binary",
    .kind = DB_NS,
    .context_bytes = context_bytes,
    .setup = setup,
    .run = run,
    .check = check,
};
