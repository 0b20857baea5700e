/*+++
 * name = "matmul_float"
 * kind = "NS"
 * summary = "Dense matrix multiply, double precision"
 * resource_class = "compute-float"
 * sizes = [8, 12, 16, 24, 40, 60, 88, 136, 200]
 * size_unit = "rows"
 * quick = [24]
 * requires = []
 * modes = ["default"]
 * origin = "own; the definition of the matrix product, by rows, four at a time"
 * tacle = ""
 * licence = "Apache-2.0"
 +++*/
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "deadbeat/fragment.h"

#define MAX_SIZE 256
#define PERTURBATIONS 4
#define WIDTH 4 /* divides every size */

struct matmul_float {
    uint64_t random;
    _Alignas(DB_CACHE_LINE) double elements[]; /* A, B, C: size x size each, by rows */
};

extern const struct db_fragment db_fragment_matmul_float;

/* Uniform in [-1, 1]; zero or at least 2^-63, so no product comes near the denormal range. */
static double element(uint64_t random)
{
    return (double)(int64_t)random * 0x1p-63;
}

static size_t context_bytes(uint32_t size)
{
    return sizeof(struct matmul_float) + sizeof(double) * 3 * size * size;
}

static int setup(struct db_context *context)
{
    struct matmul_float *m = context->memory;
    const size_t cells = (size_t)context->size * context->size;
    if (context->size > MAX_SIZE || context->size % WIDTH != 0)
        return EINVAL;
    m->random = db_seed_state(context->seed);
    for (size_t i = 0; i < 2 * cells; i++)
        m->elements[i] = element(db_random(&m->random));
    for (size_t i = 2 * cells; i < 3 * cells; i++)
        m->elements[i] = 1e9; /* no product of such elements is that large */
    return 0;
}

/* Row i of C is the sum of the rows of B, each times an element of row i of A; four rows at a time,
 * so that leaving the inner loop, which no branch predictor learns for every size, costs little. */
static void multiply(const double *a, const double *b, double *restrict c, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double *row = c + i * n;
        for (size_t j = 0; j < n; j++)
            row[j] = 0.0;
        for (size_t k = 0; k < n; k += WIDTH) {
            const double *f = a + i * n + k;
            const double f0 = f[0], f1 = f[1], f2 = f[2], f3 = f[3];
            const double *b0 = b + k * n, *b1 = b0 + n, *b2 = b1 + n, *b3 = b2 + n;
            for (size_t j = 0; j < n; j++)
                row[j] += f0 * b0[j] + f1 * b1[j] + f2 * b2[j] + f3 * b3[j];
        }
    }
}

static void run(struct db_context *context)
{
    struct matmul_float *m = context->memory;
    const size_t n = context->size;
    for (int i = 0; i < PERTURBATIONS; i++) {
        const uint64_t index = db_random(&m->random) >> 32;
        m->elements[(index * (2 * n * n)) >> 32] = element(db_random(&m->random));
    }
    multiply(m->elements, m->elements + n * n, m->elements + 2 * n * n, n);
    db_keep(m);
}

static double row_times(const double *row, const double *x, size_t n)
{
    double sum = 0.0;
    for (size_t j = 0; j < n; j++)
        sum += row[j] * x[j];
    return sum;
}

/* Freivalds (1979): A (B x) = C x for a random x, up to rounding, which is below n^2 epsilon. */
static int check(const struct db_context *context, char *why, size_t why_bytes)
{
    const struct matmul_float *m = context->memory;
    const size_t n = context->size;
    const double tolerance = (double)(n * n) * 1e-14;
    double x[MAX_SIZE], bx[MAX_SIZE];
    uint64_t random = m->random;
    for (size_t i = 0; i < n; i++)
        x[i] = 1.5 + element(db_random(&random)); /* far from zero: every element of C weighs in */
    for (size_t i = 0; i < n; i++)
        bx[i] = row_times(m->elements + (n + i) * n, x, n);
    for (size_t i = 0; i < n; i++) {
        const double difference =
            row_times(m->elements + i * n, bx, n) - row_times(m->elements + (2 * n + i) * n, x, n);
        if (!(fabs(difference) <= tolerance)) {
            snprintf(why, why_bytes, "row %zu of the product is off by %g (Freivalds)", i, difference);
            return 1;
        }
    }
    return 0;
}

const struct db_fragment db_fragment_matmul_float = {
    .name = "matmul_float",
    .kind = DB_NS,
    .context_bytes = context_bytes,
    .setup = setup,
    .run = run,
    .check = check,
};
