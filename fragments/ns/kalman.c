/*+++
 * name = "kalman"
 * kind = "NS"
 * summary = "Kalman filter with four states and two measurements: a target tracked in the plane"
 * resource_class = "compute-float"
 * sizes = [4, 16, 64, 256, 1024, 4096]
 * size_unit = "predict and update steps"
 * quick = [4]
 * requires = []
 * modes = ["default"]
 * origin = "own; Kalman 1960, constant-velocity model as in Bar-Shalom et al., 2001, chapter 6"
 * tacle = ""
 * licence = "Apache-2.0"
 +++*/
#include <math.h>
#include <stdio.h>

#include "deadbeat/fragment.h"

#define STATES 4 /* position and velocity of axis 0, then of axis 1 */
#define STEP 0.1
#define PROCESS_NOISE 1.0
#define SENSOR_VARIANCE 0.08
#define SENSOR_COVARIANCE 0.02 /* the axes are coupled: no entry stays at zero */

struct filter {
    double estimate[STATES];
    double covariance[STATES][STATES];
    double target[STATES]; /* the truth that is measured */
    uint64_t random;
};

struct state {
    struct filter now;
    struct filter before; /* where the last run began: check() runs it again */
};

/* A number in [-1, 1) of 24 bits, exact in a double. */
static double signed_unit(uint64_t word)
{
    return (double)((int64_t)word >> 40) * (1.0 / 8388608.0);
}

/* A damped spring pushed at random: the target never leaves a bounded region. */
static void move_target(struct filter *filter)
{
    for (uint32_t i = 0; i < STATES; i += 2) {
        double push = signed_unit(db_random(&filter->random));
        filter->target[i + 1] += STEP * (push - 0.5 * filter->target[i] - 0.2 * filter->target[i + 1]);
        filter->target[i] += STEP * filter->target[i + 1];
    }
}

static void measure(struct filter *filter, double measured[2])
{
    uint64_t word = db_random(&filter->random);
    measured[0] = filter->target[0] + 0.5 * signed_unit(word);
    measured[1] = filter->target[2] + 0.5 * signed_unit(word << 24);
}

/* x = F x and P = F P F' + Q, where F only adds STEP times a velocity to its position. */
static void predict(double x[STATES], double p[STATES][STATES])
{
    for (uint32_t i = 0; i < STATES; i += 2) {
        x[i] += STEP * x[i + 1];
        for (uint32_t j = 0; j < STATES; j++)
            p[i][j] += STEP * p[i + 1][j];
    }
    for (uint32_t i = 0; i < STATES; i++)
        for (uint32_t j = 0; j < STATES; j += 2)
            p[i][j] += STEP * p[i][j + 1];
    for (uint32_t i = 0; i < STATES; i += 2) {
        p[i][i] += PROCESS_NOISE * STEP * STEP * STEP * STEP / 4;
        p[i][i + 1] += PROCESS_NOISE * STEP * STEP * STEP / 2;
        p[i + 1][i] += PROCESS_NOISE * STEP * STEP * STEP / 2;
        p[i + 1][i + 1] += PROCESS_NOISE * STEP * STEP;
    }
}

/* x += K (z - H x) and P -= K H P, where H selects the two positions. */
static void update(double x[STATES], double p[STATES][STATES], const double measured[2])
{
    double s00 = p[0][0] + SENSOR_VARIANCE, s11 = p[2][2] + SENSOR_VARIANCE,
           s01 = p[0][2] + SENSOR_COVARIANCE;
    double scale = 1.0 / (s00 * s11 - s01 * s01);
    double innovation[2] = {measured[0] - x[0], measured[1] - x[2]};
    double gain[STATES][2], row[2][STATES];
    for (uint32_t i = 0; i < STATES; i++) {
        row[0][i] = p[0][i];
        row[1][i] = p[2][i];
        gain[i][0] = scale * (p[i][0] * s11 - p[i][2] * s01);
        gain[i][1] = scale * (p[i][2] * s00 - p[i][0] * s01);
    }
    for (uint32_t i = 0; i < STATES; i++) {
        x[i] += gain[i][0] * innovation[0] + gain[i][1] * innovation[1];
        for (uint32_t j = i; j < STATES; j++) {
            /* One triangle is computed and mirrored: rounding cannot make P asymmetric. */
            p[i][j] -= gain[i][0] * row[0][j] + gain[i][1] * row[1][j];
            p[j][i] = p[i][j];
        }
    }
}

static size_t context_bytes(uint32_t size)
{
    (void)size;
    return sizeof(struct state);
}

static int setup(struct db_context *context)
{
    struct state *state = context->memory;
    struct filter filter = {.random = db_seed_state(context->seed)};
    for (uint32_t i = 0; i < STATES; i++) {
        filter.covariance[i][i] = 1.0;
        filter.target[i] = signed_unit(db_random(&filter.random));
    }
    state->now = filter;
    state->before = filter;
    return 0;
}

static void run(struct db_context *context)
{
    struct state *state = context->memory;
    state->before = state->now;
    struct filter *filter = &state->now;
    for (uint32_t step = 0; step < context->size; step++) {
        double measured[2];
        move_target(filter);
        measure(filter, measured);
        predict(filter->estimate, filter->covariance);
        update(filter->estimate, filter->covariance, measured);
    }
}

static void multiply(double a[STATES][STATES], double b[STATES][STATES], int transpose_b,
                     double product[STATES][STATES])
{
    for (uint32_t i = 0; i < STATES; i++)
        for (uint32_t j = 0; j < STATES; j++) {
            product[i][j] = 0;
            for (uint32_t k = 0; k < STATES; k++)
                product[i][j] += a[i][k] * (transpose_b ? b[j][k] : b[k][j]);
        }
}

/* The slow twin of predict(): full matrix products. */
static void predict_reference(double x[STATES], double p[STATES][STATES])
{
    const double a = STEP * STEP / 2, b = STEP; /* a push of one step enters position and velocity so */
    double f[STATES][STATES] = {{1, STEP, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, STEP}, {0, 0, 0, 1}};
    double q[STATES][STATES] = {
        {a * a, a * b, 0, 0}, {a * b, b * b, 0, 0}, {0, 0, a * a, a * b}, {0, 0, a * b, b * b}};
    double fp[STATES][STATES], next[STATES] = {0};
    multiply(f, p, 0, fp);
    multiply(fp, f, 1, p);
    for (uint32_t i = 0; i < STATES; i++)
        for (uint32_t j = 0; j < STATES; j++) {
            p[i][j] += PROCESS_NOISE * q[i][j];
            next[i] += f[i][j] * x[j];
        }
    for (uint32_t i = 0; i < STATES; i++)
        x[i] = next[i];
}

/* The slow twin of update(): gain by Cramer's rule, covariance in Joseph's form (I-KH)P(I-KH)' + KRK'. */
static void update_reference(double x[STATES], double p[STATES][STATES], const double measured[2])
{
    const double r[2][2] = {{SENSOR_VARIANCE, SENSOR_COVARIANCE}, {SENSOR_COVARIANCE, SENSOR_VARIANCE}};
    double s[2][2], gain[STATES][2], keep[STATES][STATES] = {{0}}, half[STATES][STATES], next[STATES];
    for (uint32_t i = 0; i < 2; i++)
        for (uint32_t j = 0; j < 2; j++)
            s[i][j] = p[2 * i][2 * j] + r[i][j];
    double determinant = s[0][0] * s[1][1] - s[0][1] * s[1][0];
    for (uint32_t i = 0; i < STATES; i++) {
        gain[i][0] = (p[i][0] * s[1][1] - p[i][2] * s[1][0]) / determinant;
        gain[i][1] = (p[i][2] * s[0][0] - p[i][0] * s[0][1]) / determinant;
        next[i] = x[i] + gain[i][0] * (measured[0] - x[0]) + gain[i][1] * (measured[1] - x[2]);
        keep[i][i] = 1;
        keep[i][0] -= gain[i][0];
        keep[i][2] -= gain[i][1];
    }
    multiply(keep, p, 0, half);
    multiply(half, keep, 1, p);
    for (uint32_t i = 0; i < STATES; i++) {
        x[i] = next[i];
        for (uint32_t j = 0; j < STATES; j++)
            for (uint32_t k = 0; k < 2; k++)
                p[i][j] += gain[i][k] * (r[k][0] * gain[j][0] + r[k][1] * gain[j][1]);
    }
}

static double total_difference(const struct filter *a, const struct filter *b)
{
    double sum = 0; /* a sum keeps a NaN, a maximum loses it */
    for (uint32_t i = 0; i < STATES; i++) {
        sum += fabs(a->estimate[i] - b->estimate[i]);
        for (uint32_t j = 0; j < STATES; j++)
            sum += fabs(a->covariance[i][j] - b->covariance[i][j]);
    }
    return sum;
}

static int check(const struct db_context *context, char *why, size_t why_bytes)
{
    const struct state *state = context->memory;
    struct filter reference = state->before;
    for (uint32_t step = 0; step < context->size; step++) {
        double measured[2];
        move_target(&reference);
        measure(&reference, measured);
        predict_reference(reference.estimate, reference.covariance);
        update_reference(reference.estimate, reference.covariance, measured);
    }
    if (reference.random != state->now.random) {
        snprintf(why, why_bytes, "the last run did not take %u steps", context->size);
        return 1;
    }
    double difference = total_difference(&reference, &state->now);
    if (!(difference < 1e-9)) {
        snprintf(why, why_bytes, "differs by %g from full matrix products in Joseph's form", difference);
        return 1;
    }
    /* Noise and target are bounded, and so is the error of a stable filter: 0.71 at most in 3e7 steps. */
    for (uint32_t i = 0; i < STATES; i += 2) {
        double error = fabs(state->now.estimate[i] - state->now.target[i]);
        if (!(error < 2.0)) {
            snprintf(why, why_bytes, "the target is lost: position off by %g", error);
            return 1;
        }
    }
    return 0;
}

extern const struct db_fragment db_fragment_kalman;
const struct db_fragment db_fragment_kalman = {
    .name = "kalman",
    .kind = DB_NS,
    .context_bytes = context_bytes,
    .setup = setup,
    .run = run,
    .check = check,
};
