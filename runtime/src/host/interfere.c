/*
 * The verb `interfere`: how much longer does work on the first of --cpus take while the others repeat other
 * work? A line of --entries is both, a victim and an aggressor:
 *
 *   fragment NAME SIZE local|shared [global]                 global: behind one lock of all that are
 *   primitive NAME VARIANT SIZE AMOUNT BATCHES EQUAL       VARIANT "-": the first; the last two 0 or 1
 *
 * In a round the victims come in random order, and each has its slots of a few ms in random order: one beside
 * each aggressor, some beside threads that sleep, some alone. What the host does meets all of them alike.
 * Every slot counts.
 *
 *   stdout  "done 0 ROUNDS", or "error interfere REASON"; the slots, JSON, go to --out
 */
#include "repeated.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define ENTRIES_MAX 64
#define ROUNDS_MAX 20000
#define SLOT_NS (3 * DB_MILLISECOND)
#define LEAD_IN_NS (100 * INT64_C(1000))
/* An aggressor that does not come is not waited for any longer; the slot says so. */
#define ARRIVAL_NS (20 * DB_MILLISECOND)
/* Real-time threads must leave some time to others. */
#define REST_NS (SLOT_NS / 8)
#define MARGIN_NS (30000 * DB_MILLISECOND)
/* Aggressors that are none. */
#define ALONE (-1)
#define ASLEEP (-2)
/* Primitives are repeated for so long before anybody looks whether the slot is over. */
#define STRETCH_NS (20 * INT64_C(1000))

struct work {
    const struct db_fragment *fragment; /* NULL: a primitive */
    struct repeated_kind kind;
    char name[64];
    uint32_t size;
    bool shared;               /* all cores use one object */
    bool global;               /* a use takes the one lock first */
    char why[DB_REASON_BYTES]; /* it cannot be done; "": it can */
    int64_t estimate_ns;
    uint32_t stretch; /* uses of a fragment, samples of a primitive */
};

struct core {
    alignas(DB_CACHE_LINE) atomic_uint generation;
    int32_t work; /* index, or ASLEEP; -3: the end */
    uint32_t repeats;
    int64_t took_ns;
    uint32_t uses;
    uint32_t beside; /* aggressors that had begun when the victim did */
};

struct slot_row {
    uint32_t round;
    int16_t victim, aggressor;
    uint32_t repeats, beside;
    int64_t took_ns;
};

struct channels {
    struct rendezvous meeting;
    alignas(DB_CACHE_LINE) atomic_uint arrived;
    alignas(DB_CACHE_LINE) atomic_uint finished;
    alignas(DB_CACHE_LINE) atomic_uint next; /* the one lock: first come, first served */
    alignas(DB_CACHE_LINE) atomic_uint turn;
    uint32_t expected; /* in this slot, the victim included */
    const struct options *options;
    struct work works[ENTRIES_MAX];
    uint32_t work_count;
    struct core cores[DB_MAX_CORES];
    struct db_resource *resources; /* [core][work] */
    int64_t bound_ns;
};

/* --- a core's thread ---------------------------------------------------------------------------------- */

struct performer {
    struct channels *all;
    uint32_t core;
    struct db_context contexts[ENTRIES_MAX];
    struct repeated *repeated[ENTRIES_MAX]; /* NULL: a fragment */
};

static struct db_resource *resource_of(struct channels *all, uint32_t core, uint32_t work)
{
    bool shared = all->works[work].shared;
    return &all->resources[(shared ? 0 : core) * all->work_count + work];
}

static void refuse_work(struct work *work, const char *why)
{
    if (!work->why[0])
        snprintf(work->why, sizeof work->why, "%s", why);
}

static int set_up(struct performer *p, uint32_t i)
{
    struct channels *all = p->all;
    const struct work *work = &all->works[i];
    if (p->repeated[i])
        return repeated_begin(p->repeated[i]);
    void *memory = port_map(context_bytes(work->fragment, work->size), 0);
    struct db_resource *r = work->fragment->kind == DB_SY ? resource_of(all, p->core, i) : NULL;
    if (!memory)
        return ENOMEM;
    return context_setup(&p->contexts[i], memory, work->size, all->options->seed + i * 7919u + p->core, r,
                         work->shared ? p->core : 0, work->fragment);
}

/* So many uses of a fragment, or samples of a primitive: what they took, and how many uses that were. */
static int64_t perform(struct performer *p, int32_t i, uint32_t repeats, uint32_t *uses)
{
    if (p->repeated[i])
        return repeated_run(p->repeated[i], repeats, uses);
    const struct work *work = &p->all->works[i];
    int64_t begin = port_now_ns();
    for (uint32_t n = 0; work->global && n < repeats; n++) {
        unsigned ticket = atomic_fetch_add(&p->all->next, 1);
        while (atomic_load(&p->all->turn) != ticket)
            db_relax();
        work->fragment->run(&p->contexts[i]);
        atomic_store(&p->all->turn, ticket + 1);
    }
    repeat(work->fragment->run, &p->contexts[i], work->global ? 0 : repeats);
    *uses = repeats;
    return port_now_ns() - begin;
}

static void estimate(struct performer *p, uint32_t i)
{
    struct work *work = &p->all->works[i];
    int64_t best = INT64_MAX;
    uint32_t trial = work->fragment ? 1 : 8, uses;
    for (int n = 0; n < 6; n++) {
        int64_t start = port_now_ns();
        perform(p, (int32_t)i, trial, &uses);
        int64_t took = (port_now_ns() - start) / trial;
        best = took < best ? took : best;
    }
    work->estimate_ns = best > 0 ? best : 1;
    work->stretch = work->fragment ? 1 : (uint32_t)(STRETCH_NS / work->estimate_ns + 1);
}

static void be_victim(struct performer *p, struct core *mine)
{
    struct channels *all = p->all;
    uint32_t stretch = all->works[mine->work].stretch, uses;
    int64_t from = port_now_ns(), now;
    atomic_fetch_add(&all->arrived, 1);
    do {
        perform(p, mine->work, stretch, &uses);
        now = port_now_ns();
    } while (now < from + LEAD_IN_NS ||
             (atomic_load(&all->arrived) < all->expected && now < from + ARRIVAL_NS));
    mine->beside = atomic_load(&all->arrived) - 1;
    mine->took_ns = perform(p, mine->work, mine->repeats, &mine->uses);
    atomic_store(&all->finished, 1);
    port_wake(&all->finished);
}

static void be_aggressor(struct performer *p, const struct core *mine)
{
    struct channels *all = p->all;
    atomic_fetch_add(&all->arrived, 1);
    if (mine->work == ASLEEP) {
        while (!atomic_load(&all->finished))
            port_wait(&all->finished, 0, -1);
        return;
    }
    uint32_t uses;
    while (!atomic_load_explicit(&all->finished, memory_order_relaxed))
        perform(p, mine->work, all->works[mine->work].stretch, &uses);
}

static void check_work(struct performer *p, uint32_t i)
{
    struct work *work = &p->all->works[i];
    char text[120] = "";
    const char *why = NULL;
    if (p->repeated[i])
        why = repeated_end(p->repeated[i]);
    else if (work->fragment->check && work->fragment->check(&p->contexts[i], text, sizeof text))
        why = text;
    if (why)
        fail_with(&p->all->meeting.failure, work->name, why);
    if (work->fragment && work->fragment->teardown)
        work->fragment->teardown(&p->contexts[i]);
}

static void *performer_main(void *argument)
{
    struct performer *p = argument;
    struct channels *all = p->all;
    struct core *mine = &all->cores[p->core];
    for (uint32_t i = 0; i < all->work_count; i++) {
        struct work *work = &all->works[i];
        int error = work->why[0] ? 0 : set_up(p, i);
        uint32_t uses;
        if (error)
            refuse_work(work, strerror(error));
        else if (!work->why[0] && p->core == 0) /* the victim's; the others are set up after it */
            estimate(p, i);
        else if (!work->why[0])
            perform(p, (int32_t)i, 1, &uses);
    }
    say_done(&all->meeting);
    for (unsigned seen = 0;; seen++) {
        while (atomic_load(&mine->generation) == seen)
            port_wait(&mine->generation, seen, -1);
        if (mine->work < ASLEEP)
            break;
        if (p->core == 0)
            be_victim(p, mine);
        else
            be_aggressor(p, mine);
        say_done(&all->meeting);
    }
    for (uint32_t i = 0; i < all->work_count; i++)
        if (!all->works[i].why[0])
            check_work(p, i);
    return NULL;
}

static void make_repeated(void *argument)
{
    struct performer *p = argument;
    const struct options *o = p->all->options;
    for (uint32_t i = 0; i < p->all->work_count; i++) {
        struct work *work = &p->all->works[i];
        const char *why = NULL;
        if (work->fragment || work->why[0])
            continue;
        p->repeated[i] = repeated_new(&work->kind, o->policy, AGENT_PRIORITY, o->cpus[p->core], &why);
        if (why)
            refuse_work(work, why);
    }
}

static _Noreturn void core_process(struct channels *all, uint32_t core)
{
    struct performer *p = port_map(sizeof *p, 0);
    if (!p) {
        fail_errno(&all->meeting.failure, "a core's process", ENOMEM);
        say_done(&all->meeting);
        port_exit(1);
    }
    p->all = all;
    p->core = core;
    agent_process(all->options, &all->meeting, core, all->bound_ns, make_repeated, performer_main, p);
}

/* --- the coordinator ------------------------------------------------------------------------------------ */

static void tell(struct channels *all, uint32_t core, int32_t work, uint32_t repeats)
{
    struct core *c = &all->cores[core];
    c->work = work;
    c->repeats = repeats;
    atomic_fetch_add(&c->generation, 1);
    port_wake(&c->generation);
}

static bool run_slot(struct channels *all, struct slot_row *row)
{
    uint32_t others = row->aggressor == ALONE ? 0 : all->options->cpu_count - 1;
    int64_t repeats = SLOT_NS / all->works[row->victim].estimate_ns;
    repeats = repeats < 1 ? 1 : repeats > INT32_MAX ? INT32_MAX : repeats;
    atomic_store(&all->arrived, 0);
    atomic_store(&all->finished, 0);
    all->expected = others + 1;
    for (uint32_t c = 1; c <= others; c++)
        tell(all, c, row->aggressor, 0);
    tell(all, 0, row->victim, (uint32_t)repeats);
    bool ok = wait_done(&all->meeting, others + 1);
    row->repeats = all->cores[0].uses;
    row->took_ns = all->cores[0].took_ns;
    row->beside = all->cores[0].beside;
    port_sleep_until_ns(port_now_ns() + REST_NS);
    return ok;
}

/* Slots alone of a victim in a round, and as many beside threads that sleep. Those alone are the denominator
 * of all others: the sum of the errors of n ratios is least with sqrt(n) of them. */
static uint32_t slots_alone(const struct channels *all)
{
    uint32_t alone = 1;
    while (alone * (alone + 1) < all->work_count + 1) /* rounds the root */
        alone++;
    return alone;
}

/* All slots of a victim follow one another, in random order: what changes more slowly meets all alike. */
static uint32_t plan_victim(const struct channels *all, struct slot_row *rows, struct slot_row row,
                            uint64_t *random)
{
    uint32_t count = 0, alone = slots_alone(all), works = all->work_count;
    for (uint32_t i = 0; i < works + 2 * alone; i++) {
        row.aggressor = (int16_t)(i < works ? (int)i : i < works + alone ? ALONE : ASLEEP);
        bool lacking = i < works && all->works[i].why[0];
        if (!lacking && (row.aggressor == ALONE || all->options->cpu_count > 1))
            rows[count++] = row;
    }
    shuffle(rows, count, sizeof *rows, random);
    return count;
}

static uint32_t plan_round(const struct channels *all, struct slot_row *rows, uint32_t round,
                           uint64_t *random)
{
    uint32_t count = 0;
    int16_t victims[ENTRIES_MAX];
    for (uint32_t v = 0; v < all->work_count; v++)
        victims[v] = (int16_t)v;
    shuffle(victims, all->work_count, sizeof *victims, random);
    for (uint32_t v = 0; v < all->work_count; v++)
        if (!all->works[victims[v]].why[0])
            count += plan_victim(all, &rows[count], (struct slot_row){.round = round, .victim = victims[v]},
                                 random);
    return count;
}

/* Whole rounds, as long as there is time. */
static bool run_rounds(struct channels *all, struct slot_row *rows, uint64_t *count, uint32_t *rounds)
{
    uint64_t random = db_seed_state(all->options->seed);
    int64_t start = port_now_ns(), end = start + all->options->seconds_ns, spent = 0;
    uint32_t most = all->work_count * (all->work_count + 2 * slots_alone(all));
    for (*rounds = 0; *rounds < 2 || port_now_ns() + spent / 2 < end; ++*rounds) {
        int64_t began = port_now_ns();
        if (*count + most > (uint64_t)ROUNDS_MAX * 64)
            break;
        uint32_t slots = plan_round(all, &rows[*count], *rounds, &random);
        for (uint32_t i = 0; i < slots; i++)
            if (!run_slot(all, &rows[*count + i]))
                return false;
        *count += slots;
        spent = port_now_ns() - began;
    }
    return true;
}

static bool run_channels(struct channels *all, struct slot_row *rows, uint64_t *count, uint32_t *rounds)
{
    int pids[DB_MAX_CORES] = {0};
    uint32_t cores = all->options->cpu_count;
    watch_children(&all->meeting);
    bool ok = true;
    for (uint32_t c = 0; ok && c < cores; c++) { /* one after the other: the victim's estimate is quiet */
        if ((pids[c] = port_fork()) == 0)
            core_process(all, c);
        ok = pids[c] > 0 && wait_done(&all->meeting, 1);
    }
    ok = ok && run_rounds(all, rows, count, rounds);
    watch_children(NULL);
    for (uint32_t c = 0; ok && c < cores; c++)
        tell(all, c, ASLEEP - 1, 0);
    for (uint32_t c = 0; c < cores; c++) {
        if (!ok && pids[c] > 0)
            port_kill(pids[c]);
        if (pids[c] > 0)
            port_reap(pids[c]);
    }
    return ok && !has_failed(&all->meeting.failure);
}

/* --- entries and objects ----------------------------------------------------------------------------------
 */

/* NULL, or why the line cannot be understood. */
static const char *read_work(struct work *work, const char *line)
{
    char access[8], lock[8] = "", variant[32];
    int batches, equal;
    if (sscanf(line, "fragment %63s %u %7s %7s", work->name, &work->size, access, lock) >= 3) {
        work->global = strcmp(lock, "global") == 0;
        work->fragment = find_fragment(work->name);
        work->shared = strcmp(access, "shared") == 0;
        return work->fragment ? NULL : "there is no such fragment in this program";
    }
    if (sscanf(line, "primitive %63s %31s %" SCNd64 " %" SCNd64 " %d %d", work->name, variant,
               &work->kind.size, &work->kind.amount, &batches, &equal) != 6)
        return "a line of the list of entries is wrong";
    work->kind.batches = batches;
    work->kind.equal = equal;
    const char *why = repeated_find(&work->kind, work->name, variant);
    if (why && work->kind.primitive)
        refuse_work(work, why);
    return work->kind.primitive ? NULL : why;
}

static const char *read_works(struct channels *all, const char *path)
{
    char line[200];
    const char *why = NULL;
    FILE *file = fopen(path ? path : "", "r");
    if (!file)
        return "the list of entries cannot be read";
    while (!why && fgets(line, sizeof line, file))
        why = all->work_count == ENTRIES_MAX ? "more than 64 entries"
                                             : read_work(&all->works[all->work_count++], line);
    fclose(file);
    return why ? why : all->work_count == 0 ? "no entries are given" : NULL;
}

static void make_object(struct channels *all, uint32_t core, uint32_t i)
{
    struct work *work = &all->works[i];
    int error = object_make(&all->resources[core * all->work_count + i], work->fragment,
                            work->shared ? all->options->cpu_count : 1, work->size, all->options);
    if (error)
        refuse_work(work, strerror(error));
}

static void for_each_object(struct channels *all, void (*act)(struct channels *, uint32_t, uint32_t))
{
    for (uint32_t c = 0; c < all->options->cpu_count; c++)
        for (uint32_t i = 0; i < all->work_count; i++)
            if (all->works[i].fragment && all->works[i].fragment->kind == DB_SY &&
                (c == 0 || !all->works[i].shared))
                act(all, c, i);
}

static void end_object(struct channels *all, uint32_t core, uint32_t i)
{
    const struct work *work = &all->works[i];
    object_end(&all->resources[core * all->work_count + i], work->fragment,
               work->why[0] ? NULL : &all->meeting.failure);
}

/* --- the result
 * --------------------------------------------------------------------------------------------- */

static int put_rows(const struct channels *all, const struct slot_row *rows, uint64_t count)
{
    struct part part;
    FILE *file = part_open(&part, all->options->out);
    if (!file)
        return errno;
    fprintf(file, "{\"version\":1,\"clock_cost_ps\":%" PRId64 ",\"slot_ns\":%lld,\"works\":[",
            clock_cost_ps(), (long long)SLOT_NS);
    for (uint32_t i = 0; i < all->work_count; i++) {
        const struct work *work = &all->works[i];
        size_t bytes = work->fragment ? context_bytes(work->fragment, work->size) : 0;
        fprintf(file, "%s{\"name\":\"%s\",\"bytes\":%zu,\"estimate_ns\":%" PRId64 ",\"error\":\"%s\"}",
                i ? ",\n" : "\n", work->name, bytes, work->estimate_ns, work->why);
    }
    fputs("],\"slots\":[", file);
    for (uint64_t i = 0; i < count; i++)
        fprintf(file, "%s[%u,%d,%d,%u,%u,%" PRId64 "]", i ? ",\n" : "\n", rows[i].round, rows[i].victim,
                rows[i].aggressor, rows[i].repeats, rows[i].beside, rows[i].took_ns);
    fputs("]}\n", file);
    return part_close(&part);
}

int measure_interference(const struct options *o)
{
    uint64_t count = 0;
    uint32_t rounds = 0;
    struct channels *all = port_map(sizeof *all, 1);
    struct slot_row *rows = malloc((size_t)ROUNDS_MAX * 64 * sizeof *rows);
    const char *why = all && rows ? read_works(all, o->entries) : "there is not enough memory";
    if (!why && (!o->out || o->seconds_ns == 0))
        why = "--out and --seconds-ns are needed";
    if (why)
        return refuse_verb("interfere", why);
    all->options = o;
    all->bound_ns = 2 * o->seconds_ns + MARGIN_NS;
    all->resources = port_map((size_t)o->cpu_count * all->work_count * sizeof *all->resources, 1);
    if (!all->resources)
        return refuse_verb("interfere", "there is not enough memory");
    guard_allow(all->bound_ns);
    for_each_object(all, make_object);
    bool ok = run_channels(all, rows, &count, &rounds);
    for_each_object(all, end_object);
    ok = ok && !has_failed(&all->meeting.failure);
    int error = ok ? put_rows(all, rows, count) : 0;
    free(rows);
    if (!ok || error)
        return refuse_verb("interfere", error                               ? strerror(error)
                                        : has_failed(&all->meeting.failure) ? all->meeting.failure.reason
                                                                            : "a core's process died");
    return end_verb(rounds);
}
