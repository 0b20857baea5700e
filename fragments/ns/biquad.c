/*+++
 * name = "biquad"
 * kind = "NS"
 * summary = "Recursive filter: four second-order sections in cascade, single precision"
 * resource_class = "signal"
 * sizes = [16, 48, 128, 384, 1024, 3072, 8192, 24576, 65536, 196608, 524288]
 * size_unit = "samples"
 * quick = [384]
 * requires = []
 * modes = ["default"]
 * origin = "own; transposed direct form II, Oppenheim and Schafer"
 * tacle = "iir"
 * licence = "Apache-2.0"
 +++*/
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "deadbeat/fragment.h"

#define SECTIONS 4
#define PERTURBATIONS 2

struct section {
    float b0, b1, b2, a1, a2; /* a0 is 1 */
    float s1, s2;             /* what the section remembers */
};

struct biquad {
    uint64_t random;
    struct section sections[SECTIONS];
    struct section before[SECTIONS]; /* the sections as the last run() found them */
    /* A block and its filtered form. The block is noise of full scale, also in its unchanged
     * part, so the memory of a section never decays towards denormal numbers. */
    _Alignas(DB_CACHE_LINE) float samples[];
};

extern const struct db_fragment db_fragment_biquad;

static float noise(uint32_t random)
{
    return (float)(int32_t)random * 0x1p-31f;
}

static size_t context_bytes(uint32_t size)
{
    return sizeof(struct biquad) + sizeof(float) * 2 * size;
}

/* Poles well inside the unit circle, a double zero at half the sampling rate, gain 1 at 0. */
static struct section low_pass(double radius, double angle)
{
    const double a1 = -2.0 * radius * cos(angle), a2 = radius * radius;
    const float b = (float)((1.0 + a1 + a2) / 4.0);
    return (struct section){.b0 = b, .b1 = 2.0f * b, .b2 = b, .a1 = (float)a1, .a2 = (float)a2};
}

static int setup(struct db_context *context)
{
    struct biquad *q = context->memory;
    const size_t n = context->size;
    q->random = db_seed_state(context->seed);
    for (int i = 0; i < SECTIONS; i++)
        q->sections[i] = low_pass(0.55 + 0.1 * i, 0.5 + 0.1 * i);
    memcpy(q->before, q->sections, sizeof q->before);
    for (size_t i = 0; i < n; i++)
        q->samples[i] = noise((uint32_t)(db_random(&q->random) >> 32));
    for (size_t i = n; i < 2 * n; i++)
        q->samples[i] = 1e6f;
    return 0;
}

static void filter(struct section *sections, const float *in, float *restrict out, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        float x = in[i];
        for (int k = 0; k < SECTIONS; k++) {
            struct section *s = sections + k;
            const float y = s->b0 * x + s->s1;
            s->s1 = s->b1 * x - s->a1 * y + s->s2;
            s->s2 = s->b2 * x - s->a2 * y;
            x = y;
        }
        out[i] = x;
    }
}

static void run(struct db_context *context)
{
    struct biquad *q = context->memory;
    const size_t n = context->size;
    for (int i = 0; i < PERTURBATIONS; i++) {
        const uint64_t r = db_random(&q->random);
        q->samples[((r >> 32) * n) >> 32] = noise((uint32_t)r);
    }
    memcpy(q->before, q->sections, sizeof q->before);
    filter(q->sections, q->samples, q->samples + n, n);
    db_keep(q);
}

/* The same difference equations in double precision, from the state before the last run(). */
static int check(const struct db_context *context, char *why, size_t why_bytes)
{
    const struct biquad *q = context->memory;
    const size_t n = context->size;
    double s1[SECTIONS], s2[SECTIONS];
    for (int k = 0; k < SECTIONS; k++) {
        s1[k] = q->before[k].s1;
        s2[k] = q->before[k].s2;
    }
    for (size_t i = 0; i < n; i++) {
        double x = q->samples[i];
        for (int k = 0; k < SECTIONS; k++) {
            const struct section *s = q->before + k;
            const double y = s->b0 * x + s1[k];
            s1[k] = s->b1 * x - s->a1 * y + s2[k];
            s2[k] = s->b2 * x - s->a2 * y;
            x = y;
        }
        if (!(fabs(x - q->samples[n + i]) <= 1e-5)) {
            snprintf(why, why_bytes, "sample %zu is %g, not %g", i, q->samples[n + i], x);
            return 1;
        }
    }
    return 0;
}

const struct db_fragment db_fragment_biquad = {
    .name = "biquad",
    .kind = DB_NS,
    .context_bytes = context_bytes,
    .setup = setup,
    .run = run,
    .check = check,
};
