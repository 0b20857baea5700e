/*+++
 * name = "adpcm"
 * kind = "NS"
 * summary = "IMA ADPCM: a fresh signal encoded to 4 bits a sample and decoded again"
 * resource_class = "codec"
 * sizes = [16, 64, 256, 1024, 4096, 16384]
 * size_unit = "samples"
 * quick = [16, 1024]
 * requires = []
 * modes = ["default"]
 * origin = "own; IMA Digital Audio Focus Group, Recommended Practices, 1992"
 * tacle = "adpcm_enc"
 * licence = "Apache-2.0"
 +++*/
#include <stdio.h>

#include "deadbeat/fragment.h"

#define LAST_STEP 88

/* Step sizes as published, from 7 up by a tenth each. */
static const int16_t step_sizes[LAST_STEP + 1] = {
    7,    8,     9,     10,    11,    12,    13,    14,    16,    17,    19,    21,    23,    25,   28,
    31,   34,    37,    41,    45,    50,    55,    60,    66,    73,    80,    88,    97,    107,  118,
    130,  143,   157,   173,   190,   209,   230,   253,   279,   307,   337,   371,   408,   449,  494,
    544,  598,   658,   724,   796,   876,   963,   1060,  1166,  1282,  1411,  1552,  1707,  1878, 2066,
    2272, 2499,  2749,  3024,  3327,  3660,  4026,  4428,  4871,  5358,  5894,  6484,  7132,  7845, 8630,
    9493, 10442, 11487, 12635, 13899, 15289, 16818, 18500, 20350, 22385, 24623, 27086, 29794, 32767};

static const int8_t index_changes[8] = {-1, -1, -1, -1, 2, 4, 6, 8};

/* What encoder and decoder each remember from sample to sample. */
struct predictor {
    int32_t sample;
    int32_t index;
};

struct state {
    uint64_t random;
    struct predictor encoder, decoder;
    struct predictor before; /* of both, where the last run began */
    uint32_t runs;
    int16_t *input, *output; /* size samples each */
    uint8_t *codes;          /* two codes a byte, the first in the high half */
    int16_t samples[];
};

static int32_t clip(int32_t value, int32_t low, int32_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* Both sides move the predictor by the same rule, so they stay in step. */
static void advance(struct predictor *predictor, uint32_t code, int32_t change)
{
    predictor->sample =
        clip(code & 8 ? predictor->sample - change : predictor->sample + change, -32768, 32767);
    predictor->index = clip(predictor->index + index_changes[code & 7], 0, LAST_STEP);
}

static uint32_t encode(struct predictor *predictor, int32_t sample)
{
    int32_t step = step_sizes[predictor->index];
    int32_t difference = sample - predictor->sample;
    int32_t change = step >> 3;
    uint32_t code = 0;
    if (difference < 0) {
        code = 8;
        difference = -difference;
    }
    for (uint32_t bit = 4; bit != 0; bit >>= 1, step >>= 1) {
        if (difference >= step) {
            code |= bit;
            difference -= step;
            change += step;
        }
    }
    advance(predictor, code, change);
    return code;
}

static int32_t decode(struct predictor *predictor, uint32_t code)
{
    int32_t step = step_sizes[predictor->index];
    int32_t change = step >> 3;
    if (code & 4)
        change += step;
    if (code & 2)
        change += step >> 1;
    if (code & 1)
        change += step >> 2;
    advance(predictor, code, change);
    return predictor->sample;
}

static void encode_all(struct predictor *predictor, const int16_t *input, uint32_t count, uint8_t *codes)
{
    for (uint32_t i = 0; i < count; i += 2) {
        uint32_t high = encode(predictor, input[i]);
        codes[i / 2] = (uint8_t)(high << 4 | encode(predictor, input[i + 1]));
    }
}

static void decode_all(struct predictor *predictor, const uint8_t *codes, uint32_t count, int16_t *output)
{
    for (uint32_t i = 0; i < count; i += 2) {
        output[i] = (int16_t)decode(predictor, codes[i / 2] >> 4);
        output[i + 1] = (int16_t)decode(predictor, codes[i / 2] & 15);
    }
}

static size_t context_bytes(uint32_t size)
{
    return sizeof(struct state) + 2 * (size_t)size * sizeof(int16_t) + size / 2;
}

/* A triangle wave of fresh pitch with eight bits of noise: loud enough to use every code. */
static void make_signal(struct state *state, uint32_t count)
{
    uint64_t word = db_random(&state->random);
    uint32_t phase = (uint32_t)(word >> 48), pitch = 500 + (uint32_t)(word & 1023);
    for (uint32_t i = 0; i < count; i++) {
        if (i % 8 == 0)
            word = db_random(&state->random);
        phase += pitch;
        int32_t triangle = (int32_t)(phase & 0xFFFF) - 32768;
        triangle = (triangle < 0 ? -triangle : triangle) - 16384;
        state->input[i] = (int16_t)(triangle + 16 * (int8_t)(word & 0xFF));
        word >>= 8;
    }
}

static int setup(struct db_context *context)
{
    struct state *state = context->memory;
    state->random = db_seed_state(context->seed);
    state->input = state->samples;
    state->output = state->samples + context->size;
    state->codes = (uint8_t *)(state->samples + 2 * (size_t)context->size);
    make_signal(state, context->size);
    for (uint32_t i = 0; i < context->size; i++)
        state->output[i] = 0;
    for (uint32_t i = 0; i < context->size / 2; i++)
        state->codes[i] = 0;
    return 0;
}

static void run(struct db_context *context)
{
    struct state *state = context->memory;
    make_signal(state, context->size);
    state->before = state->encoder;
    encode_all(&state->encoder, state->input, context->size, state->codes);
    decode_all(&state->decoder, state->codes, context->size, state->output);
    state->runs++;
}

/* The slow twin of encode(): of the eight changes a code can make, the largest not above the difference. */
static uint32_t reference_code(int32_t step, int32_t difference, int32_t *change)
{
    int32_t magnitude = difference < 0 ? -difference : difference;
    uint32_t code = 8;
    do {
        code--;
        *change = (code & 4 ? step : 0) + (code & 2 ? step / 2 : 0) + (code & 1 ? step / 4 : 0);
    } while (*change > magnitude);
    *change += step / 8;
    return difference < 0 ? code | 8 : code;
}

static int check_last_run(const struct state *state, uint32_t count, char *why, size_t why_bytes)
{
    int32_t sample = state->before.sample, index = state->before.index;
    for (uint32_t i = 0; i < count; i++) {
        int32_t change;
        uint32_t code = reference_code(step_sizes[index], state->input[i] - sample, &change);
        sample = clip(code & 8 ? sample - change : sample + change, -32768, 32767);
        index = clip(index + (code & 4 ? 2 * (int32_t)(code & 3) + 2 : -1), 0, LAST_STEP);
        uint32_t stored = i % 2 == 0 ? state->codes[i / 2] >> 4 : state->codes[i / 2] & 15;
        if (stored != code || state->output[i] != sample) {
            snprintf(why, why_bytes, "sample %u: code %u, decoded %d; searched code %u, value %d", i, stored,
                     state->output[i], code, sample);
            return 1;
        }
    }
    return 0;
}

/* 32 samples, clipped at both ends, the first at the threshold of a bit; encoded and decoded by another
 * implementation: lin2adpcm and adpcm2lin of the module audioop of CPython 3.11, from the state (0, 0). */
static int check_known_answer(void)
{
    static const int16_t input[32] = {7,      120,   -300,  800,   2500,  7000,   12000,  16000,
                                      18000,  15000, 9000,  1000,  -8000, -20000, -32768, -32768,
                                      -20000, -5000, 32767, 32767, 30000, 100,    99,     98,
                                      97,     50,    0,     -1,    -2,    0,      0,      4};
    static const uint8_t codes[16] = {0x47, 0xF7, 0x77, 0x77, 0x77, 0xAB, 0xDC, 0xC0,
                                      0x34, 0x71, 0x8C, 0x08, 0x08, 0x08, 0x08, 0x08};
    static const int16_t output[32] = {7,      23,    -11,   65,    230,   585,    1350,   2992,
                                       6512,   14060, 8667,  1804,  -8002, -19749, -32768, -30857,
                                       -18697, -4483, 24183, 32767, 29043, -1428,  2667,   -1057,
                                       2328,   -749,  2049,  -494,  1818,  -284,   1627,   -110};
    struct predictor encoder = {0, 0}, decoder = {0, 0};
    uint8_t encoded[16];
    int16_t decoded[32];
    encode_all(&encoder, input, 32, encoded);
    decode_all(&decoder, encoded, 32, decoded);
    for (uint32_t i = 0; i < 32; i++)
        if (encoded[i / 2] != codes[i / 2] || decoded[i] != output[i])
            return 1;
    return 0;
}

static int check(const struct db_context *context, char *why, size_t why_bytes)
{
    const struct state *state = context->memory;
    if (state->runs == 0) {
        snprintf(why, why_bytes, "nothing was encoded");
        return 1;
    }
    if (check_known_answer() != 0) {
        snprintf(why, why_bytes, "the 32 known samples are encoded or decoded wrongly");
        return 1;
    }
    return check_last_run(state, context->size, why, why_bytes);
}

extern const struct db_fragment db_fragment_adpcm;
const struct db_fragment db_fragment_adpcm = {
    .name = "adpcm",
    .kind = DB_NS,
    .context_bytes = context_bytes,
    .setup = setup,
    .run = run,
    .check = check,
};
