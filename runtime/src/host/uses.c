/*
 * How long the uses of a job took, beside what they usually take. A computing use neither blocks nor
 * waits; what makes it longer is preemption (in run_delay), the memory it shares with other cores,
 * caches and predictors that somebody emptied, or a host that stood still. Only what the others
 * cannot explain is suspected to be the last; docs/explanation/how-it-measures.md.
 */
#include "host_run.h"

/* Interrupts, the way into and out of the scheduler, and code and tables that were evicted: 512 lines
 * of a private cache at LINE_REFILL_NS. */
#define LEAST_EXCESS_NS (50 * INT64_C(1000))
/* A use that fits has its memory to itself; a busy sibling of the core still doubles its time. */
#define PRIVATE_CACHE_BYTES (32 * 1024)
#define PRIVATE_FACTOR 1
/* Memory that other cores load as well: three times the usual was seen. */
#define SHARED_FACTOR 2
/* Fetching one line again from memory, one after the other; and how many times as long as from a
 * private cache, where a use does not touch all of its memory. */
#define LINE_REFILL_NS 100
#define REFILL_FACTOR 25
/* A job that waited longer for its core tells nothing of what is usual. */
#define CALM_NS (10 * INT64_C(1000))
/* Uses before the usual time is known well enough to judge by. */
#define LEARNING_JOBS 8
/* The running median never moves by more than this part of itself a job. */
#define LARGEST_STEP 32

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

struct use_clock *use_clock_new(const struct db_task *task, bool has_solo)
{
    struct use_clock *clock = port_map(sizeof *clock, 0);
    if (!clock)
        return NULL;
    clock->count = task->use_count;
    clock->has_solo = has_solo;
    clock->times = port_map((task->use_count + 1u) * sizeof *clock->times, 0);
    clock->at_ns = port_map((task->use_count + 1u) * sizeof *clock->at_ns, 0);
    if (!clock->times || !clock->at_ns)
        return NULL;
    for (uint32_t i = 0; i < task->use_count; i++) {
        const struct db_context_spec *context = &task->contexts[task->uses[i].context];
        int64_t bytes = (int64_t)context_bytes(context->fragment, context->size);
        clock->times[i].refill_ns = bytes / DB_LINE_OF_DATA * LINE_REFILL_NS;
        clock->times[i].factor = bytes > PRIVATE_CACHE_BYTES ? SHARED_FACTOR : PRIVATE_FACTOR;
        clock->times[i].synchronises = context->fragment->kind == DB_SY;
    }
    return clock;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The fastest of the first jobs, then a running median: it moves by one step towards each use, and
 * the step halves when it has to turn round and grows while it has not. So one stall moves it by one
 * small step, and a state of the host that lasts is learnt within some 40 jobs. */
static void learn(struct use_time *use, int64_t took_ns)
{
    bool up = took_ns > use->usual_ns;
    if (use->seen++ == 0 || (use->seen <= LEARNING_JOBS && !up)) {
        use->usual_ns = took_ns;
        return;
    }
    use->step_ns = up == use->up
                       ? least(use->step_ns + use->step_ns / 4 + 1, use->usual_ns / LARGEST_STEP + 1)
                       : use->step_ns / 2 + 1;
    use->up = up;
    if (took_ns != use->usual_ns)
        use->usual_ns += up ? use->step_ns : -use->step_ns;
}

/* What was learnt beside other tasks only served until there was better. */
static void forget(struct use_clock *clock)
{
    clock->alone = true;
    for (uint32_t i = 0; i < clock->count; i++)
        clock->times[i].seen = 0;
}

/* The excess of a use from which on it counts. */
static int64_t bar_ns(const struct use_time *use)
{
    int64_t multiple = use->factor * use->usual_ns;
    int64_t refill = least(use->refill_ns, REFILL_FACTOR * use->usual_ns);
    return most(most(multiple, refill), LEAST_EXCESS_NS);
}

void use_clock_judge(struct use_clock *clock, const struct db_job_record *record,
                     struct db_job_detail *detail, int64_t epoch_ns)
{
    int64_t suspected = 0, bar = 0;
    bool calm = record->run_delay_within_ns < CALM_NS;
    bool alone = record->flags & DB_JOB_SOLO || !clock->has_solo;
    if (alone && !clock->alone)
        forget(clock);
    for (uint32_t i = 0; i < clock->count; i++) {
        struct use_time *use = &clock->times[i];
        int64_t took = clock->at_ns[i + 1] - clock->at_ns[i], excess = took - use->usual_ns;
        bool known = use->seen >= LEARNING_JOBS;
        if (known && excess > detail->worst_use_ns) {
            detail->worst_use_ns = excess;
            detail->worst_use_start_ns = clock->at_ns[i] - epoch_ns;
            detail->worst_use = (uint16_t)(i < DB_NO_USE ? i : DB_NO_USE - 1);
            detail->flags = use->synchronises ? DB_DETAIL_SY : 0;
        }
        if (known && !use->synchronises && excess > bar_ns(use)) {
            suspected += excess;
            bar = most(bar, bar_ns(use));
        }
        if (calm && (alone || (!known && !clock->alone)))
            learn(use, took);
    }
    /* what remains after the wait for the core must itself be more than memory can explain */
    suspected -= record->run_delay_within_ns;
    int64_t had = record->finish_ns - record->start_ns - record->run_delay_within_ns;
    if (suspected > bar && had > 0)
        detail->stall_ns = least(suspected, had);
}
