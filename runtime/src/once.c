/*
 * One task set on its own, for a reader, or under perf:  perf stat ./batch-000.elf once --set 7
 * Guardian, bound, lock and placement are those of a measurement; there is no host behind it that
 * keeps a store, and no slot alone unless it is asked for (--solo 1).
 */
#include "run.h"

#include <inttypes.h>
#include <stdio.h>

void once_defaults(struct options *o)
{
    o->solo = false;
    o->seconds_ns = 1000 * DB_MILLISECOND;
    o->lock_wait_ns = 10000 * DB_MILLISECOND;
    o->cpu_count = (uint32_t)port_usable_cpus(o->cpus, DB_MAX_CORES);
}

bool once_possible(const struct options *o)
{
    if (o->set_index < db_task_set_count)
        return true;
    fprintf(stderr, "no task set %u in this program: it has %u\n", o->set_index, db_task_set_count);
    return false;
}

/* Of the counted jobs of slots together. */
struct tally {
    uint64_t jobs, finished, missed;
    int64_t span_ns, longest_response_ns;
};

static struct tally tally_of(const struct run *run, uint32_t task)
{
    struct tally tally = {0};
    const struct task_state *state = &run->tasks[task];
    for (uint64_t i = 0; i < state->record_count; i++) {
        const struct db_job_record *job = &state->records[i];
        if ((job->flags & (DB_JOB_COUNTED | DB_JOB_SOLO)) != DB_JOB_COUNTED)
            continue;
        bool finished = job->flags & DB_JOB_FINISHED;
        int64_t response = job->finish_ns - job->release_ns;
        tally.jobs++;
        tally.finished += finished;
        tally.missed += !finished || response > (int64_t)run->set->tasks[task].deadline_ns;
        tally.span_ns += finished ? job->finish_ns - job->start_ns : 0;
        if (finished && response > tally.longest_response_ns)
            tally.longest_response_ns = response;
    }
    return tally;
}

static void print_task(const struct run *run, uint32_t task)
{
    const struct db_task *t = &run->set->tasks[task];
    struct tally tally = tally_of(run, task);
    printf("%4u %4u %4d %8" PRIu64 " %8" PRIu64, task, t->core, run->tasks[task].cpu, tally.jobs,
           tally.missed);
    if (tally.finished)
        printf(" %9.3f %12.1f", (double)tally.span_ns / (double)tally.finished / (double)t->wcet_ns,
               (double)tally.longest_response_ns / 1000);
    else
        printf(" %9s %12s", "-", "-");
    printf(" %10.1f %10.1f %10.1f\n", (double)t->wcet_ns / 1000, (double)t->period_ns / 1000,
           (double)t->deadline_ns / 1000);
}

void run_print(const struct run *run, uint32_t index)
{
    const struct options *o = run->options;
    int64_t measured = 0;
    for (uint32_t s = 0; s < run->slot_count; s++) {
        const struct slot *slot = &run->slots[s];
        measured += slot->kind == DB_SLOT_TOGETHER ? slot->end_ns - slot->start_ns : 0;
    }
    printf("task set %u of %u (%.12s), %u cores, %.3f s together, %s\n", index, db_task_set_count,
           run->set->id, run->set->cores, (double)measured / 1e9,
           o->policy == DB_POLICY_FIFO ? "SCHED_FIFO" : "SCHED_OTHER: not real-time");
    printf("task core  cpu     jobs   missed    span/C  longest [us]     C [us]     T [us]     D [us]\n");
    for (uint32_t t = 0; t < run->set->task_count; t++)
        print_task(run, t);
}

int run_once(const struct options *options)
{
    char reason[DB_REASON_BYTES];
    uint64_t measured_ns = 0;
    bool ok = run_set(options->set_index, UNSCALED_PPM, options, NULL, reason, &measured_ns);
    guard_allow(-1);
    if (!ok)
        printf("task set %u failed: %s\n", options->set_index, reason);
    fflush(stdout);
    return ok ? 0 : 1;
}
