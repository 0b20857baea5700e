/*
 * Calibration: what an entry costs at first use and at every repeat, at task cadence, in the process
 * layout of the runs. One core is visited at a time while all others sleep; visits go round robin
 * over the cores, so that every entry meets every state of the host. Which cores are visited, at most
 * a few of every kind, is the caller's choice: the time does not grow with their number.
 */
#include "../core/bench.h"
#include "runtime.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Per class: as many pairs of a block alone and beside the others as give its ratio to within 2 %. */
#define PARALLEL_PAIRS 120
#define PARALLEL_ROUNDS_LEAST 20
#define SAMPLED_CORES 8 /* alone in one round, or pairs of neighbours */
#define LINE_ROUNDS 40

/* --- reading the plan -------------------------------------------------------------------------- */

static bool read_entries(struct bench *b, const char *path, char *reason)
{
    char name[64];
    unsigned size;
    FILE *file = fopen(path ? path : "", "r");
    if (!file) {
        snprintf(reason, DB_REASON_BYTES, "the list of entries cannot be read: %s", strerror(errno));
        return false;
    }
    bool ok = true;
    while (ok && b->entry_count < BENCH_ENTRIES_MAX && fscanf(file, "%63s %u", name, &size) == 2)
        ok = bench_add_entry(b, name, size);
    if (!ok)
        snprintf(reason, DB_REASON_BYTES, "no fragment %s in this program", name);
    fclose(file);
    return ok;
}

/* --- blocks beside other cores ------------------------------------------------------------------------ */

/* Share of one core's block in which the others worked, mean over them, in millionths. */
static uint32_t overlap_ppm(const struct bench *b, uint32_t core, enum bench_phase phase)
{
    const struct bench_span *mine = &b->cores[core].spans[phase];
    double beside = 0, length = (double)(mine->end_ns - mine->begin_ns) + 1;
    for (uint32_t c = 0; c < b->options.cpu_count; c++) {
        const struct bench_span *other = &b->cores[c].spans[phase];
        int64_t begin = mine->begin_ns > other->from_ns ? mine->begin_ns : other->from_ns;
        int64_t end = mine->end_ns < other->until_ns ? mine->end_ns : other->until_ns;
        beside += c != core && end > begin ? (double)(end - begin) / length : 0;
    }
    return (uint32_t)(1e6 * beside / (b->options.cpu_count - 1));
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
        bench_tell(b, c, BENCH_BLOCK);
    }
    return wait_done(b->meeting, count);
}

/* A few cores alone, one after the other, and all of them at once at a random moment among these. */
static bool blocks_of(struct bench *b, uint32_t entry, uint32_t round, struct db_parallel_row *rows,
                      uint64_t *count)
{
    uint32_t cores = b->options.cpu_count, sampled = cores < SAMPLED_CORES ? cores : SAMPLED_CORES;
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
static bool have_own_cpus(const struct bench_options *o)
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
    uint32_t rounds = have_own_cpus(&b->options) ? parallel_rounds(b->options.cpu_count) : 0;
    for (uint32_t round = 0; round < rounds; round++)
        for (uint32_t i = 0; i < b->entry_count; i++) {
            bool ok = b->entries[i].first_of_class;
            for (uint32_t c = 0; ok && c < b->options.cpu_count; c++)
                ok = b->cores[c].state[i].error == 0;
            if (ok && !blocks_of(b, i, round, rows, count))
                return false;
        }
    return true;
}

/* A few pairs of neighbours; spread over time, for the line has states. A recorded fact only. */
static bool cache_lines(struct bench *b, struct db_parallel_row *rows, uint64_t *count)
{
    uint32_t all = b->options.cpu_count - 1, pairs = all < SAMPLED_CORES ? all : SAMPLED_CORES;
    for (uint32_t round = 0; round < LINE_ROUNDS; round++)
        for (uint32_t pair = 0; pair < pairs; pair++) {
            uint32_t c = pair * all / pairs;
            port_sleep_until_ns(port_now_ns() + DB_MILLISECOND);
            atomic_store(&b->meeting->ball, 0);
            bench_tell(b, c + 1, BENCH_PONG);
            bench_tell(b, c, BENCH_PING);
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

/* In a core's process: what belongs to others would be mapped and locked as often as there are cores. */
static void keep_own_memory(const struct bench *b, uint32_t core)
{
    const struct bench_core *mine = &b->cores[core], *last = &b->cores[b->options.cpu_count - 1];
    unsigned char *begin = b->cores[0].memory, *end = mine->memory + mine->memory_bytes;
    if (mine->memory > begin)
        port_unmap(begin, (size_t)(mine->memory - begin));
    if (last->memory + last->memory_bytes > end)
        port_unmap(end, (size_t)(last->memory + last->memory_bytes - end));
}

/* The life of one core's process, or of that of all. */
static _Noreturn void core_main(struct bench *b, const struct options *o, uint32_t first)
{
    uint64_t threads[DB_MAX_CORES];
    uint32_t end = o->one_process ? o->cpu_count : first + 1;
    if (!o->one_process)
        keep_own_memory(b, first);
    bool ok = place_agent(o, o->cpus[first], &b->meeting->failure, b->bound_ns);
    for (uint32_t c = first; ok && c < end; c++)
        ok = bench_start(b, c, &threads[c]);
    if (!ok) {
        say_done(b->meeting);
        port_exit(1);
    }
    for (uint32_t c = first; c < end; c++)
        port_join_thread(threads[c]);
    port_exit(0);
}

static bool bench_all(struct bench *b, const struct options *o, struct db_parallel_row *rows,
                      uint64_t *parallel_count)
{
    int pids[DB_MAX_CORES] = {0};
    uint32_t cores = o->cpu_count;
    watch_children(b->meeting);
    for (uint32_t c = 0; c < process_count(o, cores); c++)
        if ((pids[c] = port_fork()) == 0)
            core_main(b, o, c);
    bool ok = wait_done(b->meeting, cores) && bench_visits(b) && parallel_blocks(b, rows, parallel_count) &&
              cache_lines(b, rows, parallel_count);
    watch_children(NULL);
    for (uint32_t c = 0; ok && c < cores; c++)
        bench_tell(b, c, BENCH_STOP);
    for (uint32_t c = 0; c < process_count(o, cores); c++) {
        if (!ok)
            port_kill(pids[c]);
        port_reap(pids[c]);
    }
    return ok;
}

/* The cores to visit: those asked for, or all. */
static void choose_visited(struct bench *b, const struct options *o)
{
    static int all[DB_MAX_CORES];
    for (uint32_t c = 0; c < o->cpu_count; c++)
        all[c] = (int)c;
    b->visited = o->visit_count ? o->visit : all;
    b->visited_count = o->visit_count ? o->visit_count : o->cpu_count;
    b->kind_count = o->kinds;
}

static struct db_parallel_row *parallel_memory(const struct bench *b)
{
    uint32_t cores = b->options.cpu_count, sampled = cores < SAMPLED_CORES ? cores : SAMPLED_CORES;
    size_t rows = ((size_t)b->resource_count * 2 * parallel_rounds(cores) + LINE_ROUNDS) * sampled;
    return port_map(rows * sizeof(struct db_parallel_row), 0);
}

static int write_samples(const struct bench *b, const char *path, const struct db_parallel_row *rows,
                         uint64_t parallel_count)
{
    char part[4096];
    struct writer writer;
    snprintf(part, sizeof part, "%s.part", path);
    int error = writer_open(&writer, part);
    if (error)
        return error;
    bench_put(b, rows, parallel_count, &writer.sink);
    return writer_close(&writer, part, path);
}

static void say_progress(int64_t thousandth)
{
    printf("progress %d\n", (int)thousandth);
    fflush(stdout);
}

int calibrate(const struct options *o)
{
    static struct entry entries[BENCH_ENTRIES_MAX];
    char reason[DB_REASON_BYTES] = "";
    struct bench b = {
        .options = {.cpus = o->cpus,
                    .cpu_count = o->cpu_count,
                    .policy = o->policy,
                    .seconds_ns = o->seconds_ns,
                    .seed = o->seed,
                    .cold = o->cold,
                    .scrub_bytes = o->scrub_bytes,
                    .owner_pid = o->owner_pid,
                    .thread_began = o->policy == DB_POLICY_OTHER ? port_minimal_timer_slack : NULL,
                    .progress = say_progress},
        .entries = entries,
        .clock_ps = clock_cost_ps(),
        .random = db_seed_state(o->seed)};
    uint64_t parallel_count = 0;
    if (!read_entries(&b, o->entries, reason)) {
        printf("error entries %s\n", reason);
        return 1;
    }
    probes_fit_clock();
    bench_number_objects(&b);
    choose_visited(&b, o);
    struct db_parallel_row *rows = parallel_memory(&b);
    if (!bench_lay_out(&b) || !rows) {
        printf("error memory no memory for a calibration of %lld s\n",
               (long long)(o->seconds_ns / 1000000000));
        return 1;
    }
    b.bound_ns = 3 * o->seconds_ns + 120000 * DB_MILLISECOND;
    guard_allow(b.bound_ns);
    bench_make_objects(&b);
    bool ok = bench_all(&b, o, rows, &parallel_count);
    bench_destroy_objects(&b);
    int error = ok ? write_samples(&b, o->out, rows, parallel_count) : 0;
    if (!ok)
        printf("error calibrate %s\n", has_failed(&b.meeting->failure)
                                           ? b.meeting->failure.reason
                                           : "a core's process died while it was calibrated");
    else if (error)
        printf("error write the samples could not be written: %s\n", strerror(error));
    fflush(stdout);
    return ok && !error ? 0 : 1;
}
