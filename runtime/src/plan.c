/* Plan and memory of a run, and its result file. */
#include "run.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A solo window holds at least so many jobs, however short the asked time. */
#define SOLO_JOBS 20
/* Windows are numbered in 16 bits, and so is the boundary after the last one. */
#define MAX_WINDOWS UINT16_MAX

static int64_t longest_period(const struct db_task_set *set)
{
    uint64_t longest = 0;
    for (uint32_t i = 0; i < set->task_count; i++)
        longest = set->tasks[i].period_ns > longest ? set->tasks[i].period_ns : longest;
    return (int64_t)longest;
}

static int64_t solo_length(const struct db_task_set *set, const struct options *o, uint32_t task,
                           uint32_t rounds)
{
    int64_t share = o->solo_ns / set->task_count / rounds;
    int64_t least = SOLO_JOBS * (int64_t)set->tasks[task].period_ns / rounds;
    return share > least ? share : least;
}

static uint32_t solo_rounds(const struct options *o)
{
    if (o->solo_ns == 0)
        return 0;
    return o->windows > 1 ? o->windows - 1 : 1;
}

bool run_possible(const struct db_task_set *set, const struct options *o, char *reason)
{
    uint64_t planned = o->windows + (uint64_t)solo_rounds(o) * set->task_count;
    uint64_t windows = planned + o->extra_windows;
    /* an upper bound, in floating point: it must not overflow before it is judged */
    double asked = (double)o->seconds_ns + (double)o->solo_ns;
    double besides = ((double)o->warmup + SOLO_JOBS) * (double)longest_period(set);
    double sum = asked + (double)planned * besides + o->extra_windows * (asked + besides);
    if (windows > MAX_WINDOWS)
        snprintf(
            reason, DB_REASON_BYTES,
            "the run would take %llu windows, solo ones of each task included; at most %d: ask for fewer",
            (unsigned long long)windows, MAX_WINDOWS);
    else if (sum > (double)DB_LONGEST_NS)
        snprintf(
            reason, DB_REASON_BYTES,
            "the run could take %.3g s; at most %.3g: shorter or fewer windows, or fewer jobs of warm-up",
            sum / 1e9, (double)DB_LONGEST_NS / 1e9);
    else
        return true;
    return false;
}

/* together, every task solo, together, ... : solo and together see the same states of the host. */
static void plan_windows(struct run *run)
{
    const struct db_task_set *set = run->set;
    const struct options *o = run->options;
    uint32_t rounds = solo_rounds(o), n = 0;
    for (uint32_t slice = 0; slice < o->windows; slice++) {
        run->plan[n++] = (struct window){.kind = DB_WINDOW_TOGETHER,
                                         .task = UINT16_MAX,
                                         .length_ns = o->seconds_ns / o->windows,
                                         .warmup_ns = o->warmup * longest_period(set)};
        for (uint32_t i = 0; slice < rounds && i < set->task_count; i++) {
            uint32_t task = (i + slice) % set->task_count;
            run->plan[n++] = (struct window){.kind = DB_WINDOW_SOLO,
                                             .task = task,
                                             .length_ns = solo_length(set, o, task, rounds),
                                             .warmup_ns = o->warmup * (int64_t)set->tasks[task].period_ns};
        }
    }
    run->plan_count = n;
}

static bool takes_part(const struct window *window, uint32_t task)
{
    return window->kind == DB_WINDOW_TOGETHER || window->task == task;
}

static uint64_t releases_in(const struct window *window, int64_t period)
{
    return (uint64_t)((window->length_ns + window->warmup_ns) / period) + 3;
}

static uint64_t record_capacity(const struct run *run, uint32_t task)
{
    uint64_t count = 1, most = 0; /* one to spare: the loop needs no special case at the end */
    for (uint32_t w = 0; w < run->plan_count; w++) {
        const struct window *window = &run->plan[w];
        uint64_t releases = releases_in(window, (int64_t)run->set->tasks[task].period_ns);
        if (!takes_part(window, task))
            continue;
        count += releases;
        most = releases > most ? releases : most;
    }
    return count + run->options->extra_windows * most;
}

static bool core_counted(const struct run *run, uint32_t resource, uint32_t task)
{
    const struct db_task *tasks = run->set->tasks;
    for (uint32_t e = 0; e < task; e++)
        for (uint32_t c = 0; c < tasks[e].context_count; c++)
            if (tasks[e].contexts[c].resource == resource && tasks[e].core == tasks[task].core)
                return true;
    return false;
}

/* A task is one participant of an object, however many of its contexts use it. */
static void add_user(struct run *run, uint32_t r, uint32_t task)
{
    struct db_resource *resource = &run->resources[r];
    const struct db_task *t = &run->set->tasks[task];
    bool uses = false;
    for (uint32_t c = 0; c < t->context_count; c++) {
        if (t->contexts[c].resource != r)
            continue;
        uses = true;
        run->tasks[task].participants[c] = resource->participants;
        if (t->contexts[c].size > resource->max_size)
            resource->max_size = t->contexts[c].size;
    }
    if (uses) {
        resource->cores += !core_counted(run, r, task);
        resource->participants++;
    }
}

static void count_users(struct run *run)
{
    for (uint32_t r = 0; r < run->set->resource_count; r++)
        for (uint32_t t = 0; t < run->set->task_count; t++)
            add_user(run, r, t);
}

/* Takes bytes from the arena, or only counts them while there is none yet. */
static void *take(unsigned char *arena, size_t *used, size_t bytes)
{
    void *place = arena ? arena + *used : NULL;
    *used += round_up(bytes, DB_CACHE_LINE);
    return place;
}

static size_t lay_out_fixed(struct run *run, unsigned char *arena)
{
    const struct db_task_set *set = run->set;
    size_t used = 0;
    uint32_t windows = run->options->windows + solo_rounds(run->options) * set->task_count;
    run->meeting = take(arena, &used, sizeof *run->meeting);
    run->agents = take(arena, &used, set->cores * sizeof *run->agents);
    run->tasks = take(arena, &used, set->task_count * sizeof *run->tasks);
    run->resources = take(arena, &used, (set->resource_count + 1u) * sizeof *run->resources);
    run->plan = take(arena, &used, windows * sizeof *run->plan);
    windows += run->options->extra_windows;
    run->windows = take(arena, &used, windows * sizeof *run->windows);
    /* at each boundary at most two sets of probes: a yardstick a core, a line a pair of neighbours;
     * in each window a witness a task */
    size_t probes = (windows + 1) * 4 * set->cores + windows * set->task_count;
    run->probes = take(arena, &used, probes * sizeof *run->probes);
    for (uint32_t t = 0; t < set->task_count; t++) {
        void *numbers = take(arena, &used, (set->tasks[t].context_count + 1u) * sizeof(uint32_t));
        if (arena)
            run->tasks[t].participants = numbers;
    }
    return used;
}

/* Only where they were asked for: the arena of a plain run stays as it is. */
static size_t lay_out_extras(struct run *run, unsigned char *arena, size_t used)
{
    const struct options *o = run->options;
    uint32_t windows = run->plan_count + o->extra_windows;
    for (uint32_t t = 0; t < run->set->task_count; t++) {
        struct task_state *state = &run->tasks[t];
        struct db_job_detail *details =
            o->causes ? take(arena, &used, state->record_capacity * sizeof *details) : NULL;
        struct window_counts *counts = o->counters ? take(arena, &used, windows * sizeof *counts) : NULL;
        if (!arena)
            continue;
        state->details = details;
        state->counts = counts;
        for (uint64_t i = 0; details && i < state->record_capacity; i++)
            details[i].worst_use = DB_NO_USE;
    }
    return used;
}

static size_t lay_out_records(struct run *run, unsigned char *arena, size_t used)
{
    for (uint32_t t = 0; t < run->set->task_count; t++) {
        uint64_t capacity = record_capacity(run, t);
        run->tasks[t].record_capacity = capacity;
        struct db_job_record *records = take(arena, &used, capacity * sizeof *records);
        if (arena)
            run->tasks[t].records = records;
    }
    return lay_out_extras(run, arena, used);
}

/* Three times what it should take, and a margin: who needs longer is stuck. */
static int64_t bound_ns(const struct run *run)
{
    int64_t planned = 0, longest = 0;
    for (uint32_t w = 0; w < run->plan_count; w++) {
        int64_t length = run->plan[w].length_ns + run->plan[w].warmup_ns;
        planned += length;
        longest = length > longest ? length : longest;
    }
    return 3000 * DB_MILLISECOND + 3 * (planned + run->options->extra_windows * longest) +
           run->options->wait_ns;
}

bool run_prepare(struct run *run, const struct db_task_set *set, const struct options *options)
{
    memset(run, 0, sizeof *run);
    run->set = set;
    run->options = options;
    size_t fixed = lay_out_fixed(run, NULL);
    /* A first, small arena to plan in; the records' size follows from the plan. */
    void *draft = port_map(fixed, 1);
    if (!draft)
        return false;
    lay_out_fixed(run, draft);
    plan_windows(run);
    run->arena_bytes = lay_out_records(run, NULL, fixed);
    port_unmap(draft, fixed);
    run->arena = port_map(run->arena_bytes, 1);
    if (!run->arena)
        return false;
    lay_out_fixed(run, run->arena);
    plan_windows(run);
    lay_out_records(run, run->arena, fixed);
    count_users(run);
    run->bound_ns = bound_ns(run);
    for (uint32_t t = 0; t < set->task_count; t++)
        if ((int64_t)set->tasks[t].deadline_ns > run->longest_deadline_ns)
            run->longest_deadline_ns = (int64_t)set->tasks[t].deadline_ns;
    return true;
}

void run_release(struct run *run)
{
    port_unmap(run->arena, run->arena_bytes);
    run->arena = NULL;
}

/* --- result file --------------------------------------------------------------------------------- */

static uint32_t counter_rows(const struct run *run)
{
    uint32_t count = 0;
    for (uint32_t t = 0; run->options->counters && t < run->set->task_count; t++)
        for (uint32_t w = 0; w < run->window_count; w++)
            count += run->tasks[t].counts[w].taken ? DB_COUNT_EVENTS : 0;
    return count;
}

static void put_header(struct writer *writer, const struct run *run, uint64_t jobs, uint64_t measured_ns)
{
    const struct options *o = run->options;
    struct db_file_header header = {
        .version = DB_RECORDS_VERSION,
        .header_bytes = sizeof(struct db_file_header),
        .task_bytes = sizeof(struct db_task_row),
        .window_bytes = sizeof(struct db_window_row),
        .probe_bytes = sizeof(struct db_probe_row),
        .record_bytes = sizeof(struct db_job_record),
        .detail_bytes = sizeof(struct db_job_detail),
        .counter_bytes = sizeof(struct db_counter_row),
        .task_count = run->set->task_count,
        .window_count = run->window_count,
        .probe_count = run->probe_count,
        .flags = (o->policy == DB_POLICY_FIFO ? DB_RUN_REALTIME : 0) | (o->split ? DB_RUN_SPLIT : 0) |
                 (o->one_process ? DB_RUN_ONE_PROCESS : 0) | (o->late ? DB_RUN_LATE : 0) |
                 (o->private_ipc ? DB_RUN_PRIVATE_IPC : 0) | (o->memory_locked ? DB_RUN_LOCKED : 0),
        .job_count = jobs,
        .epoch_ns = run->epoch_ns,
        .epoch_realtime_ns = run->epoch_realtime_ns,
        .clock_cost_ps = run->clock_cost_ps,
        .measured_ns = measured_ns,
        .setup_ns = (uint64_t)run->setup_ns,
        .waited_ns = run->waited_ns,
        .detail_count = o->causes ? jobs : 0,
        .counter_count = counter_rows(run),
    };
    memcpy(header.magic, DB_RECORDS_MAGIC, sizeof header.magic);
    memcpy(header.set_id, run->set->id, sizeof header.set_id);
    writer_put(writer, &header, sizeof header);
}

static void put_tasks(struct writer *writer, const struct run *run)
{
    uint64_t first = 0;
    for (uint32_t t = 0; t < run->set->task_count; t++) {
        const struct db_task *task = &run->set->tasks[t];
        const struct task_state *state = &run->tasks[t];
        struct db_task_row row = {.task = (uint16_t)t,
                                  .core = task->core,
                                  .cpu = state->cpu,
                                  .policy = state->policy,
                                  .priority = state->priority,
                                  .wcet_ns = task->wcet_ns,
                                  .period_ns = task->period_ns,
                                  .deadline_ns = task->deadline_ns,
                                  .offset_ns = task->offset_ns,
                                  .first_job = first,
                                  .job_count = state->record_count};
        writer_put(writer, &row, sizeof row);
        first += state->record_count;
    }
}

static void put_windows(struct writer *writer, const struct run *run)
{
    for (uint32_t w = 0; w < run->window_count; w++) {
        const struct window *window = &run->windows[w];
        struct db_window_row row = {.window = (uint16_t)w,
                                    .kind = (uint16_t)window->kind,
                                    .task = (uint16_t)window->task,
                                    .flags = window->off ? DB_WINDOW_OFF : 0,
                                    .start_ns = window->start_ns - run->epoch_ns,
                                    .end_ns = window->end_ns - run->epoch_ns};
        writer_put(writer, &row, sizeof row);
    }
}

static void put_counters(struct writer *writer, const struct run *run, uint32_t task, uint32_t window)
{
    const struct window_counts *counts = &run->tasks[task].counts[window];
    for (uint32_t event = 0; counts->taken && event < DB_COUNT_EVENTS; event++) {
        struct db_counter_row row = {.task = (uint16_t)task,
                                     .window = (uint16_t)window,
                                     .event = (uint16_t)event,
                                     .status = counts->status[event],
                                     .value = counts->counts[event].value,
                                     .enabled_ns = counts->counts[event].enabled_ns,
                                     .running_ns = counts->counts[event].running_ns};
        writer_put(writer, &row, sizeof row);
    }
}

static void put_extras(struct writer *writer, const struct run *run)
{
    for (uint32_t t = 0; run->options->causes && t < run->set->task_count; t++)
        writer_put(writer, run->tasks[t].details, run->tasks[t].record_count * sizeof(struct db_job_detail));
    for (uint32_t t = 0; run->options->counters && t < run->set->task_count; t++)
        for (uint32_t w = 0; w < run->window_count; w++)
            put_counters(writer, run, t, w);
}

int run_write(const struct run *run, const char *path, uint64_t *measured_ns)
{
    char part[4096];
    struct writer writer;
    uint64_t jobs = 0;
    *measured_ns = 0;
    for (uint32_t t = 0; t < run->set->task_count; t++)
        jobs += run->tasks[t].record_count;
    for (uint32_t w = 0; w < run->window_count; w++)
        *measured_ns += (uint64_t)run->windows[w].length_ns;
    if ((size_t)snprintf(part, sizeof part, "%s.part", path) >= sizeof part)
        return ENAMETOOLONG;
    int error = writer_open(&writer, part);
    if (error)
        return error;
    put_header(&writer, run, jobs, *measured_ns);
    put_tasks(&writer, run);
    put_windows(&writer, run);
    writer_put(&writer, run->probes, run->probe_count * sizeof *run->probes);
    for (uint32_t t = 0; t < run->set->task_count; t++)
        writer_put(&writer, run->tasks[t].records, run->tasks[t].record_count * sizeof(struct db_job_record));
    put_extras(&writer, run);
    return writer_close(&writer, part, path);
}
