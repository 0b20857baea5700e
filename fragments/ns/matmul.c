/*+++
 * name = "matmul"
 * kind = "NS"
 * summary = "Dense matrix multiply, 32-bit integers"
 * resource_class = "compute-integer"
 * sizes = [8, 12, 20, 32, 48, 72, 112, 168, 256]
 * size_unit = "rows"
 * quick = [8, 32]
 * requires = []
 * modes = ["default"]
 * origin = "own; the definition of the matrix product, by rows, four at a time"
 * tacle = "matrix1"
 * licence = "Apache-2.0"
 +++*/
#include <errno.h>
#include <stdio.h>

#include "deadbeat/fragment.h"

/* Elements have 12 bits, so that 256 products of them stay below 2^31: C is exact. */
#define ELEMENT_BITS 12
#define MAX_SIZE 256
#define PERTURBATIONS 4
#define WIDTH 4 /* divides every size */

struct matmul {
    uint64_t random;
    _Alignas(DB_CACHE_LINE) int32_t elements[]; /* A, B, C: size x size each, by rows */
};

extern const struct db_fragment db_fragment_matmul;

static int32_t element(uint64_t random)
{
    return (int32_t)(random & ((1u << ELEMENT_BITS) - 1)) - (1 << (ELEMENT_BITS - 1));
}

static size_t context_bytes(uint32_t size)
{
    return sizeof(struct matmul) + sizeof(int32_t) * 3 * size * size;
}

static int setup(struct db_context *context)
{
    struct matmul *m = context->memory;
    const size_t cells = (size_t)context->size * context->size;
    if (context->size > MAX_SIZE || context->size % WIDTH != 0)
        return EINVAL;
    m->random = db_seed_state(context->seed);
    for (size_t i = 0; i < 2 * cells; i++)
        m->elements[i] = element(db_random(&m->random));
    for (size_t i = 2 * cells; i < 3 * cells; i++)
        m->elements[i] = INT32_MIN;
    return 0;
}

/* Row i of C is the sum of the rows of B, each times an element of row i of A; four rows at a time,
 * so that leaving the inner loop, which no branch predictor learns for every size, costs little. */
static void multiply(const int32_t *a, const int32_t *b, int32_t *restrict c, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int32_t *row = c + i * n;
        for (size_t j = 0; j < n; j++)
            row[j] = 0;
        for (size_t k = 0; k < n; k += WIDTH) {
            const int32_t *f = a + i * n + k;
            const int32_t f0 = f[0], f1 = f[1], f2 = f[2], f3 = f[3];
            const int32_t *b0 = b + k * n, *b1 = b0 + n, *b2 = b1 + n, *b3 = b2 + n;
            for (size_t j = 0; j < n; j++)
                row[j] += f0 * b0[j] + f1 * b1[j] + f2 * b2[j] + f3 * b3[j];
        }
    }
}

static void run(struct db_context *context)
{
    struct matmul *m = context->memory;
    const size_t n = context->size;
    for (int i = 0; i < PERTURBATIONS; i++) {
        const uint64_t r = db_random(&m->random);
        m->elements[((r >> 32) * (2 * n * n)) >> 32] = element(r);
    }
    multiply(m->elements, m->elements + n * n, m->elements + 2 * n * n, n);
    db_keep(m);
}

/* Inner product of a row and x modulo the prime, for |elements| < 2^31 and components of x below the prime.
 */
static uint32_t row_times(const int32_t *row, const uint32_t *x, size_t n, uint64_t prime)
{
    uint64_t sum = 0;
    for (size_t j = 0; j < n; j++) {
        const uint64_t reduced = (uint64_t)((int64_t)row[j] + ((int64_t)prime << 1)) % prime;
        sum = (sum + reduced * x[j]) % prime;
    }
    return (uint32_t)sum;
}

/* Freivalds (1979): A (B x) = C x for a random x. A wrong C passes with probability 2^-31. */
static int check(const struct db_context *context, char *why, size_t why_bytes)
{
    const uint64_t prime = (UINT64_C(1) << 31) - 1;
    const struct matmul *m = context->memory;
    const size_t n = context->size;
    uint32_t x[MAX_SIZE], bx[MAX_SIZE];
    uint64_t random = m->random;
    for (size_t i = 0; i < n; i++)
        x[i] = (uint32_t)(db_random(&random) % prime);
    for (size_t i = 0; i < n; i++)
        bx[i] = row_times(m->elements + (n + i) * n, x, n, prime);
    for (size_t i = 0; i < n; i++) {
        const uint32_t abx = row_times(m->elements + i * n, bx, n, prime);
        const uint32_t cx = row_times(m->elements + (2 * n + i) * n, x, n, prime);
        if (abx != cx) {
            snprintf(why, why_bytes, "row %zu of the product is wrong (Freivalds)", i);
            return 1;
        }
    }
    return 0;
}

const struct db_fragment db_fragment_matmul = {
    .name = "matmul",
    .kind = DB_NS,
    .context_bytes = context_bytes,
    .setup = setup,
    .run = run,
    .check = check,
};
