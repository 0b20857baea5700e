/*+++
 * name = "fir"
 * kind = "NS"
 * summary = "Finite impulse response filter of 32 taps, 16-bit fixed point"
 * resource_class = "signal"
 * sizes = [48, 128, 384, 1024, 3072, 8192, 24576, 65536, 196608, 524288]
 * size_unit = "samples"
 * quick = [48, 1024]
 * requires = []
 * modes = ["default"]
 * origin = "own; windowed-sinc low pass, direct form, Oppenheim and Schafer"
 * tacle = "fir2dim"
 * licence = "Apache-2.0"
 +++*/
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "deadbeat/fragment.h"

#define TAPS 32
#define HISTORY (TAPS - 1)
#define PERTURBATIONS 2

struct fir {
    uint64_t random;
    int16_t reversed_taps[TAPS]; /* Q15; their magnitudes add up to less than 1: no overflow */
    /* the last HISTORY samples of the previous block, a block, its filtered form */
    _Alignas(DB_CACHE_LINE) int16_t samples[];
};

extern const struct db_fragment db_fragment_fir;

static size_t context_bytes(uint32_t size)
{
    return sizeof(struct fir) + sizeof(int16_t) * (HISTORY + 2 * (size_t)size);
}

/* A sinc of cut-off 1/8 of the sampling rate under a Hamming window. */
static void design(int16_t reversed_taps[TAPS])
{
    const double pi = acos(-1.0);
    double taps[TAPS], sum = 0.0;
    for (int i = 0; i < TAPS; i++) {
        const double t = i - (TAPS - 1) / 2.0;
        taps[i] = sin(pi * t / 4.0) / (pi * t) * (0.54 - 0.46 * cos(2.0 * pi * i / (TAPS - 1)));
        sum += fabs(taps[i]);
    }
    for (int i = 0; i < TAPS; i++)
        reversed_taps[TAPS - 1 - i] = (int16_t)lrint(taps[i] / sum * 32700.0);
}

static int setup(struct db_context *context)
{
    struct fir *f = context->memory;
    const size_t n = context->size;
    f->random = db_seed_state(context->seed);
    design(f->reversed_taps);
    for (size_t i = 0; i < HISTORY + n; i++)
        f->samples[i] = (int16_t)db_random(&f->random);
    for (size_t i = 0; i < n; i++)
        f->samples[HISTORY + n + i] = INT16_MAX;
    return 0;
}

static void filter(const int16_t *taps, const int16_t *in, int16_t *restrict out, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int32_t sum = 1 << 14; /* rounds to nearest */
        for (size_t t = 0; t < TAPS; t++)
            sum += taps[t] * in[i + t];
        out[i] = (int16_t)(sum >> 15);
    }
}

static void run(struct db_context *context)
{
    struct fir *f = context->memory;
    const size_t n = context->size;
    int16_t *block = f->samples + HISTORY;
    memmove(f->samples, f->samples + n, HISTORY * sizeof(int16_t));
    for (int i = 0; i < PERTURBATIONS; i++) {
        const uint64_t r = db_random(&f->random);
        block[((r >> 32) * n) >> 32] = (int16_t)r;
    }
    filter(f->reversed_taps, f->samples, block + n, n);
    db_keep(f);
}

/* The convolution sum, by its definition and in 64 bits. */
static int check(const struct db_context *context, char *why, size_t why_bytes)
{
    const struct fir *f = context->memory;
    const int64_t n = context->size;
    const int16_t *block = f->samples + HISTORY;
    for (int64_t i = 0; i < n; i++) {
        int64_t sum = 0;
        for (int64_t t = 0; t < TAPS; t++)
            sum += (int64_t)f->reversed_taps[TAPS - 1 - t] * block[i - t];
        const int64_t want = (sum + (1 << 14)) >> 15;
        if (block[n + i] != want) {
            snprintf(why, why_bytes, "sample %lld is %d, not %lld", (long long)i, block[n + i],
                     (long long)want);
            return 1;
        }
    }
    return 0;
}

const struct db_fragment db_fragment_fir = {
    .name = "fir",
    .kind = DB_NS,
    .context_bytes = context_bytes,
    .setup = setup,
    .run = run,
    .check = check,
};
