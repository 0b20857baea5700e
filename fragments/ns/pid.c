/*+++
 * name = "pid"
 * kind = "NS"
 * summary = "PID controller (filtered derivative, anti-windup) around a first-order plant"
 * resource_class = "compute-float"
 * sizes = [16, 64, 256, 1024, 4096, 16384]
 * size_unit = "control steps"
 * quick = [16]
 * requires = []
 * modes = ["default"]
 * origin = "own; Astrom and Hagglund, PID Controllers, 1995, chapter 3"
 * tacle = ""
 * licence = "Apache-2.0"
 +++*/
#include <math.h>
#include <stdio.h>

#include "deadbeat/fragment.h"

/* Gains per step; the closed loop is stable with every pole well inside the unit circle. */
#define KP 2.5
#define KI 0.1
#define KD 0.8
#define KT 0.5 /* back calculation: how fast saturation unwinds the integral */
#define FILTER 0.4
#define OUTPUT_MAX 4.0 /* reached whenever the setpoint changes sign */
#define PLANT_LAG 0.1

struct loop {
    double integral;
    double derivative;
    double measured; /* the previous measurement */
    double plant;
    uint64_t random; /* state of the noise generator */
};

struct state {
    struct loop now;
    struct loop before; /* where the last run began: check() runs it again */
};

static double clamp(double value, double limit)
{
    return value > limit ? limit : value < -limit ? -limit : value;
}

/* A number in [-1, 1) of 24 bits, exact in a double. */
static double signed_unit(uint64_t word)
{
    return (double)((int64_t)word >> 40) * (1.0 / 8388608.0);
}

/* The derivative acts on the measurement, so that a jump of the setpoint does not kick the output. */
static double controller_step(struct loop *loop, double setpoint, double measured)
{
    double error = setpoint - measured;
    loop->derivative += FILTER * (KD * (loop->measured - measured) - loop->derivative);
    loop->measured = measured;
    double wanted = KP * error + loop->integral + loop->derivative;
    double output = clamp(wanted, OUTPUT_MAX);
    loop->integral += KI * error + KT * (output - wanted);
    return output;
}

static double draw_setpoint(struct loop *loop)
{
    double unit = signed_unit(db_random(&loop->random));
    return unit < 0 ? unit - 1.0 : unit + 1.0; /* away from zero: nothing decays to a denormal */
}

static size_t context_bytes(uint32_t size)
{
    (void)size;
    return sizeof(struct state);
}

static int setup(struct db_context *context)
{
    struct state *state = context->memory;
    state->now = (struct loop){.random = db_seed_state(context->seed)};
    state->before = state->now;
    return 0;
}

static void run(struct db_context *context)
{
    struct state *state = context->memory;
    state->before = state->now;
    struct loop loop = state->now;
    double setpoint = draw_setpoint(&loop);
    for (uint32_t step = 0; step < context->size; step++) {
        double noise = 0.01 * signed_unit(db_random(&loop.random));
        double output = controller_step(&loop, setpoint, loop.plant + noise);
        loop.plant += PLANT_LAG * (output - loop.plant);
    }
    state->now = loop;
}

/* The slow twin: the last run again in long double, from the equations rather than updates in place. */
static void run_reference(const struct loop *before, uint32_t steps, long double *plant,
                          long double *integral)
{
    struct loop source = *before;
    long double y = before->plant, previous = before->measured, sum = before->integral,
                d = before->derivative;
    double setpoint = draw_setpoint(&source);
    for (uint32_t step = 0; step < steps; step++) {
        long double measured = y + 0.01L * signed_unit(db_random(&source.random));
        long double error = setpoint - measured;
        d = (1 - (long double)FILTER) * d - (long double)FILTER * KD * (measured - previous);
        previous = measured;
        long double wanted = KP * error + sum + d;
        long double output = wanted > OUTPUT_MAX ? OUTPUT_MAX : wanted < -OUTPUT_MAX ? -OUTPUT_MAX : wanted;
        sum = sum + KI * error - KT * (wanted - output);
        y = (1 - (long double)PLANT_LAG) * y + (long double)PLANT_LAG * output;
    }
    *plant = y;
    *integral = sum;
}

/* What integral action is for: a constant setpoint is reached exactly, whatever the plant's gain, and
 * also after saturation. */
static double settled_error(void)
{
    struct loop loop = {0};
    for (uint32_t step = 0; step < 2000; step++)
        loop.plant += PLANT_LAG * (0.7 * controller_step(&loop, 2.0, loop.plant) - loop.plant);
    return fabs(2.0 - loop.plant);
}

static int check(const struct db_context *context, char *why, size_t why_bytes)
{
    const struct state *state = context->memory;
    if (state->now.random == state->before.random) {
        snprintf(why, why_bytes, "the last run took no step");
        return 1;
    }
    long double plant, integral;
    run_reference(&state->before, context->size, &plant, &integral);
    /* Rounding differs by about 1e-16 a step and the stable loop forgets it; NaN fails too. */
    if (!(fabsl(plant - state->now.plant) < 1e-9L && fabsl(integral - state->now.integral) < 1e-9L)) {
        snprintf(why, why_bytes, "plant %.12f, integral %.12f; in long double %.12Lf, %.12Lf",
                 state->now.plant, state->now.integral, plant, integral);
        return 1;
    }
    double error = settled_error();
    if (!(error < 1e-6)) {
        snprintf(why, why_bytes, "a constant setpoint is missed by %g after 2000 steps", error);
        return 1;
    }
    return 0;
}

extern const struct db_fragment db_fragment_pid;
const struct db_fragment db_fragment_pid = {
    .name = "pid",
    .kind = DB_NS,
    .context_bytes = context_bytes,
    .setup = setup,
    .run = run,
    .check = check,
};
