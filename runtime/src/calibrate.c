/*
 * Calibration: what an entry costs at first use and at every repeat, at task cadence, in the process
 * layout of the runs. One core is visited at a time while all others sleep; visits go round robin
 * over the cores, so that every entry meets every state of the host.
 */
#include "bench.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MAX_ENTRIES 1024
#define PARALLEL_ROUNDS 15
#define LINE_ROUNDS 40

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
        uint32_t earlier = 0;
        for (uint32_t k = 0; k < i; k++)
            if (b->entries[k].fragment == entry->fragment)
                earlier = b->entries[k].resource + 1;
        entry->resource = earlier ? earlier - 1 : b->resource_count++;
        entry->first_of_class = earlier == 0;
    }
}

static uint32_t largest_size(const struct bench *b, const struct db_fragment *fragment)
{
    uint32_t largest = 0;
    for (uint32_t i = 0; i < b->entry_count; i++)
        if (b->entries[i].fragment == fragment && b->entries[i].size > largest)
            largest = b->entries[i].size;
    return largest;
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
    r->participants = r->cores = 1;
    r->max_size = largest_size(b, fragment);
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
                                                            .block_ns = b->cores[c].block_ns,
                                                            .control_ns = b->cores[c].control_ns};
        }
    }
    return true;
}

/* For each class that can be local to a core: is it as fast on all cores at once as alone? */
static bool parallel_blocks(struct bench *b, struct db_parallel_row *rows, uint64_t *count)
{
    for (uint32_t i = 0; b->options->cpu_count > 1 && i < b->entry_count; i++) {
        bool ok = b->entries[i].fragment->kind == DB_SY && b->entries[i].first_of_class;
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
    for (uint32_t c = 0; c < process_count(b->options, cores); c++)
        if ((pids[c] = port_fork()) == 0)
            bench_core_main(b, c);
    bool ok = wait_done(b->meeting, cores) && visits(b) && parallel_blocks(b, rows, parallel_count) &&
              cache_lines(b, rows, parallel_count);
    watch_children(NULL);
    for (uint32_t c = 0; ok && c < cores; c++)
        tell_core(b, c, BENCH_STOP);
    for (uint32_t c = 0; c < process_count(b->options, cores); c++) {
        if (!ok)
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
