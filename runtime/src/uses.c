/*
 * How long the uses of a job took, beside what they usually take. A computing use neither blocks nor
 * waits; what makes it longer is preemption (in run_delay), the memory it shares with other cores,
 * caches and predictors that somebody emptied, or a host that stood still. Only what the others
 * cannot explain is suspected to be the last; docs/explanation/how-it-measures.md.
 */
#include "run.h"

/* Interrupts and the way into and out of the scheduler. */
#define LEAST_EXCESS_NS (10 * INT64_C(1000))
/* A use that fits has its memory to itself; a busy sibling of the core still doubles its time. */
#define PRIVATE_CACHE_BYTES (32 * 1024)
#define PRIVATE_FACTOR 1
/* Memory that other cores load as well: three times the usual was seen. */
#define SHARED_FACTOR 2
/* Fetching one line again from memory, one after the other. */
#define LINE_REFILL_NS 100
/* Uses before the usual time is known well enough to judge by. */
#define LEARNING_JOBS 8
/* Step of the running median, a part of it: doubles or halves within some 40 jobs. */
#define MEDIAN_STEP 64

struct use_clock *use_clock_new(const struct db_task *task)
{
    struct use_clock *clock = port_map(sizeof *clock, 0);
    if (!clock)
        return NULL;
    clock->count = task->use_count;
    clock->times = port_map((task->use_count + 1u) * sizeof *clock->times, 0);
    clock->at_ns = port_map((task->use_count + 1u) * sizeof *clock->at_ns, 0);
    if (!clock->times || !clock->at_ns)
        return NULL;
    for (uint32_t i = 0; i < task->use_count; i++) {
        const struct db_context_spec *context = &task->contexts[task->uses[i].context];
        int64_t bytes = (int64_t)context_bytes(context->fragment, context->size);
        int64_t refill = bytes / DB_CACHE_LINE * LINE_REFILL_NS;
        clock->times[i].least_ns = refill > LEAST_EXCESS_NS ? refill : LEAST_EXCESS_NS;
        clock->times[i].factor = bytes > PRIVATE_CACHE_BYTES ? SHARED_FACTOR : PRIVATE_FACTOR;
        clock->times[i].synchronises = context->fragment->kind == DB_SY;
    }
    return clock;
}

/* The fastest of the first jobs, then a median that moves by a small step a job: a stall cannot
 * move it far, a state of the host that lasts does. */
static void learn(struct use_time *use, int64_t took_ns)
{
    int64_t step = use->usual_ns / MEDIAN_STEP + 1;
    if (use->seen++ == 0 || (use->seen <= LEARNING_JOBS && took_ns < use->usual_ns))
        use->usual_ns = took_ns;
    else if (took_ns > use->usual_ns)
        use->usual_ns += step;
    else if (took_ns < use->usual_ns)
        use->usual_ns -= step;
}

/* The excess of a use from which on it counts. */
static int64_t bar_ns(const struct use_time *use)
{
    int64_t multiple = (int64_t)use->factor * use->usual_ns;
    return multiple > use->least_ns ? multiple : use->least_ns;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

void use_clock_judge(struct use_clock *clock, const struct db_job_record *record,
                     struct db_job_detail *detail, int64_t epoch_ns)
{
    int64_t suspected = 0, bar = 0;
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
            bar = bar_ns(use) > bar ? bar_ns(use) : bar;
        }
        learn(use, took);
    }
    /* what remains after the wait for the core must itself be more than memory can explain */
    suspected -= record->run_delay_within_ns;
    if (suspected > bar)
        detail->stall_ns = least(suspected, least(record->cpu_ns, record->finish_ns - record->start_ns -
                                                                      record->run_delay_within_ns));
    if (detail->stall_ns < 0)
        detail->stall_ns = 0;
}
