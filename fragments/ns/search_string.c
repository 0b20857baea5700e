/*+++
 * name = "search_string"
 * kind = "NS"
 * summary = "Boyer-Moore-Horspool: all occurrences of a fresh pattern of eight letters in a text"
 * resource_class = "control"
 * sizes = [64, 256, 1024, 4096, 16384, 65536, 262144]
 * size_unit = "bytes of text"
 * quick = [1024]
 * requires = []
 * modes = ["default"]
 * origin = "own; Horspool 1980, Practical fast searching in strings"
 * tacle = ""
 * licence = "Apache-2.0"
 +++*/
#include <stdio.h>
#include <string.h>

#include "deadbeat/fragment.h"

#define PATTERN 8

struct hits {
    uint32_t count;
    uint32_t last; /* where the last occurrence begins */
};

struct state {
    uint64_t random;
    struct hits hits;
    uint32_t planted;         /* where an occurrence is for certain */
    uint8_t pattern[PATTERN]; /* a permutation of the letters a to h */
    uint8_t shifts[256];      /* per byte: how far the window may move when it ends there */
    uint8_t text[];           /* of the letters a to h */
};

static size_t context_bytes(uint32_t size)
{
    return sizeof(struct state) + size;
}

static uint32_t draw(struct state *state, uint32_t bound)
{
    return (uint32_t)(((db_random(&state->random) >> 32) * bound) >> 32);
}

/* Eight random letters from a to h. */
static void write_letters(struct state *state, uint8_t *text)
{
    uint64_t letters =
        (db_random(&state->random) & UINT64_C(0x0707070707070707)) + UINT64_C(0x6161616161616161);
    memcpy(text, &letters, sizeof letters);
}

static int setup(struct db_context *context)
{
    struct state *state = context->memory;
    state->random = db_seed_state(context->seed);
    for (uint32_t i = 0; i < context->size; i += 8)
        write_letters(state, state->text + i);
    for (uint32_t i = 0; i < PATTERN; i++)
        state->pattern[i] = (uint8_t)('a' + i);
    memset(state->shifts, PATTERN, sizeof state->shifts);
    state->hits.last = UINT32_MAX;
    return 0;
}

/* Each letter occurs once in the pattern, so the mean shift, and with it the cost, is the same for
 * every pattern and text. */
static void make_pattern_and_text(struct state *state, uint32_t size)
{
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t from = draw(state, PATTERN), to = draw(state, PATTERN);
        uint8_t letter = state->pattern[from];
        state->pattern[from] = state->pattern[to];
        state->pattern[to] = letter;
    }
    for (uint32_t i = 0; i < size; i += 256)
        write_letters(state, state->text + draw(state, size - PATTERN + 1));
    state->planted = draw(state, size - PATTERN + 1);
    memcpy(state->text + state->planted, state->pattern, PATTERN);
}

static void search(struct state *state, uint32_t size)
{
    uint8_t *shifts = state->shifts;
    struct hits hits = {0, UINT32_MAX};
    for (uint32_t i = 0; i + 1 < PATTERN; i++)
        shifts[state->pattern[i]] = (uint8_t)(PATTERN - 1 - i);
    shifts[state->pattern[PATTERN - 1]] = PATTERN;
    for (uint32_t at = 0; at + PATTERN <= size; at += shifts[state->text[at + PATTERN - 1]]) {
        uint32_t i = PATTERN;
        while (i > 0 && state->text[at + i - 1] == state->pattern[i - 1])
            i--;
        if (i == 0) {
            hits.count++;
            hits.last = at;
        }
    }
    state->hits = hits;
}

static void run(struct db_context *context)
{
    struct state *state = context->memory;
    make_pattern_and_text(state, context->size);
    search(state, context->size);
}

static int check(const struct db_context *context, char *why, size_t why_bytes)
{
    const struct state *state = context->memory;
    struct hits naive = {0, UINT32_MAX};
    int planted_is_found = 0;
    for (uint32_t at = 0; at + PATTERN <= context->size; at++) {
        if (memcmp(state->text + at, state->pattern, PATTERN) != 0)
            continue;
        naive.count++;
        naive.last = at;
        planted_is_found |= at == state->planted;
    }
    if (!planted_is_found || naive.count != state->hits.count || naive.last != state->hits.last) {
        snprintf(why, why_bytes, "%u occurrences, the last at %u; compared at every place: %u, %u",
                 state->hits.count, state->hits.last, naive.count, naive.last);
        return 1;
    }
    return 0;
}

extern const struct db_fragment db_fragment_search_string;
const struct db_fragment db_fragment_search_string = {
    .name = "search_string",
    .kind = DB_NS,
    .context_bytes = context_bytes,
    .setup = setup,
    .run = run,
    .check = check,
};
