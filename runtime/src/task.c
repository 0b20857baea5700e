/* A task's life: set up, run its jobs in each slot it belongs to, prove that the work was done. */
#include "run.h"

#include <stdio.h>
#include <string.h>

struct resolved_use {
    void (*run)(struct db_context *context);
    struct db_context *context;
    uint32_t repeats;
};

/* What the job loop touches, in one place, private to the task. */
struct worker {
    struct run *run;
    const struct db_task *task;
    struct task_state *state;
    uint32_t index;
    struct db_context *contexts;
    struct resolved_use *uses;
    int usage;
    struct db_usage before, after;
    int64_t inject_ns;  /* extra work of the slot's jobs: of every inject_every-th */
    uint32_t jobs;      /* run so far */
    int64_t finish_ns;  /* of the last job */
    int64_t witness_ns; /* sum of the slot's */
    uint32_t witnesses;
    const struct task_thread *thread;
};

static size_t contexts_bytes(const struct db_task *task)
{
    return round_up(task->context_count * sizeof(struct db_context), DB_CACHE_LINE);
}

static size_t uses_bytes(const struct db_task *task)
{
    return round_up(task->use_count * sizeof(struct resolved_use), DB_CACHE_LINE);
}

size_t task_memory_bytes(const struct db_task *task)
{
    size_t bytes = round_up(sizeof(struct worker), DB_CACHE_LINE) + contexts_bytes(task) + uses_bytes(task);
    for (uint32_t i = 0; i < task->context_count; i++)
        bytes += context_bytes(task->contexts[i].fragment, task->contexts[i].size);
    /* A page between tasks: no false sharing, no shared prefetch stream. */
    return round_up(bytes, 4096) + 4096;
}

static bool set_up(struct worker *w, unsigned char *memory)
{
    const struct db_task *task = w->task;
    w->contexts = (struct db_context *)memory;
    memory += contexts_bytes(task);
    w->uses = (struct resolved_use *)memory;
    memory += uses_bytes(task);
    for (uint32_t i = 0; i < task->context_count; i++) {
        const struct db_context_spec *spec = &task->contexts[i];
        struct db_resource *resource =
            spec->resource == DB_NO_RESOURCE ? NULL : &w->run->resources[spec->resource];
        int error = context_setup(&w->contexts[i], memory, spec->size, task->seed + i, resource,
                                  w->state->participants[i], spec->fragment);
        if (error) {
            fail_errno(&w->run->meeting->failure, spec->fragment->name, error);
            return false;
        }
        memory += context_bytes(spec->fragment, spec->size);
    }
    for (uint32_t i = 0; i < task->use_count; i++) {
        const struct db_use *use = &task->uses[i];
        w->uses[i].run = task->contexts[use->context].fragment->run;
        w->uses[i].context = &w->contexts[use->context];
        w->uses[i].repeats = use->repeats;
    }
    return true;
}

static void check_work(struct worker *w)
{
    char why[120];
    for (uint32_t i = 0; i < w->task->context_count; i++) {
        const struct db_fragment *fragment = w->task->contexts[i].fragment;
        if (w->state->record_count && fragment->check && fragment->check(&w->contexts[i], why, sizeof why)) {
            char text[DB_REASON_BYTES];
            snprintf(text, sizeof text, "the work of %s/%u is not right: %s", fragment->name,
                     w->contexts[i].size, why);
            fail_with(&w->run->meeting->failure, "check", text);
        }
        if (fragment->teardown)
            fragment->teardown(&w->contexts[i]);
    }
}

static void work(const struct worker *w)
{
    for (const struct resolved_use *use = w->uses, *end = use + w->task->use_count; use < end; use++)
        repeat(use->run, use->context, use->repeats);
}

/* The same with the clock read between the uses. */
static void timed_work(const struct worker *w, int64_t start)
{
    int64_t *at = w->thread->clock->at_ns;
    *at = start;
    for (const struct resolved_use *use = w->uses, *end = use + w->task->use_count; use < end; use++) {
        repeat(use->run, use->context, use->repeats);
        *++at = port_now_ns();
    }
}

/* More work, not more time: what disturbs the job disturbs that too. */
static void inject(struct worker *w)
{
    if (w->inject_ns && w->jobs++ % w->run->options->inject.delay_every == 0)
        compute_for(w->inject_ns);
}

/* Released and due while the same tasks run: where none is ever alone, that is the whole table. */
static bool is_counted(const struct worker *w, const struct slot *slot, int64_t release)
{
    int64_t at = release - *w->run->base_ns;
    int64_t end = w->run->options->solo ? slot->end_ns : table_end_ns(w->run);
    return at >= slot->start_ns && at + w->state->deadline_ns <= end;
}

static struct db_job_record *new_record(struct worker *w, const struct slot *slot, int64_t release)
{
    struct task_state *state = w->state;
    struct db_job_record *record = &state->records[state->record_count];
    if (state->record_count + 1 < state->record_capacity)
        state->record_count++;
    else
        fail_with(&w->run->meeting->failure, "records", "a task had more releases than were planned for");
    record->release_ns = release - w->run->epoch_ns;
    record->start_ns = DB_NEVER;
    record->finish_ns = DB_NEVER;
    record->task = (uint16_t)w->index;
    record->slot = (uint16_t)(slot - w->run->slots);
    record->flags = slot->kind == DB_SLOT_SOLO ? DB_JOB_SOLO : 0;
    record->flags |= is_counted(w, slot, release) ? DB_JOB_COUNTED : 0;
    return record;
}

static void note_usage(const struct worker *w, struct db_job_record *record, const struct db_usage *idle_from)
{
    record->cpu_ns = w->after.cpu_ns - w->before.cpu_ns;
    record->run_delay_before_ns = w->before.run_delay_ns - idle_from->run_delay_ns;
    record->run_delay_within_ns = w->after.run_delay_ns - w->before.run_delay_ns;
    record->voluntary_switches = w->after.voluntary - w->before.voluntary;
    record->involuntary_switches = w->after.involuntary - w->before.involuntary;
    record->flags |= DB_JOB_SPLIT;
}

/* One job; returns its finishing time. The clock is read once before and once after the work. */
static int64_t run_job(struct worker *w, struct db_job_record *record)
{
    struct db_usage idle_from = w->after;
    if (w->usage >= 0)
        port_usage(w->usage, &w->before, 0);
    int64_t start = port_now_ns();
    work(w);
    inject(w);
    int64_t finish = port_now_ns();
    if (w->usage >= 0) {
        port_usage(w->usage, &w->after, 1);
        note_usage(w, record, &idle_from);
    }
    record->start_ns = start - w->run->epoch_ns;
    record->finish_ns = finish - w->run->epoch_ns;
    record->flags |= DB_JOB_STARTED | DB_JOB_FINISHED;
    return finish;
}

/* The same with its uses timed and its detail filled. */
static int64_t run_timed_job(struct worker *w, struct db_job_record *record)
{
    struct db_job_detail *detail = &w->state->details[record - w->state->records];
    struct db_usage idle_from = w->after;
    detail->start_cpu = (uint16_t)port_current_cpu();
    port_usage(w->usage, &w->before, 0);
    int64_t start = port_now_ns();
    timed_work(w, start);
    inject(w);
    int64_t finish = port_now_ns();
    port_usage(w->usage, &w->after, 1);
    note_usage(w, record, &idle_from);
    detail->finish_cpu = (uint16_t)port_current_cpu();
    record->start_ns = start - w->run->epoch_ns;
    record->finish_ns = finish - w->run->epoch_ns;
    record->flags |= DB_JOB_STARTED | DB_JOB_FINISHED;
    use_clock_judge(w->thread->clock, record, detail, w->run->epoch_ns);
    return finish;
}

/* The first release of the one grid of the run that lies in the slot. */
static int64_t first_release(const struct worker *w, const struct slot *slot)
{
    int64_t period = w->state->period_ns, since = slot->begin_ns - w->state->offset_ns;
    int64_t before = since > 0 ? (since + period - 1) / period : 0;
    return *w->run->base_ns + w->state->offset_ns + before * period;
}

/* After a counted job: what the host, a sibling or the clock takes from pure computation there. */
static void witness(struct worker *w, const struct db_job_record *record)
{
    if (record->flags & DB_JOB_COUNTED) {
        w->witness_ns += witness_ns();
        w->witnesses++;
    }
}

static void begin_slot(struct worker *w, const struct slot *slot)
{
    const struct injection *inject = &w->run->options->inject;
    bool delayed = slot->kind == DB_SLOT_TOGETHER && inject->delay_task == (int32_t)w->index;
    w->inject_ns = delayed ? inject->delay_ns : 0;
    w->witness_ns = w->witnesses = 0;
    if (w->thread->counters)
        counters_begin(w->thread->counters);
    /* a wait for the core before the slot is none of a job's */
    if (w->usage >= 0)
        port_usage(w->usage, &w->after, 1);
}

static void end_slot(struct worker *w, uint32_t number)
{
    if (w->thread->counters)
        counters_end(w->thread->counters, &w->state->counts[number]);
    if (w->witnesses)
        w->state->witness_ps[number] = (uint64_t)w->witness_ns * 1000 / w->witnesses;
}

/* Every release of the slot leaves a record: run, skipped, or (late) never started. A job of the
 * slot before may still run then: what it overlaps is left out by who reads the records. */
static void run_slot(struct worker *w, const struct slot *slot)
{
    const int64_t end = *w->run->base_ns + slot->end_ns, give_up = end + w->run->longest_deadline_ns;
    const bool late = w->run->options->late, timed = w->thread->clock != NULL;
    for (int64_t release = first_release(w, slot); release < end; release += w->state->period_ns) {
        struct db_job_record *record = new_record(w, slot, release);
        if (!late && release < w->finish_ns) {
            record->flags |= DB_JOB_SKIPPED;
            continue;
        }
        if (late && port_now_ns() > give_up)
            continue;
        port_sleep_until_ns(release);
        w->finish_ns = timed ? run_timed_job(w, record) : run_job(w, record);
        witness(w, record);
    }
}

/* The timetable needs no coordinator: who has nothing to do in a slot sleeps through it. */
static void run_table(struct worker *w)
{
    const struct run *run = w->run;
    for (uint32_t s = 0; s < run->slot_count; s++)
        if (takes_part(&run->slots[s], w->index)) {
            begin_slot(w, &run->slots[s]);
            run_slot(w, &run->slots[s]);
            end_slot(w, s);
        }
    /* the coordinator is above all tasks: it must not wake while others still run theirs */
    port_sleep_until_ns(*run->base_ns + table_end_ns(run));
}

static bool read_back(struct worker *w)
{
    const struct options *o = w->run->options;
    struct task_state *state = w->state;
    int cpu = o->cpus[w->task->core];
    int error = port_get_placement(&state->policy, &state->priority, &state->cpu);
    int wanted = o->policy == DB_POLICY_FIFO ? w->task->priority : 0;
    if (error)
        fail_errno(&w->run->meeting->failure, "placement of a task could not be read back", error);
    else if ((state->policy != 0) != (o->policy == DB_POLICY_FIFO) || state->priority != wanted ||
             state->cpu != cpu)
        fail_with(&w->run->meeting->failure, "placement",
                  "policy, priority or CPU read back differs from what was set");
    else
        return true;
    return false;
}

static enum signal next_signal(struct worker *w, enum signal last)
{
    atomic_uint *signal = &w->run->meeting->signal;
    while (atomic_load(signal) == last)
        port_wait(signal, last, -1);
    return atomic_load(signal);
}

static void live(struct worker *w)
{
    if (next_signal(w, SIGNAL_WAIT) == SIGNAL_RUN) {
        run_table(w);
        say_done(w->run->meeting);
        next_signal(w, SIGNAL_RUN);
    }
}

static bool open_accounts(struct worker *w)
{
    if (w->thread->counters)
        counters_open(w->thread->counters);
    if (!w->run->options->split)
        return true;
    int error = port_usage_open(&w->usage);
    if (error)
        fail_errno(&w->run->meeting->failure, "the scheduler's accounts of a thread", error);
    else
        port_usage(w->usage, &w->after, 1);
    return error == 0;
}

static void close_accounts(struct worker *w)
{
    if (w->thread->counters)
        counters_close(w->thread->counters);
    if (w->usage >= 0)
        port_usage_close(w->usage);
}

void *task_main(void *argument)
{
    struct task_thread *thread = argument;
    struct worker *w = (struct worker *)thread->memory;
    w->run = thread->run;
    w->task = thread->task;
    w->index = thread->index;
    w->thread = thread;
    w->state = &thread->run->tasks[thread->index];
    w->state->thread = port_thread_number();
    w->usage = -1;
    name_thread("t", w->index);
    if (w->run->options->policy == DB_POLICY_OTHER)
        port_minimal_timer_slack();
    bool ready = read_back(w) && set_up(w, thread->memory + round_up(sizeof *w, DB_CACHE_LINE));
    bool opened = ready && open_accounts(w);
    say_done(w->run->meeting);
    if (opened) {
        live(w);
        if (w->run->options->inject.move_task >= 0)
            read_back(w); /* it was moved, and must be where it was */
        check_work(w);
    }
    if (ready)
        close_accounts(w);
    say_done(w->run->meeting);
    return NULL;
}

/* --- what recording a job costs --------------------------------------------------------------- */

#define INSTRUMENTED_JOBS 20000
#define INSTRUMENTED_BATCH 100
#define INSTRUMENTED_USES 16

/* The job loop around next to no work: fastest batch, ps a job. */
static int64_t empty_job_ps(struct worker *w, const struct slot *slot)
{
    int64_t best = INT64_MAX;
    const bool timed = w->thread->clock != NULL;
    for (int done = 0; done < INSTRUMENTED_JOBS; done += INSTRUMENTED_BATCH) {
        w->state->record_count = 0;
        int64_t start = port_now_ns();
        for (int i = 0; i < INSTRUMENTED_BATCH; i++) {
            struct db_job_record *record = new_record(w, slot, start);
            (void)(timed ? run_timed_job(w, record) : run_job(w, record));
        }
        int64_t took = port_now_ns() - start;
        best = took < best ? took : best;
    }
    return best * 1000 / INSTRUMENTED_BATCH;
}

static void no_work(struct db_context *context)
{
    (void)context;
}

static size_t no_bytes(uint32_t size)
{
    (void)size;
    return 0;
}

/* A task of uses that do nothing. */
static const struct db_fragment nothing = {.name = "nothing", .context_bytes = no_bytes, .run = no_work};
static const struct db_context_spec nothing_context = {.fragment = &nothing, .resource = DB_NO_RESOURCE};
static const struct db_use nothing_uses[INSTRUMENTED_USES];

struct instrumented {
    struct db_job_record records[INSTRUMENTED_BATCH + 1];
    struct db_job_detail details[INSTRUMENTED_BATCH + 1];
    struct resolved_use uses[INSTRUMENTED_USES];
    struct db_task task;
    struct task_state state;
    struct slot slot;
    int64_t base_ns;
    struct task_thread thread;
    struct run run;
    struct worker worker;
};

static bool instrument(struct instrumented *n)
{
    struct worker *w = &n->worker;
    int64_t plain = empty_job_ps(w, &n->slot);
    int error = port_usage_open(&w->usage);
    if (error) {
        printf("error instrument %s\n", strerror(error));
        return false;
    }
    int64_t split = empty_job_ps(w, &n->slot);
    n->task.use_count = INSTRUMENTED_USES;
    n->thread.clock = use_clock_new(&n->task, false);
    if (!n->thread.clock)
        return false;
    n->task.use_count = n->thread.clock->count = 0;
    int64_t causes = empty_job_ps(w, &n->slot);
    n->task.use_count = n->thread.clock->count = INSTRUMENTED_USES;
    printf("instrument plain_ps %lld split_ps %lld causes_ps %lld use_ps %lld\n", (long long)plain,
           (long long)split, (long long)causes,
           (long long)((empty_job_ps(w, &n->slot) - causes) / INSTRUMENTED_USES));
    port_usage_close(w->usage);
    return true;
}

int measure_instrumentation(const struct options *o)
{
    static struct instrumented n;
    struct failure failure = {0};
    n.task = (struct db_task){.contexts = &nothing_context, .uses = nothing_uses};
    n.state = (struct task_state){.deadline_ns = DB_MILLISECOND,
                                  .records = n.records,
                                  .details = n.details,
                                  .record_capacity = INSTRUMENTED_BATCH + 1};
    n.slot = (struct slot){.kind = DB_SLOT_TOGETHER};
    n.run = (struct run){.options = o, .slots = &n.slot, .slot_count = 1, .base_ns = &n.base_ns};
    n.worker = (struct worker){
        .run = &n.run, .task = &n.task, .state = &n.state, .thread = &n.thread, .uses = n.uses, .usage = -1};
    for (int i = 0; i < INSTRUMENTED_USES; i++)
        n.uses[i] = (struct resolved_use){.run = no_work, .repeats = 1};
    guard_allow(60000 * DB_MILLISECOND);
    if (!place_agent(o, o->cpus[0], &failure, 60000 * DB_MILLISECOND)) {
        printf("error instrument %s\n", failure.reason);
        return 1;
    }
    bool ok = instrument(&n);
    fflush(stdout);
    return ok ? 0 : 1;
}
