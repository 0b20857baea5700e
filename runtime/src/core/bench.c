/* A calibration's entries, objects, memory and visits, and its file. */
#include "bench.h"

#include <string.h>

#define PAGE_BYTES 4096
/* A core lets go of the others' memory in whole pages; some Arm kernels have pages of 16 or 64 KiB. */
#define LARGEST_PAGE_BYTES 65536

bool bench_add_entry(struct bench *b, const char *name, uint32_t size)
{
    struct entry *entry = &b->entries[b->entry_count];
    const struct db_fragment *fragment = find_fragment(name);
    if (!fragment || b->entry_count == BENCH_ENTRIES_MAX)
        return false;
    entry->fragment = fragment;
    entry->size = size;
    b->entry_count++;
    return true;
}

/* One object a core and class, as a task set has it. */
void bench_number_objects(struct bench *b)
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
    int error = resource_create(r, fragment, carve(&b->cores[core], object_bytes(b, resource)),
                                b->options.policy, b->options.owner_pid);
    for (uint32_t i = 0; error && i < b->entry_count; i++)
        if (b->entries[i].fragment == fragment)
            b->cores[core].state[i].error = error;
    if (error)
        r->shared = NULL;
}

static void for_each_object(struct bench *b, void (*act)(struct bench *, uint32_t core, uint32_t resource))
{
    for (uint32_t c = 0; c < b->options.cpu_count; c++)
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

void bench_tell(struct bench *b, uint32_t core, enum bench_command command)
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

bool bench_visits(struct bench *b)
{
    int64_t start = port_now_ns(), end = start + b->options.seconds_ns, told = start;
    for (uint32_t turn = 0; turn || visits_go_on(b, end); turn = (turn + 1) % b->visited_count) {
        b->cores[b->visited[turn]].kind = turn % b->kind_count;
        bench_tell(b, (uint32_t)b->visited[turn], BENCH_VISIT);
        if (!wait_done(b->meeting, 1))
            return false;
        if (port_now_ns() - told > 1000 * DB_MILLISECOND) {
            told = port_now_ns();
            if (b->options.progress)
                b->options.progress((told - start) * 1000 / (b->options.seconds_ns + 1));
        }
    }
    return true;
}

void bench_put(const struct bench *b, const struct db_parallel_row *rows, uint64_t parallel_count,
               struct sink *sink)
{
    struct db_samples_header header = {.version = DB_SAMPLES_VERSION,
                                       .entry_count = b->entry_count,
                                       .parallel_count = parallel_count,
                                       .clock_cost_ps = b->clock_ps};
    memcpy(header.magic, DB_SAMPLES_MAGIC, sizeof header.magic);
    for (uint32_t c = 0; c < b->options.cpu_count; c++)
        header.sample_count += b->cores[c].sample_count;
    sink_put(sink, &header, sizeof header);
    for (uint32_t c = 0; c < b->options.cpu_count; c++)
        sink_put(sink, b->cores[c].state, b->entry_count * sizeof(struct db_entry_row));
    for (uint32_t c = 0; c < b->options.cpu_count; c++)
        sink_put(sink, b->cores[c].samples, b->cores[c].sample_count * sizeof(struct db_sample_row));
    sink_put(sink, rows, parallel_count * sizeof *rows);
}

/* A visit lasts more than a millisecond and holds at most GROUP_MAX rows; a core has its turns' share of
 * the time, and a pass over all entries where that is less. */
static uint64_t sample_capacity(const struct bench *b, uint32_t core)
{
    uint64_t turns = 0;
    for (uint32_t i = 0; i < b->visited_count; i++)
        turns += b->visited[i] == (int)core;
    uint64_t share = (uint64_t)(b->options.seconds_ns / DB_MILLISECOND) * turns / b->visited_count;
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
static uint64_t core_bytes(const struct bench *b, uint32_t core)
{
    uint64_t bytes = round_up((b->resource_count + 1) * sizeof(struct db_resource), PAGE_BYTES);
    bytes += round_up((b->entry_count + 1) * sizeof(struct db_entry_row), PAGE_BYTES);
    bytes += round_up(sample_capacity(b, core) * sizeof(struct db_sample_row), PAGE_BYTES);
    for (uint32_t r = 0; r < b->resource_count; r++)
        bytes += round_up(object_bytes(b, r), PAGE_BYTES);
    return round_up(bytes, LARGEST_PAGE_BYTES);
}

static void lay_out_core(struct bench *b, uint32_t c, unsigned char *memory)
{
    struct bench_core *core = &b->cores[c];
    core->memory = memory;
    core->memory_bytes = (size_t)core_bytes(b, c);
    core->resources = carve(core, (b->resource_count + 1) * sizeof *core->resources);
    core->state = carve(core, (b->entry_count + 1) * sizeof *core->state);
    core->sample_capacity = sample_capacity(b, c);
    core->samples = carve(core, core->sample_capacity * sizeof *core->samples);
    for (uint32_t i = 0; i < b->entry_count; i++)
        core->state[i] = (struct db_entry_row){.entry = (uint16_t)i, .core = (uint16_t)c};
}

bool bench_lay_out(struct bench *b)
{
    uint32_t cores = b->options.cpu_count;
    uint64_t bytes = 0;
    for (uint32_t c = 0; c < cores; c++)
        bytes += core_bytes(b, c);
    b->meeting = port_map(sizeof *b->meeting, 1);
    b->crowd = port_map(sizeof *b->crowd, 1);
    b->cores = port_map(cores * sizeof *b->cores, 1);
    unsigned char *memory = map_shared(bytes);
    if (!b->meeting || !b->crowd || !b->cores || !memory || !lay_out_passes(b))
        return false;
    for (uint32_t c = 0; c < cores; c++) {
        lay_out_core(b, c, memory);
        memory += b->cores[c].memory_bytes;
    }
    return true;
}

void bench_make_objects(struct bench *b)
{
    for_each_object(b, make_object);
}

void bench_destroy_objects(struct bench *b)
{
    for_each_object(b, destroy_object);
}
