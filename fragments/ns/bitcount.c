/*+++
 * name = "bitcount"
 * kind = "NS"
 * summary = "Population count of fresh 64-bit words by three methods: clearing, halving, table"
 * resource_class = "compute-integer"
 * sizes = [4, 16, 64, 256, 1024, 4096]
 * size_unit = "words of 64 bits"
 * quick = [4]
 * requires = []
 * modes = ["default"]
 * origin = "own; methods of any textbook (Wegner 1960 for clearing the lowest bit)"
 * tacle = "bitcount"
 * licence = "Apache-2.0"
 +++*/
#include <stdio.h>

#include "deadbeat/fragment.h"

enum method { BY_CLEARING, BY_HALVES, BY_NIBBLES, METHODS };

struct state {
    uint64_t random;
    uint64_t totals[METHODS];
    uint64_t words[];
};

static uint32_t count_by_clearing(uint64_t word)
{
    uint32_t count = 0;
    while (word != 0) {
        word &= word - 1;
        /* Hides the loop from the compiler, which would otherwise recognise a population count. */
        __asm__ volatile("" : "+r"(word));
        count++;
    }
    return count;
}

static uint32_t count_by_halves(uint64_t word)
{
    word -= (word >> 1) & UINT64_C(0x5555555555555555);
    word = (word & UINT64_C(0x3333333333333333)) + ((word >> 2) & UINT64_C(0x3333333333333333));
    word = (word + (word >> 4)) & UINT64_C(0x0F0F0F0F0F0F0F0F);
    return (uint32_t)((word * UINT64_C(0x0101010101010101)) >> 56);
}

static uint32_t count_by_nibbles(uint64_t word)
{
    static const uint8_t ones[16] = {0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4};
    uint32_t count = 0;
    for (uint32_t shift = 0; shift < 64; shift += 4)
        count += ones[(word >> shift) & 15];
    return count;
}

static size_t context_bytes(uint32_t size)
{
    return sizeof(struct state) + (size_t)size * sizeof(uint64_t);
}

static int setup(struct db_context *context)
{
    struct state *state = context->memory;
    state->random = db_seed_state(context->seed);
    for (uint32_t i = 0; i < context->size; i++)
        state->words[i] = db_random(&state->random);
    for (uint32_t method = 0; method < METHODS; method++)
        state->totals[method] = UINT64_MAX; /* no count of any words */
    return 0;
}

static void run(struct db_context *context)
{
    struct state *state = context->memory;
    uint64_t totals[METHODS] = {0};
    for (uint32_t i = 0; i < context->size; i++) {
        uint64_t word = db_random(&state->random);
        state->words[i] = word;
        totals[BY_CLEARING] += count_by_clearing(word);
        totals[BY_HALVES] += count_by_halves(word);
        totals[BY_NIBBLES] += count_by_nibbles(word);
    }
    for (uint32_t method = 0; method < METHODS; method++)
        state->totals[method] = totals[method];
}

static int check(const struct db_context *context, char *why, size_t why_bytes)
{
    const struct state *state = context->memory;
    uint64_t expected = 0;
    for (uint32_t i = 0; i < context->size; i++)
        for (uint32_t bit = 0; bit < 64; bit++)
            expected += (state->words[i] >> bit) & 1;
    for (uint32_t method = 0; method < METHODS; method++) {
        if (state->totals[method] != expected) {
            snprintf(why, why_bytes, "method %u counted %llu bits, bit by bit there are %llu", method,
                     (unsigned long long)state->totals[method], (unsigned long long)expected);
            return 1;
        }
    }
    return 0;
}

extern const struct db_fragment db_fragment_bitcount;
const struct db_fragment db_fragment_bitcount = {
    .name = "bitcount",
    .kind = DB_NS,
    .context_bytes = context_bytes,
    .setup = setup,
    .run = run,
    .check = check,
};
