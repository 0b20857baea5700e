/*+++
 * name = "sad"
 * kind = "NS"
 * summary = "Block motion search: sum of absolute differences of an 8x8 block at every displacement in range"
 * resource_class = "signal"
 * sizes = [1, 2, 4, 8, 16, 32, 64]
 * size_unit = "pixels of search range"
 * quick = [2]
 * requires = []
 * modes = ["default"]
 * origin = "own; full search, Jain and Jain 1981"
 * tacle = "mpeg2"
 * licence = "Apache-2.0"
 +++*/
#include <stdio.h>
#include <string.h>

#include "deadbeat/fragment.h"

#define BLOCK 8 /* pixels a side; a row of a block is one 64-bit word */

struct motion {
    uint32_t x, y; /* displacement plus the range: 0 .. 2 range */
    uint32_t difference;
};

struct state {
    uint64_t random;
    struct motion found;
    struct motion planted;       /* where the block was taken from, and how noisy it is made at most */
    uint8_t block[BLOCK][BLOCK]; /* the block of the current picture that is looked for */
    uint8_t previous[];          /* the window of the previous picture: side() squared pixels */
};

static uint32_t side(uint32_t range)
{
    return BLOCK + 2 * range;
}

static size_t context_bytes(uint32_t size)
{
    return sizeof(struct state) + (size_t)side(size) * side(size);
}

static int setup(struct db_context *context)
{
    struct state *state = context->memory;
    size_t area = (size_t)side(context->size) * side(context->size);
    state->random = db_seed_state(context->seed);
    for (size_t i = 0; i < area; i++)
        state->previous[i] = (uint8_t)(db_random(&state->random) >> 56);
    memset(state->block, 0, sizeof state->block);
    state->found.difference = UINT32_MAX; /* no displacement has this */
    return 0;
}

static uint32_t below(uint64_t word, uint32_t bound)
{
    return (uint32_t)(((word >> 32) * bound) >> 32);
}

/* Some fresh pixels, and the block cut out at a fresh place, its two low bits noise. */
static void make_pictures(struct state *state, uint32_t range)
{
    uint32_t width = side(range), steps = 2 * range + 1;
    for (uint32_t i = 0; i < 2; i++) {
        uint64_t word = db_random(&state->random);
        memcpy(state->previous + below(word, width * width - BLOCK), &word, sizeof word);
    }
    state->planted.x = below(db_random(&state->random), steps);
    state->planted.y = below(db_random(&state->random), steps);
    for (uint32_t row = 0; row < BLOCK; row++) {
        uint64_t pixels;
        memcpy(&pixels, state->previous + (state->planted.y + row) * width + state->planted.x, sizeof pixels);
        pixels ^= db_random(&state->random) & UINT64_C(0x0303030303030303);
        memcpy(state->block[row], &pixels, sizeof pixels);
    }
    state->planted.difference = 3 * BLOCK * BLOCK;
}

static inline uint32_t row_difference(const uint8_t a[BLOCK], const uint8_t b[BLOCK])
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < BLOCK; i++) {
        int32_t difference = a[i] - b[i];
        sum += (uint32_t)(difference < 0 ? -difference : difference);
    }
    return sum;
}

/* Every displacement is summed to the end: the work does not depend on the data. */
static void search(struct state *state, uint32_t range)
{
    uint32_t width = side(range);
    struct motion best = {0, 0, UINT32_MAX};
    for (uint32_t y = 0; y <= 2 * range; y++)
        for (uint32_t x = 0; x <= 2 * range; x++) {
            const uint8_t *candidate = state->previous + y * width + x;
            uint32_t sum = 0;
            for (uint32_t row = 0; row < BLOCK; row++)
                sum += row_difference(state->block[row], candidate + row * width);
            if (sum < best.difference)
                best = (struct motion){x, y, sum};
        }
    state->found = best;
}

static void run(struct db_context *context)
{
    struct state *state = context->memory;
    make_pictures(state, context->size);
    search(state, context->size);
}

/* The slow twin: one displacement, pixel by pixel, from its definition. */
static uint32_t reference_difference(const struct state *state, uint32_t range, uint32_t x, uint32_t y)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < BLOCK * BLOCK; i++) {
        uint8_t a = state->block[i / BLOCK][i % BLOCK];
        uint8_t b = state->previous[(y + i / BLOCK) * side(range) + x + i % BLOCK];
        sum += a > b ? (uint32_t)a - b : (uint32_t)b - a;
    }
    return sum;
}

static int check(const struct db_context *context, char *why, size_t why_bytes)
{
    const struct state *state = context->memory;
    const struct motion *found = &state->found;
    uint32_t range = context->size;
    if (found->difference > state->planted.difference) {
        snprintf(why, why_bytes, "least difference %u, but %u or less was planted at (%u, %u)",
                 found->difference, state->planted.difference, state->planted.x, state->planted.y);
        return 1;
    }
    for (uint32_t y = 0; y <= 2 * range; y++)
        for (uint32_t x = 0; x <= 2 * range; x++) {
            uint32_t difference = reference_difference(state, range, x, y);
            int is_found = x == found->x && y == found->y;
            if (difference < found->difference || (is_found && difference != found->difference)) {
                snprintf(why, why_bytes, "found %u at (%u, %u), but there is %u at (%u, %u)",
                         found->difference, found->x, found->y, difference, x, y);
                return 1;
            }
        }
    return 0;
}

extern const struct db_fragment db_fragment_sad;
const struct db_fragment db_fragment_sad = {
    .name = "sad",
    .kind = DB_NS,
    .context_bytes = context_bytes,
    .setup = setup,
    .run = run,
    .check = check,
};
