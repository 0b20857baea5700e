/*
 * Calibration: what an entry costs at first use and at every repeat, at task cadence, in the process
 * layout of the runs. One core is visited at a time while all others sleep; visits go round robin
 * over the cores, so that every entry meets every state of the host. Which cores are visited, at most
 * a few of every kind, is the caller's choice: the time does not grow with their number.
 */
#include "bench.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MAX_ENTRIES 1024
/* Per class: as many pairs of a block alone and beside the others as give its ratio to within 2 %. */
#define PARALLEL_PAIRS 120
#define PARALLEL_ROUNDS_LEAST 20
#define SAMPLED_CORES 8 /* alone in one round, or pairs of neighbours */
#define LINE_ROUNDS 40
#define PAGE_BYTES 4096

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

static size_t object_bytes(const struct bench *b, uint32_t resource)
{
    const struct db_fragment *fragment = class_of(b, resource);
    size_t bytes = fragment->shared_bytes ? fragment->shared_bytes(1, largest_size(b, fragment)) : 0;
    return bytes + DB_CACHE_LINE;
}

/* Pages of the core's own memory. */
static void *carve(struct bench_core *core, size_t bytes)
{
    void *memory = core->memory + core->memory_used;
    core->memory_used += round_up(bytes, PAGE_BYTES);
    return memory;
}

/* An object that cannot be made refuses its entries on that core; it does not end the calibration. */
static void make_object(struct bench *b, uint32_t core, uint32_t resource)
{
    struct db_resource *r = &b->cores[core].resources[resource];
    const struct db_fragment *fragment = class_of(b, resource);
    r->participants = r->cores = 1;
    r->max_size = largest_size(b, fragment);
    int error = resource_create(r, fragment, carve(&b->cores[core], object_bytes(b, resource)), b->options);
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

bool is_visited(const struct bench *b, uint32_t core)
{
    for (uint32_t i = 0; i < b->visited_count; i++)
        if (b->visited[i] == (int)core)
            return true;
    return false;
}

/* For the time asked, and at least until every kind of core has visited every entry. */
static bool visits_go_on(const struct bench *b, int64_t end)
{
    for (uint32_t kind = 0; kind < b->kind_count; kind++)
        if (b->passes[kind]->count < 2)
            return true;
    return port_now_ns() < end;
}

static bool visits(struct bench *b)
{
    int64_t start = port_now_ns(), end = start + b->options->seconds_ns, told = start;
    for (uint32_t turn = 0; turn || visits_go_on(b, end); turn = (turn + 1) % b->visited_count) {
        b->cores[b->visited[turn]].kind = turn % b->kind_count;
        tell_core(b, (uint32_t)b->visited[turn], BENCH_VISIT);
        if (!wait_done(b->meeting, 1))
            return false;
        if (port_now_ns() - told > 1000 * DB_MILLISECOND) {
            told = port_now_ns();
            printf("progress %d\n", (int)((told - start) * 1000 / (b->options->seconds_ns + 1)));
            fflush(stdout);
        }
    }
    return true;
}

/* --- blocks beside other cores ------------------------------------------------------------------------ */

/* Share of one core's block in which the others worked, mean over them, in millionths. */
static uint32_t overlap_ppm(const struct bench *b, uint32_t core, enum bench_phase phase)
{
    const struct bench_span *mine = &b->cores[core].spans[phase];
    double beside = 0, length = (double)(mine->end_ns - mine->begin_ns) + 1;
    for (uint32_t c = 0; c < b->options->cpu_count; c++) {
        const struct bench_span *other = &b->cores[c].spans[phase];
        int64_t begin = mine->begin_ns > other->from_ns ? mine->begin_ns : other->from_ns;
        int64_t end = mine->end_ns < other->until_ns ? mine->end_ns : other->until_ns;
        beside += c != core && end > begin ? (double)(end - begin) / length : 0;
    }
    return (uint32_t)(1e6 * beside / (b->options->cpu_count - 1));
}

static int64_t block_ns(const struct bench *b, uint32_t core, enum bench_phase phase)
{
    return b->cores[core].spans[phase].end_ns - b->cores[core].spans[phase].begin_ns;
}

static struct db_parallel_row row_of(const struct bench *b, uint32_t core, uint32_t round, bool together)
{
    uint32_t entry = together ? overlap_ppm(b, core, PHASE_ENTRY) : 0;
    uint32_t control = together ? overlap_ppm(b, core, PHASE_CONTROL) : 0;
    return (struct db_parallel_row){.entry = (uint16_t)b->cores[core].entry,
                                    .core = (uint16_t)core,
                                    .round = (uint16_t)round,
                                    .together = together,
                                    .block_ns = block_ns(b, core, PHASE_ENTRY),
                                    .control_ns = block_ns(b, core, PHASE_CONTROL),
                                    .overlap_ppm = entry < control ? entry : control};
}

/* Blocks of one entry on `count` cores from `first` on, at once. */
static bool crowd(struct bench *b, uint32_t entry, uint32_t first, uint32_t count)
{
    memset(b->crowd, 0, sizeof *b->crowd);
    b->crowd->expected = count;
    port_sleep_until_ns(port_now_ns() + DB_MILLISECOND / 4);
    for (uint32_t c = first; c < first + count; c++) {
        b->cores[c].entry = entry;
        tell_core(b, c, BENCH_BLOCK);
    }
    return wait_done(b->meeting, count);
}

/* A few cores alone, one after the other, and all of them at once at a random moment among these. */
static bool blocks_of(struct bench *b, uint32_t entry, uint32_t round, struct db_parallel_row *rows,
                      uint64_t *count)
{
    uint32_t cores = b->options->cpu_count, sampled = cores < SAMPLED_CORES ? cores : SAMPLED_CORES;
    uint32_t moment = (uint32_t)(db_random(&b->random) >> 32) % (sampled + 1);
    for (uint32_t step = 0, alone = 0; step <= sampled; step++) {
        bool together = step == moment;
        uint32_t core = (round * sampled + alone) % cores;
        if (!crowd(b, entry, together ? 0 : core, together ? cores : 1))
            return false;
        for (uint32_t i = 0; together && i < sampled; i++)
            rows[(*count)++] = row_of(b, (round * sampled + i) % cores, round, true);
        if (!together) {
            rows[(*count)++] = row_of(b, core, round, false);
            alone++;
        }
    }
    return true;
}

static uint32_t parallel_rounds(uint32_t cores)
{
    uint32_t rounds = PARALLEL_PAIRS / (cores < SAMPLED_CORES ? cores : SAMPLED_CORES);
    return rounds > PARALLEL_ROUNDS_LEAST ? rounds : PARALLEL_ROUNDS_LEAST;
}

/* Logical cores that share a CPU take turns: nothing of theirs runs at once. */
static bool have_own_cpus(const struct options *o)
{
    for (uint32_t c = 1; c < o->cpu_count; c++)
        for (uint32_t k = 0; k < c; k++)
            if (o->cpus[k] == o->cpus[c])
                return false;
    return o->cpu_count > 1;
}

/* For each class that can be local to a core: is it as fast on all cores at once as alone? Every round
 * takes all classes, so that a burst of the host meets them all. */
static bool parallel_blocks(struct bench *b, struct db_parallel_row *rows, uint64_t *count)
{
    uint32_t rounds = have_own_cpus(b->options) ? parallel_rounds(b->options->cpu_count) : 0;
    for (uint32_t round = 0; round < rounds; round++)
        for (uint32_t i = 0; i < b->entry_count; i++) {
            bool ok = b->entries[i].first_of_class;
            for (uint32_t c = 0; ok && c < b->options->cpu_count; c++)
                ok = b->cores[c].state[i].error == 0;
            if (ok && !blocks_of(b, i, round, rows, count))
                return false;
        }
    return true;
}

/* A few pairs of neighbours; spread over time, for the line has states. A recorded fact only. */
static bool cache_lines(struct bench *b, struct db_parallel_row *rows, uint64_t *count)
{
    uint32_t all = b->options->cpu_count - 1, pairs = all < SAMPLED_CORES ? all : SAMPLED_CORES;
    for (uint32_t round = 0; round < LINE_ROUNDS; round++)
        for (uint32_t pair = 0; pair < pairs; pair++) {
            uint32_t c = pair * all / pairs;
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
                                                        .block_ns = (int64_t)b->cores[c].trip_ps};
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

/* A visit lasts more than a millisecond and holds at most GROUP_MAX rows; a core has its turns' share of
 * the time, and a pass over all entries where that is less. */
static uint64_t sample_capacity(const struct bench *b, uint32_t core)
{
    uint64_t turns = 0;
    for (uint32_t i = 0; i < b->visited_count; i++)
        turns += b->visited[i] == (int)core;
    uint64_t share = (uint64_t)(b->options->seconds_ns / DB_MILLISECOND) * turns / b->visited_count;
    return turns ? share * 8 + (uint64_t)b->entry_count * 40 : 0;
}

static bool lay_out_passes(struct bench *b)
{
    b->passes = port_map(b->kind_count * sizeof(struct bench_pass *), 0);
    bool ok = b->passes;
    for (uint32_t kind = 0; ok && kind < b->kind_count; kind++) {
        struct bench_pass *pass = port_map(sizeof *pass + (b->entry_count + 1) * sizeof *pass->order, 1);
        b->passes[kind] = pass;
        ok = pass;
        for (uint32_t i = 0; ok && i < b->entry_count; i++)
            pass->order[i] = (uint16_t)i;
    }
    return ok;
}

/* What a core needs, in the order in which it is carved. */
static size_t core_bytes(const struct bench *b, uint32_t core)
{
    size_t bytes = round_up((b->resource_count + 1) * sizeof(struct db_resource), PAGE_BYTES);
    bytes += round_up((b->entry_count + 1) * sizeof(struct db_entry_row), PAGE_BYTES);
    bytes += round_up(sample_capacity(b, core) * sizeof(struct db_sample_row), PAGE_BYTES);
    for (uint32_t r = 0; r < b->resource_count; r++)
        bytes += round_up(object_bytes(b, r), PAGE_BYTES);
    return bytes;
}

static void lay_out_core(struct bench *b, uint32_t c, unsigned char *memory)
{
    struct bench_core *core = &b->cores[c];
    core->memory = memory;
    core->memory_bytes = core_bytes(b, c);
    core->resources = carve(core, (b->resource_count + 1) * sizeof *core->resources);
    core->state = carve(core, (b->entry_count + 1) * sizeof *core->state);
    core->sample_capacity = sample_capacity(b, c);
    core->samples = carve(core, core->sample_capacity * sizeof *core->samples);
    for (uint32_t i = 0; i < b->entry_count; i++)
        core->state[i] = (struct db_entry_row){.entry = (uint16_t)i, .core = (uint16_t)c};
}

static bool lay_out(struct bench *b)
{
    uint32_t cores = b->options->cpu_count;
    size_t bytes = 0;
    for (uint32_t c = 0; c < cores; c++)
        bytes += core_bytes(b, c);
    b->meeting = port_map(sizeof *b->meeting, 1);
    b->crowd = port_map(sizeof *b->crowd, 1);
    b->cores = port_map(cores * sizeof *b->cores, 1);
    unsigned char *memory = port_map(bytes, 1);
    if (!b->meeting || !b->crowd || !b->cores || !memory || !lay_out_passes(b))
        return false;
    for (uint32_t c = 0; c < cores; c++) {
        lay_out_core(b, c, memory);
        memory += b->cores[c].memory_bytes;
    }
    return true;
}

/* In a core's process: what belongs to others would be mapped and locked as often as there are cores. */
static void keep_own_memory(const struct bench *b, uint32_t core)
{
    const struct bench_core *mine = &b->cores[core], *last = &b->cores[b->options->cpu_count - 1];
    unsigned char *begin = b->cores[0].memory, *end = mine->memory + mine->memory_bytes;
    if (b->options->one_process)
        return;
    if (mine->memory > begin)
        port_unmap(begin, (size_t)(mine->memory - begin));
    if (last->memory + last->memory_bytes > end)
        port_unmap(end, (size_t)(last->memory + last->memory_bytes - end));
}

static bool bench_all(struct bench *b, struct db_parallel_row *rows, uint64_t *parallel_count)
{
    int pids[DB_MAX_CORES] = {0};
    uint32_t cores = b->options->cpu_count;
    watch_children(b->meeting);
    for (uint32_t c = 0; c < process_count(b->options, cores); c++)
        if ((pids[c] = port_fork()) == 0) {
            keep_own_memory(b, c);
            bench_core_main(b, c);
        }
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

/* The cores to visit: those asked for, or all. */
static void choose_visited(struct bench *b)
{
    static int all[DB_MAX_CORES];
    for (uint32_t c = 0; c < b->options->cpu_count; c++)
        all[c] = (int)c;
    b->visited = b->options->visit_count ? b->options->visit : all;
    b->visited_count = b->options->visit_count ? b->options->visit_count : b->options->cpu_count;
    b->kind_count = b->options->kinds;
}

static struct db_parallel_row *parallel_memory(const struct bench *b)
{
    uint32_t cores = b->options->cpu_count, sampled = cores < SAMPLED_CORES ? cores : SAMPLED_CORES;
    size_t rows = ((size_t)b->resource_count * 2 * parallel_rounds(cores) + LINE_ROUNDS) * sampled;
    return port_map(rows * sizeof(struct db_parallel_row), 0);
}

int calibrate(const struct options *o)
{
    static struct entry entries[MAX_ENTRIES];
    char reason[DB_REASON_BYTES] = "";
    struct bench b = {
        .options = o, .entries = entries, .clock_ps = clock_cost_ps(), .random = db_seed_state(o->seed)};
    uint64_t parallel_count = 0;
    if (!read_entries(&b, reason)) {
        printf("error entries %s\n", reason);
        return 1;
    }
    probes_fit_clock();
    number_resources(&b);
    choose_visited(&b);
    struct db_parallel_row *rows = parallel_memory(&b);
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
