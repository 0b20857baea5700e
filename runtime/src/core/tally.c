/* What a run showed, as lines for a reader. */
#include "run.h"

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

static void print_task(const struct run *run, uint32_t task, void (*say)(const char *))
{
    const struct db_task *t = &run->set->tasks[task];
    struct tally tally = tally_of(run, task);
    char line[DB_REASON_BYTES], spans[40] = "        -            -";
    if (tally.finished)
        db_text(spans, sizeof spans, "%9.3f %12.1f",
                (double)tally.span_ns / (double)tally.finished / (double)t->wcet_ns,
                (double)tally.longest_response_ns / 1000);
    db_text(line, sizeof line, "%4u %4u %4d %8llu %8llu %s %10.1f %10.1f %10.1f", task, t->core,
            run->tasks[task].cpu, (unsigned long long)tally.jobs, (unsigned long long)tally.missed, spans,
            (double)t->wcet_ns / 1000, (double)t->period_ns / 1000, (double)t->deadline_ns / 1000);
    say(line);
}

void print_run(const struct run *run, uint32_t index, void (*say)(const char *line))
{
    char line[DB_REASON_BYTES];
    int64_t together_ns = 0;
    uint64_t ran = 0;
    for (uint32_t t = 0; t < run->set->task_count; t++)
        for (uint64_t i = 0; i < run->tasks[t].record_count; i++)
            ran += (run->tasks[t].records[i].flags & DB_JOB_STARTED) != 0;
    for (uint32_t s = 0; s < run->slot_count; s++) {
        const struct slot *slot = &run->slots[s];
        together_ns += slot->kind == DB_SLOT_TOGETHER ? slot->end_ns - slot->start_ns : 0;
    }
    db_text(line, sizeof line, "task set %u of %u (%.12s), %u cores, %.3f s together, %s, %llu jobs ran",
            index, db_task_set_count, run->set->id, run->set->cores, (double)together_ns / 1e9,
            run->options.policy == DB_POLICY_FIFO ? "SCHED_FIFO" : "SCHED_OTHER: not real-time",
            (unsigned long long)ran);
    say(line);
    say("task core  cpu     jobs   missed    span/C  longest [us]     C [us]     T [us]     D [us]");
    for (uint32_t t = 0; t < run->set->task_count; t++)
        print_task(run, t, say);
}
