/*+++
 * name = "sobel"
 * kind = "NS"
 * summary = "Sobel edge filter over a square image of 8-bit pixels"
 * resource_class = "signal"
 * sizes = [16, 32, 64, 128, 256, 512, 1024]
 * size_unit = "pixels a side"
 * quick = [16]
 * requires = []
 * modes = ["default"]
 * origin = "own; Sobel and Feldman 1968, as in Gonzalez and Woods, Digital Image Processing, 2008"
 * tacle = "susan"
 * licence = "Apache-2.0"
 +++*/
#include <stdio.h>
#include <string.h>

#include "deadbeat/fragment.h"

#define FRESH_ROWS 4 /* eight fresh pixels in one row of this many at each run */

struct state {
    uint64_t random;
    uint8_t pixels[]; /* the image, then the edges; the border of the edges stays at the mark */
};

#define BORDER_MARK 0x55

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

static int32_t absolute(int32_t value)
{
    return value < 0 ? -value : value;
}

static void filter_row(const uint8_t *above, const uint8_t *here, const uint8_t *below, uint8_t *edges,
                       uint32_t size)
{
    for (uint32_t x = 1; x + 1 < size; x++) {
        int32_t across =
            above[x + 1] - above[x - 1] + 2 * (here[x + 1] - here[x - 1]) + below[x + 1] - below[x - 1];
        int32_t down = below[x - 1] - above[x - 1] + 2 * (below[x] - above[x]) + below[x + 1] - above[x + 1];
        int32_t strength = absolute(across) + absolute(down);
        edges[x] = (uint8_t)(strength > 255 ? 255 : strength);
    }
}

static void run(struct db_context *context)
{
    struct state *state = context->memory;
    size_t size = context->size;
    uint8_t *image = state->pixels, *edges = state->pixels + size * size;
    for (size_t y = 0; y < size; y += FRESH_ROWS)
        freshen_row(state, image + y * size, context->size);
    for (size_t y = 1; y + 1 < size; y++)
        filter_row(image + (y - 1) * size, image + y * size, image + (y + 1) * size, edges + y * size,
                   context->size);
}

/* The slow twin: the two masks as printed in the textbook. */
static uint8_t reference_edge(const uint8_t *image, size_t size, size_t x, size_t y)
{
    static const int8_t mask[3][3] = {{-1, 0, 1}, {-2, 0, 2}, {-1, 0, 1}};
    int32_t across = 0, down = 0;
    for (size_t i = 0; i < 3; i++)
        for (size_t j = 0; j < 3; j++) {
            int32_t pixel = image[(y + i - 1) * size + x + j - 1];
            across += mask[i][j] * pixel;
            down += mask[j][i] * pixel;
        }
    int32_t strength = absolute(across) + absolute(down);
    return (uint8_t)(strength > 255 ? 255 : strength);
}

static int check(const struct db_context *context, char *why, size_t why_bytes)
{
    const struct state *state = context->memory;
    size_t size = context->size;
    const uint8_t *image = state->pixels, *edges = state->pixels + size * size;
    for (size_t y = 0; y < size; y++)
        for (size_t x = 0; x < size; x++) {
            int inside = x > 0 && y > 0 && x + 1 < size && y + 1 < size;
            uint8_t expected = inside ? reference_edge(image, size, x, y) : BORDER_MARK;
            if (edges[y * size + x] != expected) {
                snprintf(why, why_bytes, "edge at (%zu, %zu) is %u, by the masks %u", x, y,
                         edges[y * size + x], expected);
                return 1;
            }
        }
    return 0;
}

extern const struct db_fragment db_fragment_sobel;
const struct db_fragment db_fragment_sobel = {
    .name = "sobel",
    .kind = DB_NS,
    .context_bytes = context_bytes,
    .setup = setup,
    .run = run,
    .check = check,
};
