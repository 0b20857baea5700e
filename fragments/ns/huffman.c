/*+++
 * name = "huffman"
 * kind = "NS"
 * summary = "Canonical Huffman decoding, bit by bit, of freshly encoded symbols"
 * resource_class = "codec"
 * sizes = [16, 64, 256, 1024, 4096, 16384, 65536]
 * size_unit = "symbols"
 * quick = [1024]
 * requires = []
 * modes = ["default"]
 * origin = "own; Huffman 1952, canonical codes as in Witten, Moffat and Bell, Managing Gigabytes, 1999"
 * tacle = "huff_dec"
 * licence = "Apache-2.0"
 +++*/
#include <stdio.h>

#include "deadbeat/fragment.h"

#define SYMBOLS 64
#define SLOTS 1024     /* symbols are drawn from a table of this many slots: 10 bits a draw */
#define LENGTH_MAX 15  /* the rarest symbol has 4 of 1024 slots: its code has about 8 bits */
#define NO_SYMBOL 0xFF /* output before any decoding: never right */

struct state {
    uint64_t random;
    uint64_t drawn_from;             /* random state before the last run drew its symbols */
    uint8_t slots[SLOTS];            /* symbol of each slot: its frequency */
    uint8_t lengths[SYMBOLS];        /* code length of each symbol */
    uint16_t codes[SYMBOLS];         /* its code, in the low bits */
    uint8_t ordered[SYMBOLS];        /* symbols by (length, symbol): canonical order */
    uint32_t limit[LENGTH_MAX + 2];  /* per length: one more than its last code */
    uint32_t first[LENGTH_MAX + 2];  /* per length: its first code */
    uint32_t offset[LENGTH_MAX + 2]; /* per length: where its symbols begin in ordered */
    uint32_t bits;                   /* length of the stream */
    uint8_t *output;                 /* size symbols, behind the stream */
    uint64_t stream[];
};

static size_t stream_words(uint32_t size)
{
    return ((size_t)size * LENGTH_MAX + 63) / 64 + 1;
}

static size_t context_bytes(uint32_t size)
{
    return sizeof(struct state) + stream_words(size) * sizeof(uint64_t) + size;
}

/* Zipf's law: the r-th symbol gets a share of 1/r. Which symbol is r-th depends on the seed. */
static void make_frequencies(struct state *state, uint32_t frequency[SYMBOLS])
{
    uint8_t rank[SYMBOLS];
    for (uint32_t i = 0; i < SYMBOLS; i++) {
        uint32_t j = (uint32_t)(db_random(&state->random) % (i + 1));
        rank[i] = rank[j];
        rank[j] = (uint8_t)i;
    }
    uint32_t used = 0;
    for (uint32_t i = SYMBOLS; i-- > 0;) {
        /* At least 4 slots each; the first takes the 322 that the others leave. */
        uint32_t share = i == 0 ? SLOTS - used : 190 / (i + 1) < 4 ? 4 : 190 / (i + 1);
        frequency[rank[i]] = share;
        for (uint32_t n = 0; n < share; n++)
            state->slots[used++] = rank[i];
    }
}

/* Huffman's algorithm with two plain searches a merge: lengths from the depth of each leaf. */
static void make_lengths(struct state *state, const uint32_t frequency[SYMBOLS])
{
    uint32_t weight[2 * SYMBOLS - 1];
    uint8_t parent[2 * SYMBOLS - 1] = {0};
    for (uint32_t i = 0; i < SYMBOLS; i++)
        weight[i] = frequency[i];
    for (uint32_t node = SYMBOLS; node < 2 * SYMBOLS - 1; node++) {
        weight[node] = 0;
        for (uint32_t child = 0; child < 2; child++) {
            uint32_t least = node;
            for (uint32_t i = 0; i < node; i++)
                if (parent[i] == 0 && (least == node || weight[i] < weight[least]))
                    least = i;
            parent[least] = (uint8_t)node;
            weight[node] += weight[least];
        }
    }
    for (uint32_t i = 0; i < SYMBOLS; i++) {
        state->lengths[i] = 0;
        for (uint32_t node = i; parent[node] != 0; node = parent[node])
            state->lengths[i]++;
    }
}

/* Canonical: codes of a length are consecutive, in the order of their symbols, after all shorter ones. */
static void make_codes(struct state *state)
{
    uint32_t code = 0, index = 0;
    for (uint32_t length = 1; length <= LENGTH_MAX + 1; length++) {
        code <<= 1;
        state->first[length] = code;
        state->offset[length] = index;
        for (uint32_t symbol = 0; symbol < SYMBOLS; symbol++) {
            if (state->lengths[symbol] != length)
                continue;
            state->codes[symbol] = (uint16_t)code++;
            state->ordered[index++] = (uint8_t)symbol;
        }
        state->limit[length] = code;
    }
}

static int setup(struct db_context *context)
{
    struct state *state = context->memory;
    uint32_t frequency[SYMBOLS];
    state->random = db_seed_state(context->seed);
    state->drawn_from = state->random;
    state->output = (uint8_t *)(state->stream + stream_words(context->size));
    make_frequencies(state, frequency);
    make_lengths(state, frequency);
    make_codes(state);
    for (size_t i = 0; i < stream_words(context->size); i++)
        state->stream[i] = 0;
    for (uint32_t i = 0; i < context->size; i++)
        state->output[i] = NO_SYMBOL;
    return 0;
}

/* Six draws a word, from its high bits down. */
static uint8_t draw_symbol(const struct state *state, uint64_t *random, uint64_t *word, uint32_t i)
{
    if (i % 6 == 0)
        *word = db_random(random);
    uint8_t symbol = state->slots[*word >> 54];
    *word <<= 10;
    return symbol;
}

/* Fresh symbols, appended to the stream with the first bit of each word highest. */
static void encode(struct state *state, uint32_t count)
{
    uint64_t word = 0, pending = 0;
    uint32_t free_bits = 64, filled = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint8_t symbol = draw_symbol(state, &state->random, &word, i);
        uint32_t length = state->lengths[symbol];
        uint64_t code = state->codes[symbol];
        if (length >= free_bits) {
            state->stream[filled++] = pending | code >> (length - free_bits);
            free_bits += 64;
            pending = 0;
        }
        free_bits -= length;
        pending |= free_bits < 64 ? code << free_bits : 0;
    }
    state->stream[filled] = pending;
    state->bits = 64 * (filled + 1) - free_bits;
}

/* The textbook's loop: a code that is not below its length's limit is longer. */
static void decode(struct state *state, uint32_t count)
{
    uint64_t word = 0;
    uint32_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t code = 0, length = 0;
        do {
            if (at % 64 == 0)
                word = state->stream[at / 64];
            code = code << 1 | (uint32_t)(word >> 63);
            word <<= 1;
            at++;
            length++;
        } while (code >= state->limit[length]);
        state->output[i] = state->ordered[state->offset[length] + code - state->first[length]];
    }
}

static void run(struct db_context *context)
{
    struct state *state = context->memory;
    state->drawn_from = state->random;
    encode(state, context->size);
    decode(state, context->size);
}

/* The slow twin of decode(): searches all codes for the one the stream goes on with. */
static uint32_t reference_symbol(const struct state *state, uint32_t *at)
{
    for (uint32_t symbol = 0; symbol < SYMBOLS; symbol++) {
        uint32_t code = 0;
        for (uint32_t bit = *at; bit < *at + state->lengths[symbol]; bit++)
            code = code << 1 | (uint32_t)(state->stream[bit / 64] >> (63 - bit % 64) & 1);
        if (code == state->codes[symbol]) {
            *at += state->lengths[symbol];
            return symbol;
        }
    }
    return NO_SYMBOL;
}

/* Kraft's equality, which a complete prefix code keeps. */
static int code_is_complete(const struct state *state)
{
    uint32_t sum = 0;
    for (uint32_t symbol = 0; symbol < SYMBOLS; symbol++) {
        if (state->lengths[symbol] == 0 || state->lengths[symbol] > LENGTH_MAX)
            return 0;
        sum += UINT32_C(1) << (LENGTH_MAX - state->lengths[symbol]);
    }
    return sum == UINT32_C(1) << LENGTH_MAX;
}

static int check(const struct db_context *context, char *why, size_t why_bytes)
{
    const struct state *state = context->memory;
    if (!code_is_complete(state)) {
        snprintf(why, why_bytes, "the code breaks Kraft's equality");
        return 1;
    }
    uint64_t random = state->drawn_from, word = 0;
    uint32_t at = 0;
    for (uint32_t i = 0; i < context->size; i++) {
        uint32_t drawn = draw_symbol(state, &random, &word, i);
        uint32_t searched = reference_symbol(state, &at);
        if (state->output[i] != drawn || searched != drawn) {
            snprintf(why, why_bytes, "symbol %u: drawn %u, decoded %u, by search %u", i, drawn,
                     state->output[i], searched);
            return 1;
        }
    }
    if (random != state->random || at != state->bits) {
        snprintf(why, why_bytes, "%u of %u bits were decoded", at, state->bits);
        return 1;
    }
    return 0;
}

extern const struct db_fragment db_fragment_huffman;
const struct db_fragment db_fragment_huffman = {
    .name = "huffman",
    .kind = DB_NS,
    .context_bytes = context_bytes,
    .setup = setup,
    .run = run,
    .check = check,
};
