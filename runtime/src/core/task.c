/* A task's life: set up, run its jobs in each slot it belongs to, prove that the work was done. */
#include "run.h"

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
            db_text(text, sizeof text, "the work of %s/%u is not right: %s", fragment->name,
                    w->contexts[i].size, why);
            fail_with(&w->run->meeting->failure, "check", text);
        }
        if (fragment->teardown)
            fragment->teardown(&w->contexts[i]);
    }
}

void task_work(const struct worker *w)
{
    for (const struct resolved_use *use = w->uses, *end = use + w->task->use_count; use < end; use++)
        repeat(use->run, use->context, use->repeats);
}

/* Released and due while the same tasks run: where none is ever alone, that is the whole table. */
static bool is_counted(const struct worker *w, const struct slot *slot, int64_t release)
{
    int64_t at = release - *w->run->base_ns;
    int64_t end = w->run->options.solo ? slot->end_ns : table_end_ns(w->run);
    return at >= slot->start_ns && at + w->state->deadline_ns <= end;
}

struct db_job_record *task_new_record(struct worker *w, const struct slot *slot, int64_t release)
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

void note_job(const struct worker *w, struct db_job_record *record, int64_t start, int64_t finish)
{
    record->start_ns = start - w->run->epoch_ns;
    record->finish_ns = finish - w->run->epoch_ns;
    record->flags |= DB_JOB_STARTED | DB_JOB_FINISHED;
}

/* The clock is read once before and once after the work. */
int64_t task_run_job(struct worker *w, struct db_job_record *record)
{
    int64_t start = port_now_ns();
    task_work(w);
    int64_t finish = port_now_ns();
    note_job(w, record, start, finish);
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
    w->witness_ns = w->witnesses = 0;
    if (w->run->extras && w->run->extras->begin_slot)
        w->run->extras->begin_slot(w, slot);
}

static void end_slot(struct worker *w, uint32_t number)
{
    if (w->run->extras && w->run->extras->end_slot)
        w->run->extras->end_slot(w, number);
    if (w->witnesses)
        w->state->witness_ps[number] = (uint64_t)w->witness_ns * 1000 / w->witnesses;
}

/* Every release of the slot leaves a record: run, skipped, or (late) never started. A job of the
 * slot before may still run then: what it overlaps is left out by who reads the records. */
static void run_slot(struct worker *w, const struct slot *slot)
{
    const int64_t end = *w->run->base_ns + slot->end_ns, give_up = end + w->run->longest_deadline_ns;
    const bool late = w->run->options.late;
    int64_t (*job)(struct worker *, struct db_job_record *) =
        w->run->extras && w->run->extras->run_job ? w->run->extras->run_job : task_run_job;
    for (int64_t release = first_release(w, slot); release < end; release += w->state->period_ns) {
        struct db_job_record *record = task_new_record(w, slot, release);
        if (!late && release < w->finish_ns) {
            record->flags |= DB_JOB_SKIPPED;
            continue;
        }
        if (late && port_now_ns() > give_up)
            continue;
        port_sleep_until_ns(release);
        w->finish_ns = job(w, record);
        witness(w, record);
    }
}

/* The timetable needs no coordinator: who has nothing to do in a slot sleeps through it. */
static void live_table(struct worker *w)
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
    const struct run_options *o = &w->run->options;
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
        live_table(w);
        say_done(w->run->meeting);
        next_signal(w, SIGNAL_RUN);
    }
}

void *task_main(void *argument)
{
    struct task_thread *thread = argument;
    struct worker *w = (struct worker *)thread->memory;
    const struct task_extras *extras = thread->run->extras;
    w->run = thread->run;
    w->task = thread->task;
    w->index = thread->index;
    w->extra = thread->extra;
    w->state = &thread->run->tasks[thread->index];
    bool ready = read_back(w) && set_up(w, thread->memory + round_up(sizeof *w, DB_CACHE_LINE));
    bool opened = ready && (!extras || !extras->open || extras->open(w));
    say_done(w->run->meeting);
    if (opened) {
        live(w);
        read_back(w); /* it may have been moved, and must be where it was */
        check_work(w);
    }
    if (ready && extras && extras->close)
        extras->close(w);
    say_done(w->run->meeting);
    return NULL;
}
