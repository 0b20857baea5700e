/*+++
 * name = "median"
 * kind = "NS"
 * summary = "3x3 median filter by a sorting network over a square image of 8-bit pixels"
 * resource_class = "signal"
 * sizes = [8, 16, 32, 64, 128, 256, 512]
 * size_unit = "pixels a side"
 * quick = [16]
 * requires = []
 * modes = ["default"]
 * origin = "own; network of 19 exchanges, Paeth, Graphics Gems, 1990"
 * tacle = "susan"
 * licence = "Apache-2.0"
 +++*/
#include <stdio.h>
#include <string.h>

#include "deadbeat/fragment.h"

#define FRESH_ROWS 4 /* eight fresh pixels in one row of this many at each run */
#define BORDER_MARK 0x55

struct state {
    uint64_t random;
    uint8_t pixels[]; /* the image, then the medians; the border of the medians stays at the mark */
};

static size_t context_bytes(uint32_t size)
{
    return sizeof(struct state) + 2 * (size_t)size * size;
}

static void freshen_row(struct state *state, uint8_t *row, uint32_t size)
{
    uint64_t word = db_random(&state->random);
    memcpy(row + 8 * (((word >> 32) * (size / 8)) >> 32), &word, sizeof word);
}

static int setup(struct db_context *context)
{
    struct state *state = context->memory;
    size_t area = (size_t)context->size * context->size;
    state->random = db_seed_state(context->seed);
    for (size_t i = 0; i < area; i++)
        state->pixels[i] = (uint8_t)(db_random(&state->random) >> 56);
    memset(state->pixels + area, BORDER_MARK, area);
    return 0;
}

static inline void order(uint8_t *low, uint8_t *high)
{
    uint8_t a = *low, b = *high;
    *low = a < b ? a : b;
    *high = a < b ? b : a;
}

/* Nine exchanges sort three groups; the median of all is the median of their middles' median, the
 * largest of their least and the least of their largest. */
static inline uint8_t median_of_nine(uint8_t p[9])
{
    for (uint32_t i = 0; i < 9; i += 3) {
        order(&p[i + 1], &p[i + 2]);
        order(&p[i], &p[i + 1]);
        order(&p[i + 1], &p[i + 2]);
    }
    order(&p[0], &p[3]); /* p[6]: the largest of the three least */
    order(&p[3], &p[6]);
    order(&p[5], &p[8]); /* p[2]: the least of the three largest */
    order(&p[2], &p[5]);
    order(&p[4], &p[7]); /* p[4]: the median of the three middles */
    order(&p[1], &p[4]);
    order(&p[4], &p[7]);
    order(&p[4], &p[2]); /* the median of these three */
    order(&p[6], &p[4]);
    order(&p[4], &p[2]);
    return p[4];
}

static void filter_row(const uint8_t *above, const uint8_t *here, const uint8_t *below, uint8_t *medians,
                       uint32_t size)
{
    for (uint32_t x = 1; x + 1 < size; x++) {
        uint8_t window[9] = {above[x - 1], above[x],     above[x + 1], here[x - 1], here[x],
                             here[x + 1],  below[x - 1], below[x],     below[x + 1]};
        medians[x] = median_of_nine(window);
    }
}

static void run(struct db_context *context)
{
    struct state *state = context->memory;
    size_t size = context->size;
    uint8_t *image = state->pixels, *medians = state->pixels + size * size;
    for (size_t y = 0; y < size; y += FRESH_ROWS)
        freshen_row(state, image + y * size, context->size);
    for (size_t y = 1; y + 1 < size; y++)
        filter_row(image + (y - 1) * size, image + y * size, image + (y + 1) * size, medians + y * size,
                   context->size);
}

/* The definition: at most four of nine lie below the median and at most four above it. */
static int is_median(const uint8_t *image, size_t size, size_t x, size_t y, uint8_t value)
{
    uint32_t below = 0, equal = 0;
    for (size_t i = 0; i < 9; i++) {
        uint8_t pixel = image[(y + i / 3 - 1) * size + x + i % 3 - 1];
        below += pixel < value;
        equal += pixel == value;
    }
    return equal > 0 && below <= 4 && 9 - below - equal <= 4;
}

static int check(const struct db_context *context, char *why, size_t why_bytes)
{
    const struct state *state = context->memory;
    size_t size = context->size;
    const uint8_t *image = state->pixels, *medians = state->pixels + size * size;
    for (size_t y = 0; y < size; y++)
        for (size_t x = 0; x < size; x++) {
            int inside = x > 0 && y > 0 && x + 1 < size && y + 1 < size;
            uint8_t value = medians[y * size + x];
            if (inside ? !is_median(image, size, x, y, value) : value != BORDER_MARK) {
                snprintf(why, why_bytes, "%u at (%zu, %zu) is not the median of its nine pixels", value, x,
                         y);
                return 1;
            }
        }
    return 0;
}

extern const struct db_fragment db_fragment_median;
const struct db_fragment db_fragment_median = {
    .name = "median",
    .kind = DB_NS,
    .context_bytes = context_bytes,
    .setup = setup,
    .run = run,
    .check = check,
};
