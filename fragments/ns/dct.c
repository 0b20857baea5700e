/*+++
 * name = "dct"
 * kind = "NS"
 * summary = "Forward discrete cosine transform of 8x8 image blocks, fixed point"
 * resource_class = "codec"
 * sizes = [1, 3, 8, 24, 64, 192, 512, 1536, 4096, 12288]
 * size_unit = "blocks"
 * quick = [1, 64]
 * requires = []
 * modes = ["default"]
 * origin = "own; Ahmed, Natarajan and Rao (1974), rows then columns, split into even and odd part"
 * tacle = "jfdctint"
 * licence = "Apache-2.0"
 +++*/
#include <math.h>
#include <stdio.h>

#include "deadbeat/fragment.h"

#define BLOCK 64
#define PERTURBATIONS 2

/* cos(k pi / 16) / 2 in units of 2^-13. */
#define FRACTION_BITS 13
enum { C1 = 4017, C2 = 3784, C3 = 3406, C4 = 2896, C5 = 2276, C6 = 1567, C7 = 799 };
/* Bits kept behind the point between rows and columns: 2^31 is still a factor of 20 away. */
#define GUARD_BITS 3

struct dct {
    uint64_t random;
    _Alignas(DB_CACHE_LINE) int16_t samples[]; /* size blocks of pixels in -128..127, then of coefficients */
};

extern const struct db_fragment db_fragment_dct;

static size_t context_bytes(uint32_t size)
{
    return sizeof(struct dct) + sizeof(int16_t) * 2 * BLOCK * size;
}

/* One word is one row of eight pixels. */
static void fresh_row(int16_t *row, uint64_t random)
{
    for (int i = 0; i < 8; i++)
        row[i] = (int16_t)((int)((random >> (8 * i)) & 0xFF) - 128);
}

static int setup(struct db_context *context)
{
    struct dct *d = context->memory;
    const size_t cells = (size_t)context->size * BLOCK;
    d->random = db_seed_state(context->seed);
    for (size_t i = 0; i < cells; i += 8)
        fresh_row(d->samples + i, db_random(&d->random));
    for (size_t i = cells; i < 2 * cells; i++)
        d->samples[i] = INT16_MAX;
    return 0;
}

/* Eight points in, eight coefficients out; both shifted right by `shift`, rounded. */
static inline void transform_8(const int32_t x[8], int32_t out[8], int shift)
{
    const int32_t s0 = x[0] + x[7], s1 = x[1] + x[6], s2 = x[2] + x[5], s3 = x[3] + x[4];
    const int32_t d0 = x[0] - x[7], d1 = x[1] - x[6], d2 = x[2] - x[5], d3 = x[3] - x[4];
    const int32_t round = 1 << (shift - 1);
    out[0] = ((s0 + s3 + s1 + s2) * C4 + round) >> shift;
    out[1] = (d0 * C1 + d1 * C3 + d2 * C5 + d3 * C7 + round) >> shift;
    out[2] = ((s0 - s3) * C2 + (s1 - s2) * C6 + round) >> shift;
    out[3] = (d0 * C3 - d1 * C7 - d2 * C1 - d3 * C5 + round) >> shift;
    out[4] = ((s0 + s3 - s1 - s2) * C4 + round) >> shift;
    out[5] = (d0 * C5 - d1 * C1 + d2 * C7 + d3 * C3 + round) >> shift;
    out[6] = ((s0 - s3) * C6 - (s1 - s2) * C2 + round) >> shift;
    out[7] = (d0 * C7 - d1 * C5 + d2 * C3 - d3 * C1 + round) >> shift;
}

static void transform_block(const int16_t *pixels, int16_t *coefficients)
{
    int32_t rows[8][8], x[8];
    for (int y = 0; y < 8; y++) {
        for (int i = 0; i < 8; i++)
            x[i] = pixels[8 * y + i];
        transform_8(x, rows[y], FRACTION_BITS - GUARD_BITS);
    }
    for (int column = 0; column < 8; column++) {
        int32_t out[8];
        for (int i = 0; i < 8; i++)
            x[i] = rows[i][column];
        transform_8(x, out, FRACTION_BITS + GUARD_BITS);
        for (int i = 0; i < 8; i++)
            coefficients[8 * i + column] = (int16_t)out[i];
    }
}

static void run(struct db_context *context)
{
    struct dct *d = context->memory;
    const size_t blocks = context->size;
    for (int i = 0; i < PERTURBATIONS; i++) {
        const uint64_t row = ((db_random(&d->random) >> 32) * (blocks * 8)) >> 32;
        fresh_row(d->samples + row * 8, db_random(&d->random));
    }
    for (size_t i = 0; i < blocks; i++)
        transform_block(d->samples + i * BLOCK, d->samples + (blocks + i) * BLOCK);
    db_keep(d);
}

/* basis[k][i] of the orthonormal transform: X_k = sum over i of basis[k][i] x_i. */
static void make_basis(double basis[8][8])
{
    for (int k = 0; k < 8; k++)
        for (int i = 0; i < 8; i++)
            basis[k][i] = (k == 0 ? sqrt(0.125) : 0.5) * cos((2 * i + 1) * k * acos(-1.0) / 16.0);
}

/* Coefficients of one block by the definition, in double precision. */
static void reference_block(double basis[8][8], const int16_t *pixels, double out[BLOCK])
{
    double rows[BLOCK];
    for (int y = 0; y < 8; y++)
        for (int k = 0; k < 8; k++) {
            rows[8 * y + k] = 0.0;
            for (int x = 0; x < 8; x++)
                rows[8 * y + k] += basis[k][x] * pixels[8 * y + x];
        }
    for (int k = 0; k < 8; k++)
        for (int x = 0; x < 8; x++) {
            out[8 * k + x] = 0.0;
            for (int y = 0; y < 8; y++)
                out[8 * k + x] += basis[k][y] * rows[8 * y + x];
        }
}

static int check(const struct db_context *context, char *why, size_t why_bytes)
{
    const struct dct *d = context->memory;
    const size_t blocks = context->size;
    double basis[8][8], want[BLOCK];
    make_basis(basis);
    for (size_t block = 0; block < blocks; block++) {
        const int16_t *got = d->samples + (blocks + block) * BLOCK;
        reference_block(basis, d->samples + block * BLOCK, want);
        for (int i = 0; i < BLOCK; i++) {
            if (!(fabs(got[i] - want[i]) <= 1.0)) {
                snprintf(why, why_bytes, "coefficient %d of block %zu is %d, not %.2f", i, block, got[i],
                         want[i]);
                return 1;
            }
        }
    }
    return 0;
}

const struct db_fragment db_fragment_dct = {
    .name = "dct",
    .kind = DB_NS,
    .context_bytes = context_bytes,
    .setup = setup,
    .run = run,
    .check = check,
};
