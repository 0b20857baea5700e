/*+++
 * name = "fft"
 * kind = "NS"
 * summary = "Complex fast Fourier transform, radix 2, iterative, double precision"
 * resource_class = "signal"
 * sizes = [32, 64, 128, 256, 512, 1024, 4096, 16384, 65536, 131072]
 * size_unit = "points"
 * quick = [32, 256]
 * requires = []
 * modes = ["default"]
 * origin = "own; Cooley and Tukey (1965), decimation in time"
 * tacle = "fft"
 * licence = "Apache-2.0"
 +++*/
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "deadbeat/fragment.h"

#define PERTURBATIONS 3

struct complex {
    double re, im;
};

struct fft {
    uint64_t random;
    /* input n, output n, twiddles n/2 (e^(-2 pi i k / n)), scratch of check() n; then the
     * bit-reversed index of each of the n points */
    _Alignas(DB_CACHE_LINE) struct complex points[];
};

extern const struct db_fragment db_fragment_fft;

static struct complex *input(struct fft *f)
{
    return f->points;
}

static struct complex *output(struct fft *f, size_t n)
{
    return f->points + n;
}

static struct complex *twiddles(struct fft *f, size_t n)
{
    return f->points + 2 * n;
}

static struct complex *scratch(struct fft *f, size_t n)
{
    return f->points + 2 * n + n / 2;
}

static uint32_t *reversed(struct fft *f, size_t n)
{
    return (uint32_t *)(f->points + 3 * n + n / 2);
}

/* Uniform in the square [-1, 1] x [-1, 1]. */
static struct complex sample(uint64_t *random)
{
    const double re = (double)(int64_t)db_random(random) * 0x1p-63;
    const double im = (double)(int64_t)db_random(random) * 0x1p-63;
    return (struct complex){re, im};
}

static size_t context_bytes(uint32_t size)
{
    return sizeof(struct fft) + sizeof(struct complex) * (3 * (size_t)size + size / 2) +
           sizeof(uint32_t) * size;
}

static int setup(struct db_context *context)
{
    struct fft *f = context->memory;
    const size_t n = context->size;
    const double step = -2.0 * acos(-1.0) / (double)n;
    uint32_t *reverse = reversed(f, n);
    if (n < 2 || (n & (n - 1)) != 0)
        return EINVAL;
    f->random = db_seed_state(context->seed);
    for (size_t i = 0; i < n; i++) {
        input(f)[i] = sample(&f->random);
        output(f, n)[i] = (struct complex){0.0, 0.0};
        scratch(f, n)[i] = (struct complex){0.0, 0.0};
    }
    for (size_t i = 0; i < n / 2; i++)
        twiddles(f, n)[i] = (struct complex){cos(step * (double)i), sin(step * (double)i)};
    reverse[0] = 0;
    for (size_t i = 1; i < n; i++)
        reverse[i] = (uint32_t)(reverse[i / 2] / 2 + (i % 2) * (n / 2));
    return 0;
}

static void transform(struct fft *f, const struct complex *from, struct complex *to, size_t n)
{
    const struct complex *twiddle = twiddles(f, n);
    const uint32_t *reverse = reversed(f, n);
    for (size_t i = 0; i < n; i++)
        to[i] = from[reverse[i]];
    for (size_t half = 1, stride = n / 2; half < n; half *= 2, stride /= 2) {
        for (size_t block = 0; block < n; block += 2 * half) {
            struct complex *top = to + block, *bottom = top + half;
            for (size_t k = 0; k < half; k++) {
                const struct complex w = twiddle[k * stride], t = top[k], b = bottom[k];
                const struct complex p = {w.re * b.re - w.im * b.im, w.re * b.im + w.im * b.re};
                top[k] = (struct complex){t.re + p.re, t.im + p.im};
                bottom[k] = (struct complex){t.re - p.re, t.im - p.im};
            }
        }
    }
}

static void run(struct db_context *context)
{
    struct fft *f = context->memory;
    const size_t n = context->size;
    for (int i = 0; i < PERTURBATIONS; i++) {
        const uint64_t index = ((db_random(&f->random) >> 32) * n) >> 32;
        input(f)[index] = sample(&f->random);
    }
    transform(f, input(f), output(f, n), n);
    db_keep(f);
}

/* Bin k of the transform of x, by the definition. */
static struct complex bin(const struct complex *x, size_t k, size_t n)
{
    const double step = -2.0 * acos(-1.0) / (double)n;
    struct complex sum = {0.0, 0.0};
    for (size_t j = 0; j < n; j++) {
        const double angle = step * (double)(j * k % n);
        const double c = cos(angle), s = sin(angle);
        sum.re += x[j].re * c - x[j].im * s;
        sum.im += x[j].re * s + x[j].im * c;
    }
    return sum;
}

/* Some bins against the definition; all of them by the way back: the transform of the transform is
 * n times the input, in the order 0, n-1, n-2, ..., 1. */
static int check(const struct db_context *context, char *why, size_t why_bytes)
{
    struct fft *f = context->memory;
    const size_t n = context->size;
    const size_t bins[] = {1, (size_t)(f->random % n)};
    const struct complex *x = input(f), *spectrum = output(f, n);
    struct complex *back = scratch(f, n);
    for (size_t i = 0; i < sizeof bins / sizeof bins[0]; i++) {
        const struct complex want = bin(x, bins[i], n), got = spectrum[bins[i]];
        if (!(hypot(want.re - got.re, want.im - got.im) <= 1e-13 * (double)n + 1e-12)) {
            snprintf(why, why_bytes, "bin %zu is %g%+gi, not %g%+gi", bins[i], got.re, got.im, want.re,
                     want.im);
            return 1;
        }
    }
    transform(f, spectrum, back, n);
    for (size_t i = 0; i < n; i++) {
        const struct complex want = x[(n - i) % n];
        if (!(hypot(back[i].re / (double)n - want.re, back[i].im / (double)n - want.im) <= 1e-12)) {
            snprintf(why, why_bytes, "transformed twice, point %zu differs from the input", i);
            return 1;
        }
    }
    return 0;
}

const struct db_fragment db_fragment_fft = {
    .name = "fft",
    .kind = DB_NS,
    .context_bytes = context_bytes,
    .setup = setup,
    .run = run,
    .check = check,
};
