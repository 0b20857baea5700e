/* What a host adds to a task's life: its name, the scheduler's accounts, perf events, the times of its uses,
 * and work injected on purpose. */
#include "host_run.h"

#include <string.h>

static struct host_task *mine(const struct worker *w)
{
    return w->extra;
}

static bool start(struct task_thread *thread)
{
    const struct options *o = host_of(thread->run)->options;
    struct host_task *task = thread->extra = port_map(sizeof *task, 0);
    if (!task)
        return false;
    task->usage = -1;
    if (o->causes)
        task->clock = use_clock_new(thread->task, o->solo);
    if (o->counters)
        task->counters = port_map(sizeof *task->counters, 0);
    return (task->clock || !o->causes) && (task->counters || !o->counters);
}

static void name_and_number(struct worker *w)
{
    w->state->thread = port_thread_number();
    name_thread("t", w->index);
    if (w->run->options.policy == DB_POLICY_OTHER)
        port_minimal_timer_slack();
}

static bool open_accounts(struct worker *w)
{
    struct host_task *task = mine(w);
    name_and_number(w);
    if (task->counters)
        counters_open(task->counters);
    int error = port_usage_open(&task->usage);
    bool needed = error && host_of(w->run)->options->split;
    if (needed)
        fail_errno(&w->run->meeting->failure, "the scheduler's accounts of a thread", error);
    if (!error)
        port_usage(task->usage, &task->after, 1);
    return !needed;
}

static void close_accounts(struct worker *w)
{
    struct host_task *task = mine(w);
    if (task->counters)
        counters_close(task->counters);
    if (task->usage >= 0)
        port_usage_close(task->usage);
}

static void begin_slot(struct worker *w, const struct slot *slot)
{
    struct host_task *task = mine(w);
    const struct injection *inject = &host_of(w->run)->options->inject;
    bool delayed = slot->kind == DB_SLOT_TOGETHER && inject->delay_task == (int32_t)w->index;
    task->inject_ns = delayed ? inject->delay_ns : 0;
    if (task->counters)
        counters_begin(task->counters);
    /* a wait for the core before the slot is none of a job's */
    if (task->usage >= 0)
        port_usage(task->usage, &task->after, 1);
}

static void end_slot(struct worker *w, uint32_t slot)
{
    struct task_state *state = w->state;
    if (mine(w)->counters) {
        counters_end(mine(w)->counters, w->index, slot, &state->counters[state->counter_count]);
        state->counter_count += DB_COUNT_EVENTS;
    }
}

/* --- jobs ---------------------------------------------------------------------------------------------- */

/* More work, not more time: what disturbs the job disturbs that too. */
static void inject(struct worker *w)
{
    struct host_task *task = mine(w);
    if (task->inject_ns && task->jobs++ % host_of(w->run)->options->inject.delay_every == 0)
        compute_for(task->inject_ns);
}

static void note_usage(const struct host_task *task, struct db_job_record *record,
                       const struct db_usage *idle_from)
{
    record->cpu_ns = task->after.cpu_ns - task->before.cpu_ns;
    record->run_delay_before_ns = task->before.run_delay_ns - idle_from->run_delay_ns;
    record->run_delay_within_ns = task->after.run_delay_ns - task->before.run_delay_ns;
    record->voluntary_switches = task->after.voluntary - task->before.voluntary;
    record->involuntary_switches = task->after.involuntary - task->before.involuntary;
    record->flags |= DB_JOB_SPLIT;
}

/* As task_run_job(), between two looks at the scheduler's accounts. */
int64_t run_accounted_job(struct worker *w, struct db_job_record *record)
{
    struct host_task *task = mine(w);
    struct db_usage idle_from = task->after;
    if (task->usage >= 0)
        port_usage(task->usage, &task->before, 0);
    int64_t start_ns = port_now_ns();
    task_work(w);
    inject(w);
    int64_t finish_ns = port_now_ns();
    if (task->usage >= 0) {
        port_usage(task->usage, &task->after, 1);
        note_usage(task, record, &idle_from);
    }
    note_job(w, record, start_ns, finish_ns);
    return finish_ns;
}

/* As task_work(), with the clock read between the uses. */
static void timed_work(const struct worker *w, int64_t start_ns)
{
    int64_t *at = mine(w)->clock->at_ns;
    *at = start_ns;
    for (const struct resolved_use *use = w->uses, *end = use + w->task->use_count; use < end; use++) {
        repeat(use->run, use->context, use->repeats);
        *++at = port_now_ns();
    }
}

/* The same with its uses timed and its detail filled. */
int64_t run_timed_job(struct worker *w, struct db_job_record *record)
{
    struct host_task *task = mine(w);
    struct db_job_detail *detail = &w->state->details[record - w->state->records];
    struct db_usage idle_from = task->after;
    detail->start_cpu = (uint16_t)port_current_cpu();
    port_usage(task->usage, &task->before, 0);
    int64_t start_ns = port_now_ns();
    timed_work(w, start_ns);
    inject(w);
    int64_t finish_ns = port_now_ns();
    port_usage(task->usage, &task->after, 1);
    note_usage(task, record, &idle_from);
    detail->finish_cpu = (uint16_t)port_current_cpu();
    note_job(w, record, start_ns, finish_ns);
    use_clock_judge(task->clock, record, detail, w->run->epoch_ns);
    return finish_ns;
}

const struct task_extras *extras_for(const struct options *o)
{
    static const struct task_extras accounted = {.start = start,
                                                 .open = open_accounts,
                                                 .begin_slot = begin_slot,
                                                 .run_job = run_accounted_job,
                                                 .end_slot = end_slot,
                                                 .close = close_accounts};
    static const struct task_extras timed = {.start = start,
                                             .open = open_accounts,
                                             .begin_slot = begin_slot,
                                             .run_job = run_timed_job,
                                             .end_slot = end_slot,
                                             .close = close_accounts};
    return o->causes ? &timed : &accounted;
}
