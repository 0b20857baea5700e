/*
 * Calibration: what an entry costs at first use and at every repeat, at task cadence, in the process
 * layout of the runs. One core is visited at a time while all others sleep; visits go round robin
 * over the cores, so that every entry meets every state of the host.
 */
#include "runtime.h"

#include "deadbeat/samples.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MAX_ENTRIES 1024
#define GROUP_NS (300 * INT64_C(1000)) /* a visit is as long as a task's job */
#define GROUP_MAX 24
#define BLOCK_NS (10 * INT64_C(1000)) /* time of the repeats measured together */
#define MEASURED_VISITS 4             /* of a group, after one that warms it up */
#define PARALLEL_ROUNDS 15
#define LINE_ROUNDS 40
#define PARALLEL_BLOCK_NS (100 * INT64_C(1000))
#define QUICK_YARDSTICK_LOOPS 2
#define CALIBRATION_PRIORITY 70

struct entry {
    const struct db_fragment *fragment;
    uint32_t size;
    uint32_t resource; /* SY: index into a core's resources */
    uint32_t participant;
};

/* What one core's process owns and does. */
struct bench_core {
    alignas(DB_CACHE_LINE) atomic_uint generation;
    uint32_t command;
    uint32_t entry;   /* of a parallel block */
    uint32_t rounds;  /* how often the core was visited */
    int64_t start_ns; /* of a parallel block */
    int64_t block_ns; /* its result */
    struct db_resource *resources;
    struct db_entry_row *state;    /* [entry_count] */
    struct db_sample_row *samples; /* [sample_capacity] */
    uint64_t sample_count;
    uint64_t sample_capacity;
};

enum bench_command { BENCH_STOP, BENCH_VISIT, BENCH_BLOCK, BENCH_PING, BENCH_PONG };

struct bench {
    const struct options *options;
    struct rendezvous *meeting;
    struct bench_core *cores;
    struct entry *entries;
    uint32_t entry_count;
    uint32_t resource_count;
    int64_t clock_ps;
    int64_t bound_ns;
};

/* Private to a core's thread. */
struct bench_worker {
    struct bench *bench;
    struct bench_core *core;
    uint32_t index;
    struct db_context *contexts;
    uint16_t *order; /* entries in the order of this pass */
    uint32_t position;
    uint32_t passes;
    uint64_t random;
    unsigned char *scrub;
    uint64_t thread;
};

/* --- reading the plan -------------------------------------------------------------------------- */

static bool read_entries(struct bench *b, char *reason)
{
    char name[64];
    unsigned size;
    FILE *file = fopen(b->options->entries ? b->options->entries : "", "r");
    if (!file) {
        snprintf(reason, DB_REASON_BYTES, "the list of entries cannot be read: %s", strerror(errno));
        return false;
    }
    while (b->entry_count < MAX_ENTRIES && fscanf(file, "%63s %u", name, &size) == 2) {
        struct entry *entry = &b->entries[b->entry_count];
        entry->fragment = find_fragment(name);
        entry->size = size;
        if (!entry->fragment) {
            snprintf(reason, DB_REASON_BYTES, "no fragment %s in this program", name);
            fclose(file);
            return false;
        }
        b->entry_count++;
    }
    fclose(file);
    return true;
}

/* One object a core and class, as a task set has it. */
static void number_resources(struct bench *b)
{
    for (uint32_t i = 0; i < b->entry_count; i++) {
        struct entry *entry = &b->entries[i];
        if (entry->fragment->kind != DB_SY)
            continue;
        uint32_t earlier = 0, users = 0;
        for (uint32_t k = 0; k < i; k++)
            if (b->entries[k].fragment == entry->fragment) {
                earlier = b->entries[k].resource + 1;
                users++;
            }
        entry->resource = earlier ? earlier - 1 : b->resource_count++;
        entry->participant = users;
    }
}

static uint32_t users_of(const struct bench *b, uint32_t resource, uint32_t *max_size)
{
    uint32_t users = 0;
    for (uint32_t i = 0; i < b->entry_count; i++)
        if (b->entries[i].fragment->kind == DB_SY && b->entries[i].resource == resource) {
            users++;
            *max_size = b->entries[i].size > *max_size ? b->entries[i].size : *max_size;
        }
    return users;
}

static const struct db_fragment *class_of(const struct bench *b, uint32_t resource)
{
    for (uint32_t i = 0; i < b->entry_count; i++)
        if (b->entries[i].fragment->kind == DB_SY && b->entries[i].resource == resource)
            return b->entries[i].fragment;
    return NULL;
}

/* --- objects ----------------------------------------------------------------------------------------- */

/* An object that cannot be made refuses its entries on that core; it does not end the calibration. */
static void make_object(struct bench *b, uint32_t core, uint32_t resource)
{
    struct db_resource *r = &b->cores[core].resources[resource];
    const struct db_fragment *fragment = class_of(b, resource);
    r->participants = users_of(b, resource, &r->max_size);
    r->cores = 1;
    size_t bytes = fragment->shared_bytes ? fragment->shared_bytes(r->participants, r->max_size) : 0;
    void *shared = port_map(round_up(bytes + DB_CACHE_LINE, 4096), 1);
    int error = shared ? resource_create(r, fragment, shared, b->options) : ENOMEM;
    for (uint32_t i = 0; error && i < b->entry_count; i++)
        if (b->entries[i].fragment == fragment)
            b->cores[core].state[i].error = error;
    if (error)
        r->shared = NULL;
}

static void for_each_object(struct bench *b, void (*act)(struct bench *, uint32_t core, uint32_t resource))
{
    for (uint32_t c = 0; c < b->options->cpu_count; c++)
        for (uint32_t r = 0; r < b->resource_count; r++)
            act(b, c, r);
}

static void destroy_object(struct bench *b, uint32_t core, uint32_t resource)
{
    const struct db_fragment *fragment = class_of(b, resource);
    if (b->cores[core].resources[resource].shared && fragment->destroy)
        fragment->destroy(&b->cores[core].resources[resource]);
}

/* --- one core ------------------------------------------------------------------------------------------ */

static bool usable(const struct bench_worker *w, uint32_t entry)
{
    return w->core->state[entry].error == 0;
}

/* Contexts lie one after the other as they do in a task. Each on pages of its own would start at
 * the same offset as the object it uses, and loads would wait for stores 4 KiB away. */
static unsigned char *context_memory(const struct bench *b)
{
    size_t bytes = DB_CACHE_LINE;
    for (uint32_t i = 0; i < b->entry_count; i++)
        bytes += context_bytes(b->entries[i].fragment, b->entries[i].size);
    return port_map(bytes, 0);
}

static void set_up_contexts(struct bench_worker *w)
{
    struct bench *b = w->bench;
    unsigned char *memory = context_memory(b);
    for (uint32_t i = 0; i < b->entry_count; i++) {
        const struct entry *entry = &b->entries[i];
        struct db_resource *r = entry->fragment->kind == DB_SY ? &w->core->resources[entry->resource] : NULL;
        if (usable(w, i))
            w->core->state[i].error =
                memory ? context_setup(&w->contexts[i], memory + DB_CACHE_LINE, entry->size,
                                       b->options->seed + i * 7919u + w->index, r, entry->participant,
                                       entry->fragment)
                       : ENOMEM;
        if (memory)
            memory += context_bytes(entry->fragment, entry->size);
    }
}

static void estimate(struct bench_worker *w)
{
    for (uint32_t i = 0; i < w->bench->entry_count; i++) {
        int64_t best = INT64_MAX;
        for (int n = 0; usable(w, i) && n < 4; n++) {
            int64_t start = port_now_ns();
            w->bench->entries[i].fragment->run(&w->contexts[i]);
            int64_t took = port_now_ns() - start;
            best = took < best ? took : best;
        }
        w->core->state[i].estimate_ps = usable(w, i) ? (uint64_t)best * 1000 : 0;
    }
}

static int64_t estimate_ns(const struct bench_worker *w, uint32_t entry)
{
    return (int64_t)w->core->state[entry].estimate_ps / 1000 + 1;
}

static uint32_t repeats_for(const struct bench_worker *w, uint32_t entry)
{
    int64_t repeats = BLOCK_NS / estimate_ns(w, entry);
    if (w->bench->options->cold)
        return 0;
    return repeats < 1 ? 1 : repeats > 200 ? 200 : (uint32_t)repeats;
}

static void shuffle(struct bench_worker *w)
{
    for (uint32_t i = w->bench->entry_count; i > 1; i--) {
        uint32_t k = (uint32_t)(db_random(&w->random) % i);
        uint16_t kept = w->order[i - 1];
        w->order[i - 1] = w->order[k];
        w->order[k] = kept;
    }
    w->position = 0;
    w->passes++;
}

/* The next entries of this pass that together last about as long as a job. */
static uint32_t next_group(struct bench_worker *w, uint16_t *group)
{
    uint32_t count = 0;
    int64_t total = 0;
    while (w->position < w->bench->entry_count && count < GROUP_MAX) {
        uint16_t entry = w->order[w->position];
        int64_t cost = estimate_ns(w, entry) * (1 + repeats_for(w, entry));
        if (count && total + cost > GROUP_NS)
            break;
        w->position++;
        if (!usable(w, entry))
            continue;
        group[count++] = entry;
        total += cost;
    }
    if (w->position == w->bench->entry_count)
        shuffle(w);
    return count;
}

static void empty_caches(struct bench_worker *w)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < w->bench->options->scrub_bytes; i += DB_CACHE_LINE)
        sum += w->scrub[i]++;
    db_keep(&sum);
}

static void time_entry(struct bench_worker *w, uint16_t entry, struct db_sample_row *row)
{
    void (*run)(struct db_context *) = w->bench->entries[entry].fragment->run;
    struct db_context *context = &w->contexts[entry];
    row->repeats = repeats_for(w, entry);
    if (w->bench->options->cold)
        empty_caches(w);
    int64_t begin = port_now_ns();
    run(context);
    int64_t once = port_now_ns();
    for (uint32_t n = row->repeats; n; n--)
        run(context);
    int64_t end = port_now_ns();
    row->first_ns = once - begin;
    row->rest_ns = end - once;
}

/* One job-like visit to a group; rows are written only afterwards, when the group is measured. */
static void visit_group(struct bench_worker *w, const uint16_t *group, uint32_t count, bool measured)
{
    struct db_sample_row rows[GROUP_MAX];
    uint64_t before = yardstick_ps(QUICK_YARDSTICK_LOOPS);
    for (uint32_t i = 0; i < count; i++)
        time_entry(w, group[i], &rows[i]);
    uint64_t after = yardstick_ps(QUICK_YARDSTICK_LOOPS);
    for (uint32_t i = 0; measured && i < count; i++) {
        if (w->core->sample_count == w->core->sample_capacity)
            return;
        rows[i].visit = w->core->rounds;
        rows[i].entry = group[i];
        rows[i].core = (uint16_t)w->index;
        rows[i].position = i;
        rows[i].yardstick_before_ps = before;
        rows[i].yardstick_after_ps = after;
        w->core->samples[w->core->sample_count++] = rows[i];
    }
}

static void visit(struct bench_worker *w)
{
    uint16_t group[GROUP_MAX];
    uint32_t count = next_group(w, group);
    int visits = w->bench->options->cold ? 1 : 1 + MEASURED_VISITS;
    for (int i = 0; count && i < visits; i++) {
        /* at task cadence: 1 to 5 ms of sleep before each */
        port_sleep_until_ns(port_now_ns() + DB_MILLISECOND + (int64_t)(db_random(&w->random) % 4000000));
        visit_group(w, group, count, i > 0 || w->bench->options->cold);
        w->core->rounds++;
    }
}

static void block(struct bench_worker *w)
{
    uint32_t entry = w->core->entry;
    void (*run)(struct db_context *) = w->bench->entries[entry].fragment->run;
    int64_t repeats = PARALLEL_BLOCK_NS / estimate_ns(w, entry) + 1;
    port_sleep_until_ns(w->core->start_ns);
    for (int i = 0; i < 8; i++)
        run(&w->contexts[entry]);
    int64_t start = port_now_ns();
    for (int64_t n = 0; n < repeats; n++)
        run(&w->contexts[entry]);
    w->core->block_ns = port_now_ns() - start;
}

static void check_contexts(struct bench_worker *w)
{
    char why[120];
    for (uint32_t i = 0; i < w->bench->entry_count; i++) {
        const struct db_fragment *fragment = w->bench->entries[i].fragment;
        if (!usable(w, i))
            continue;
        if (fragment->check && fragment->check(&w->contexts[i], why, sizeof why))
            w->core->state[i].wrong = 1;
        if (fragment->teardown)
            fragment->teardown(&w->contexts[i]);
    }
}

static void obey(struct bench_worker *w)
{
    switch (w->core->command) {
    case BENCH_VISIT:
        visit(w);
        break;
    case BENCH_BLOCK:
        block(w);
        break;
    case BENCH_PING:
        w->core->block_ns = (int64_t)ping(&w->bench->meeting->ball);
        break;
    default:
        pong(&w->bench->meeting->ball);
    }
}

static void *worker_main(void *argument)
{
    struct bench_worker *w = argument;
    if (w->bench->options->policy == DB_POLICY_OTHER)
        port_minimal_timer_slack();
    set_up_contexts(w);
    estimate(w);
    shuffle(w);
    say_done(w->bench->meeting);
    for (unsigned seen = 0;; seen++) {
        while (atomic_load(&w->core->generation) == seen)
            port_wait(&w->core->generation, seen, -1);
        if (w->core->command == BENCH_STOP)
            break;
        obey(w);
        say_done(w->bench->meeting);
    }
    check_contexts(w);
    return NULL;
}

static struct bench_worker *new_worker(struct bench *b, uint32_t index)
{
    size_t scrub = b->options->cold ? b->options->scrub_bytes : 0;
    struct bench_worker *w = port_map(sizeof *w, 0);
    if (!w)
        return NULL;
    w->bench = b;
    w->core = &b->cores[index];
    w->index = index;
    w->random = db_seed_state(b->options->seed ^ (index * UINT64_C(0x9E3779B97F4A7C15)));
    w->contexts = port_map((b->entry_count + 1) * sizeof *w->contexts, 0);
    w->order = port_map((b->entry_count + 1) * sizeof *w->order, 0);
    w->scrub = scrub ? port_map(scrub, 0) : NULL;
    for (uint32_t i = 0; w->order && i < b->entry_count; i++)
        w->order[i] = (uint16_t)i;
    return w->contexts && w->order && (w->scrub || !scrub) ? w : NULL;
}

static void bench_core_main(struct bench *b, uint32_t index)
{
    const struct options *o = b->options;
    struct bench_worker *w = new_worker(b, index);
    int error = ENOMEM;
    if (!w)
        fail_errno(&b->meeting->failure, "memory of a calibration", ENOMEM);
    else if (place_agent(o, o->cpus[index], &b->meeting->failure, b->bound_ns)) {
        error =
            port_start_thread(worker_main, w, o->policy, CALIBRATION_PRIORITY, o->cpus[index], &w->thread);
        if (error)
            fail_errno(&b->meeting->failure, "a calibrating thread could not be started", error);
    }
    if (error) {
        say_done(b->meeting);
        port_exit(1);
    }
    port_join_thread(w->thread);
    port_exit(0);
}

/* --- the coordinator --------------------------------------------------------------------------------- */

static void tell_core(struct bench *b, uint32_t core, enum bench_command command)
{
    b->cores[core].command = command;
    atomic_fetch_add(&b->cores[core].generation, 1);
    port_wake(&b->cores[core].generation);
}

static bool visits(struct bench *b)
{
    int64_t start = port_now_ns(), end = start + b->options->seconds_ns, told = start;
    while (port_now_ns() < end)
        for (uint32_t c = 0; c < b->options->cpu_count; c++) {
            tell_core(b, c, BENCH_VISIT);
            if (!wait_done(b->meeting, 1))
                return false;
            if (port_now_ns() - told > 1000 * DB_MILLISECOND) {
                told = port_now_ns();
                printf("progress %d\n", (int)((told - start) * 1000 / (end - start)));
                fflush(stdout);
            }
        }
    return true;
}

static bool blocks_of(struct bench *b, uint32_t entry, struct db_parallel_row *rows, uint64_t *count)
{
    uint32_t cores = b->options->cpu_count;
    for (uint32_t round = 0; round < 2 * PARALLEL_ROUNDS; round++) {
        bool together = round % 2;
        for (uint32_t first = 0; first < (together ? 1 : cores); first++) {
            uint32_t last = together ? cores : first + 1;
            int64_t start = port_now_ns() + DB_MILLISECOND;
            for (uint32_t c = first; c < last; c++) {
                b->cores[c].entry = entry;
                b->cores[c].start_ns = start;
                tell_core(b, c, BENCH_BLOCK);
            }
            if (!wait_done(b->meeting, last - first))
                return false;
            for (uint32_t c = first; c < last; c++)
                rows[(*count)++] = (struct db_parallel_row){.entry = (uint16_t)entry,
                                                            .core = (uint16_t)c,
                                                            .round = (uint16_t)(round / 2),
                                                            .together = together,
                                                            .block_ns = b->cores[c].block_ns};
        }
    }
    return true;
}

/* For each class that can be local to a core: is it as fast on all cores at once as alone? */
static bool parallel_blocks(struct bench *b, struct db_parallel_row *rows, uint64_t *count)
{
    for (uint32_t i = 0; b->options->cpu_count > 1 && i < b->entry_count; i++) {
        bool ok = b->entries[i].fragment->kind == DB_SY && b->entries[i].participant == 0;
        for (uint32_t c = 0; c < b->options->cpu_count; c++)
            ok = ok && b->cores[c].state[i].error == 0;
        if (ok && !blocks_of(b, i, rows, count))
            return false;
    }
    return true;
}

/* Neighbours only, as between the windows of a run; spread over time, for the line has states. */
static bool cache_lines(struct bench *b, struct db_parallel_row *rows, uint64_t *count)
{
    for (uint32_t round = 0; round < LINE_ROUNDS; round++)
        for (uint32_t c = 0; c + 1 < b->options->cpu_count; c++) {
            port_sleep_until_ns(port_now_ns() + DB_MILLISECOND);
            atomic_store(&b->meeting->ball, 0);
            tell_core(b, c + 1, BENCH_PONG);
            tell_core(b, c, BENCH_PING);
            if (!wait_done(b->meeting, 2))
                return false;
            rows[(*count)++] = (struct db_parallel_row){.entry = DB_CACHE_LINE_ENTRY,
                                                        .core = (uint16_t)c,
                                                        .round = (uint16_t)round,
                                                        .together = (uint16_t)(c + 1),
                                                        .block_ns = b->cores[c].block_ns};
        }
    return true;
}

static int write_samples(const struct bench *b, const struct db_parallel_row *rows, uint64_t parallel_count)
{
    char part[4096];
    struct writer writer;
    struct db_samples_header header = {.version = DB_SAMPLES_VERSION,
                                       .entry_count = b->entry_count,
                                       .parallel_count = parallel_count,
                                       .clock_cost_ps = b->clock_ps};
    memcpy(header.magic, DB_SAMPLES_MAGIC, sizeof header.magic);
    for (uint32_t c = 0; c < b->options->cpu_count; c++)
        header.sample_count += b->cores[c].sample_count;
    snprintf(part, sizeof part, "%s.part", b->options->out);
    int error = writer_open(&writer, part);
    if (error)
        return error;
    writer_put(&writer, &header, sizeof header);
    for (uint32_t c = 0; c < b->options->cpu_count; c++)
        writer_put(&writer, b->cores[c].state, b->entry_count * sizeof(struct db_entry_row));
    for (uint32_t c = 0; c < b->options->cpu_count; c++)
        writer_put(&writer, b->cores[c].samples, b->cores[c].sample_count * sizeof(struct db_sample_row));
    writer_put(&writer, rows, parallel_count * sizeof *rows);
    return writer_close(&writer, part, b->options->out);
}

static bool lay_out(struct bench *b)
{
    uint32_t cores = b->options->cpu_count;
    /* a visit lasts more than a millisecond and holds at most GROUP_MAX rows */
    uint64_t capacity = (uint64_t)(b->options->seconds_ns / DB_MILLISECOND / cores + 100) * 8;
    b->meeting = port_map(sizeof *b->meeting, 1);
    b->cores = port_map(cores * sizeof *b->cores, 1);
    bool ok = b->meeting && b->cores;
    for (uint32_t c = 0; ok && c < cores; c++) {
        struct bench_core *core = &b->cores[c];
        core->resources = port_map((b->resource_count + 1) * sizeof *core->resources, 1);
        core->state = port_map((b->entry_count + 1) * sizeof *core->state, 1);
        core->samples = port_map(capacity * sizeof *core->samples, 1);
        core->sample_capacity = capacity;
        ok = core->resources && core->state && core->samples;
        for (uint32_t i = 0; ok && i < b->entry_count; i++)
            core->state[i] = (struct db_entry_row){.entry = (uint16_t)i, .core = (uint16_t)c};
    }
    return ok;
}

static bool bench_all(struct bench *b, struct db_parallel_row *rows, uint64_t *parallel_count)
{
    int pids[DB_MAX_CORES] = {0};
    uint32_t cores = b->options->cpu_count;
    watch_children(b->meeting);
    for (uint32_t c = 0; c < cores; c++)
        if ((pids[c] = port_fork()) == 0)
            bench_core_main(b, c);
    bool ok = wait_done(b->meeting, cores) && visits(b) && parallel_blocks(b, rows, parallel_count) &&
              cache_lines(b, rows, parallel_count);
    watch_children(NULL);
    for (uint32_t c = 0; c < cores; c++) {
        if (ok)
            tell_core(b, c, BENCH_STOP);
        else
            port_kill(pids[c]);
        port_reap(pids[c]);
    }
    return ok;
}

int calibrate(const struct options *o)
{
    static struct entry entries[MAX_ENTRIES];
    char reason[DB_REASON_BYTES] = "";
    struct bench b = {.options = o, .entries = entries, .clock_ps = clock_cost_ps()};
    uint64_t parallel_count = 0;
    size_t rows_bytes;
    if (!read_entries(&b, reason)) {
        printf("error entries %s\n", reason);
        return 1;
    }
    number_resources(&b);
    rows_bytes = ((size_t)(b.resource_count + 1) * 2 * PARALLEL_ROUNDS + LINE_ROUNDS) * o->cpu_count *
                 sizeof(struct db_parallel_row);
    struct db_parallel_row *rows = port_map(rows_bytes, 0);
    if (!lay_out(&b) || !rows) {
        printf("error memory no memory for a calibration of %lld s\n",
               (long long)(o->seconds_ns / 1000000000));
        return 1;
    }
    b.bound_ns = 3 * o->seconds_ns + 120000 * DB_MILLISECOND;
    guard_allow(b.bound_ns);
    for_each_object(&b, make_object);
    bool ok = bench_all(&b, rows, &parallel_count);
    for_each_object(&b, destroy_object);
    int error = ok ? write_samples(&b, rows, parallel_count) : 0;
    if (!ok)
        printf("error calibrate %s\n", has_failed(&b.meeting->failure)
                                           ? b.meeting->failure.reason
                                           : "a core's process died while it was calibrated");
    else if (error)
        printf("error write the samples could not be written: %s\n", strerror(error));
    fflush(stdout);
    return ok && !error ? 0 : 1;
}
