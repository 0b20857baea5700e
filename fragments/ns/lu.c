/*+++
 * name = "lu"
 * kind = "NS"
 * summary = "Linear equations by LU decomposition with partial pivoting, double precision"
 * resource_class = "compute-float"
 * sizes = [4, 8, 12, 20, 32, 50, 80, 128, 200, 320, 400]
 * size_unit = "unknowns"
 * quick = [32]
 * requires = []
 * modes = ["default"]
 * origin = "own; Golub and Van Loan, Matrix Computations, section 3.4"
 * tacle = "ludcmp"
 * licence = "Apache-2.0"
 +++*/
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "deadbeat/fragment.h"

#define PERTURBATIONS 4

struct lu {
    uint64_t random;
    /* A (n x n), right side b (n), factors L and U in one (n x n), solution x (n) */
    _Alignas(DB_CACHE_LINE) double numbers[];
};

extern const struct db_fragment db_fragment_lu;

/* Uniform in [-1, 1]; a matrix of such elements is singular with a probability below 2^-50. */
static double element(uint64_t random)
{
    return (double)(int64_t)random * 0x1p-63;
}

static size_t context_bytes(uint32_t size)
{
    return sizeof(struct lu) + sizeof(double) * 2 * ((size_t)size * size + size);
}

static int setup(struct db_context *context)
{
    struct lu *s = context->memory;
    const size_t inputs = (size_t)context->size * context->size + context->size;
    s->random = db_seed_state(context->seed);
    for (size_t i = 0; i < inputs; i++)
        s->numbers[i] = element(db_random(&s->random));
    for (size_t i = inputs; i < 2 * inputs; i++)
        s->numbers[i] = 0.0;
    return 0;
}

static size_t pivot_row(const double *f, size_t k, size_t n)
{
    size_t best = k;
    double largest = fabs(f[k * n + k]);
    for (size_t i = k + 1; i < n; i++) {
        const double magnitude = fabs(f[i * n + k]);
        best = magnitude > largest ? i : best;
        largest = magnitude > largest ? magnitude : largest;
    }
    return best;
}

static void swap_rows(double *f, double *x, size_t i, size_t k, size_t n)
{
    for (size_t j = 0; j < n; j++) {
        const double t = f[i * n + j];
        f[i * n + j] = f[k * n + j];
        f[k * n + j] = t;
    }
    const double t = x[i];
    x[i] = x[k];
    x[k] = t;
}

static void factorise(double *f, double *x, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        const size_t best = pivot_row(f, k, n);
        if (best != k)
            swap_rows(f, x, best, k, n);
        const double inverse = 1.0 / f[k * n + k];
        for (size_t i = k + 1; i < n; i++) {
            const double factor = f[i * n + k] *= inverse;
            for (size_t j = k + 1; j < n; j++)
                f[i * n + j] -= factor * f[k * n + j];
        }
    }
}

static void substitute(const double *f, double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            x[i] -= f[i * n + j] * x[j];
    for (size_t i = n; i-- > 0;) {
        for (size_t j = i + 1; j < n; j++)
            x[i] -= f[i * n + j] * x[j];
        x[i] /= f[i * n + i];
    }
}

static void run(struct db_context *context)
{
    struct lu *s = context->memory;
    const size_t n = context->size;
    const size_t inputs = n * n + n;
    double *factors = s->numbers + inputs;
    double *x = factors + n * n;
    for (int i = 0; i < PERTURBATIONS; i++) {
        const uint64_t index = db_random(&s->random) >> 32;
        s->numbers[(index * inputs) >> 32] = element(db_random(&s->random));
    }
    memcpy(factors, s->numbers, inputs * sizeof(double));
    factorise(factors, x, n);
    substitute(factors, x, n);
    db_keep(s);
}

/* Backward error: |b - A x| against |A| |x| + |b|, in the maximum norm (Higham, section 7.1). */
static int check(const struct db_context *context, char *why, size_t why_bytes)
{
    const struct lu *s = context->memory;
    const size_t n = context->size;
    const double *a = s->numbers, *b = a + n * n, *x = b + n + n * n;
    double size_x = 0.0, size_b = 0.0, size_a = 0.0, residual = 0.0;
    for (size_t i = 0; i < n; i++) {
        double sum = 0.0, row = 0.0;
        for (size_t j = 0; j < n; j++) {
            sum += a[i * n + j] * x[j];
            row += fabs(a[i * n + j]);
        }
        residual = fmax(residual, fabs(b[i] - sum));
        size_a = fmax(size_a, row);
        size_x = fmax(size_x, fabs(x[i]));
        size_b = fmax(size_b, fabs(b[i]));
    }
    if (!(size_x > 0.0) || !isfinite(size_x) || !(residual <= 1e-12 * (size_a * size_x + size_b))) {
        snprintf(why, why_bytes, "the solution leaves a residual of %g", residual);
        return 1;
    }
    return 0;
}

const struct db_fragment db_fragment_lu = {
    .name = "lu",
    .kind = DB_NS,
    .context_bytes = context_bytes,
    .setup = setup,
    .run = run,
    .check = check,
};
