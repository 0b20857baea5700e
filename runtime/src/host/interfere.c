/*
 * The verb `interfere`: how much longer does work on the first of --cpus take while the others repeat other
 * work? A line "NAME SIZE local|shared" of --entries is both, a victim and an aggressor. Every round has each
 * victim beside each aggressor in a slot of a few ms, beside threads that sleep, and twice alone, all in
 * random order: what the host does meets all of them alike. Every slot counts.
 *
 *   stdout  "done 0 ROUNDS", or "error interfere REASON"; the slots, JSON, go to --out
 */
#include "runtime.h"

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
#define PRIORITY 70
/* Aggressors that are none. */
#define ALONE (-1)
#define ASLEEP (-2)

struct work {
    const struct db_fragment *fragment;
    char name[64];
    uint32_t size;
    bool shared; /* all cores use one object */
    int error;
    int64_t estimate_ns;
};

struct core {
    alignas(DB_CACHE_LINE) atomic_uint generation;
    int32_t work; /* index, or ASLEEP; -3: the end */
    uint32_t repeats;
    int64_t took_ns;
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
};

static struct db_resource *resource_of(struct channels *all, uint32_t core, uint32_t work)
{
    bool shared = all->works[work].shared;
    return &all->resources[(shared ? 0 : core) * all->work_count + work];
}

static int set_up(struct performer *p, uint32_t i)
{
    struct channels *all = p->all;
    const struct work *work = &all->works[i];
    void *memory = port_map(context_bytes(work->fragment, work->size), 0);
    struct db_resource *r = work->fragment->kind == DB_SY ? resource_of(all, p->core, i) : NULL;
    if (!memory)
        return ENOMEM;
    return context_setup(&p->contexts[i], memory, work->size, all->options->seed + i * 7919u + p->core, r,
                         work->shared ? p->core : 0, work->fragment);
}

static int64_t estimate(struct performer *p, uint32_t i)
{
    int64_t best = INT64_MAX;
    for (int n = 0; n < 6; n++) {
        int64_t start = port_now_ns();
        p->all->works[i].fragment->run(&p->contexts[i]);
        int64_t took = port_now_ns() - start;
        best = took < best ? took : best;
    }
    return best > 0 ? best : 1;
}

static void be_victim(struct performer *p, struct core *mine)
{
    struct channels *all = p->all;
    void (*run)(struct db_context *) = all->works[mine->work].fragment->run;
    struct db_context *context = &p->contexts[mine->work];
    int64_t from = port_now_ns(), now;
    atomic_fetch_add(&all->arrived, 1);
    do {
        run(context);
        now = port_now_ns();
    } while (now < from + LEAD_IN_NS ||
             (atomic_load(&all->arrived) < all->expected && now < from + ARRIVAL_NS));
    mine->beside = atomic_load(&all->arrived) - 1;
    int64_t begin = port_now_ns();
    repeat(run, context, mine->repeats);
    mine->took_ns = port_now_ns() - begin;
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
    void (*run)(struct db_context *) = all->works[mine->work].fragment->run;
    while (!atomic_load_explicit(&all->finished, memory_order_relaxed))
        run(&p->contexts[mine->work]);
}

static void check_work(struct performer *p)
{
    char why[120] = "";
    for (uint32_t i = 0; i < p->all->work_count; i++) {
        const struct db_fragment *fragment = p->all->works[i].fragment;
        if (p->all->works[i].error)
            continue;
        if (fragment->check && fragment->check(&p->contexts[i], why, sizeof why))
            fail_with(&p->all->meeting.failure, fragment->name, why);
        if (fragment->teardown)
            fragment->teardown(&p->contexts[i]);
    }
}

static void *performer_main(void *argument)
{
    struct performer *p = argument;
    struct channels *all = p->all;
    struct core *mine = &all->cores[p->core];
    for (uint32_t i = 0; i < all->work_count; i++) {
        struct work *work = &all->works[i];
        int error = work->error ? work->error : set_up(p, i);
        if (error)
            work->error = error;
        else if (p->core == 0) /* the victim's; the others are set up after it */
            work->estimate_ns = estimate(p, i);
        else
            work->fragment->run(&p->contexts[i]);
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
    check_work(p);
    return NULL;
}

static _Noreturn void core_process(struct channels *all, uint32_t core)
{
    const struct options *o = all->options;
    uint64_t thread;
    struct performer *p = port_map(sizeof *p, 0);
    bool ok = p && place_agent(o, o->cpus[core], &all->meeting.failure, all->bound_ns);
    if (ok) {
        p->all = all;
        p->core = core;
        int error = port_start_thread(performer_main, p, o->policy, PRIORITY, o->cpus[core], &thread);
        if (error)
            fail_errno(&all->meeting.failure, "a thread could not be started", error);
        ok = error == 0;
    }
    if (!ok) {
        say_done(&all->meeting);
        port_exit(1);
    }
    port_join_thread(thread);
    port_exit(0);
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
    row->repeats = repeats < 1 ? 1 : repeats > INT32_MAX ? INT32_MAX : (uint32_t)repeats;
    atomic_store(&all->arrived, 0);
    atomic_store(&all->finished, 0);
    all->expected = others + 1;
    for (uint32_t c = 1; c <= others; c++)
        tell(all, c, row->aggressor, 0);
    tell(all, 0, row->victim, row->repeats);
    bool ok = wait_done(&all->meeting, others + 1);
    row->took_ns = all->cores[0].took_ns;
    row->beside = all->cores[0].beside;
    port_sleep_until_ns(port_now_ns() + REST_NS);
    return ok;
}

/* The slots of a round, in random order. */
static uint32_t plan_round(const struct channels *all, struct slot_row *rows, uint32_t round,
                           uint64_t *random)
{
    uint32_t count = 0, works = all->work_count;
    bool alone = all->options->cpu_count == 1;
    for (uint32_t v = 0; v < works; v++)
        for (int a = ASLEEP - 1; a < (alone ? 0 : (int)works); a++) {
            int16_t aggressor = (int16_t)(a < ASLEEP ? ALONE : a); /* twice alone */
            if (all->works[v].error || (a >= 0 && all->works[a].error))
                continue;
            rows[count++] = (struct slot_row){.round = round, .victim = (int16_t)v, .aggressor = aggressor};
        }
    for (uint32_t i = count; i > 1; i--) {
        uint32_t k = (uint32_t)(db_random(random) % i);
        struct slot_row kept = rows[i - 1];
        rows[i - 1] = rows[k];
        rows[k] = kept;
    }
    return count;
}

/* Whole rounds, as long as there is time. */
static bool run_rounds(struct channels *all, struct slot_row *rows, uint64_t *count, uint32_t *rounds)
{
    uint64_t random = db_seed_state(all->options->seed);
    int64_t start = port_now_ns(), end = start + all->options->seconds_ns, spent = 0;
    uint32_t most = all->work_count * (all->work_count + 3);
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

static const char *read_works(struct channels *all, const char *path)
{
    static char why[DB_REASON_BYTES];
    char access[8];
    FILE *file = fopen(path ? path : "", "r");
    if (!file)
        return "the list of entries cannot be read";
    while (all->work_count < ENTRIES_MAX) {
        struct work *work = &all->works[all->work_count];
        if (fscanf(file, "%63s %u %7s", work->name, &work->size, access) != 3)
            break;
        work->fragment = find_fragment(work->name);
        work->shared = strcmp(access, "shared") == 0;
        if (!work->fragment) {
            snprintf(why, sizeof why, "there is no fragment %s in this program", work->name);
            fclose(file);
            return why;
        }
        all->work_count++;
    }
    bool more = fgetc(file) != EOF && !feof(file);
    fclose(file);
    return all->work_count == 0 ? "no entries are given" : more ? "more than 64 entries" : NULL;
}

static void make_object(struct channels *all, uint32_t core, uint32_t i)
{
    struct work *work = &all->works[i];
    const struct db_fragment *fragment = work->fragment;
    uint32_t users = work->shared ? all->options->cpu_count : 1;
    struct db_resource *r = &all->resources[core * all->work_count + i];
    size_t bytes = fragment->shared_bytes ? fragment->shared_bytes(users, work->size) : 0;
    void *memory = port_map(bytes + DB_CACHE_LINE, 1);
    r->participants = r->cores = users;
    r->max_size = work->size;
    int error =
        memory ? resource_create(r, fragment, memory, all->options->policy, all->options->owner_pid) : ENOMEM;
    if (error) {
        work->error = error;
        r->shared = NULL;
    }
}

static void for_each_object(struct channels *all, void (*act)(struct channels *, uint32_t, uint32_t))
{
    for (uint32_t c = 0; c < all->options->cpu_count; c++)
        for (uint32_t i = 0; i < all->work_count; i++)
            if (all->works[i].fragment->kind == DB_SY && (c == 0 || !all->works[i].shared))
                act(all, c, i);
}

/* Guarded work is counted: an object that is not whole has let two in at once. */
static void end_object(struct channels *all, uint32_t core, uint32_t i)
{
    char why[120] = "";
    struct db_resource *r = &all->resources[core * all->work_count + i];
    const struct db_fragment *fragment = all->works[i].fragment;
    if (!r->shared)
        return;
    if (!all->works[i].error && !has_failed(&all->meeting.failure) && fragment->check_resource &&
        fragment->check_resource(r, why, sizeof why))
        fail_with(&all->meeting.failure, fragment->name, why);
    if (fragment->destroy)
        fragment->destroy(r);
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
        fprintf(file,
                "%s{\"name\":\"%s\",\"size\":%u,\"shared\":%s,\"estimate_ns\":%" PRId64 ",\"error\":\"%s\"}",
                i ? ",\n" : "\n", work->name, work->size, work->shared ? "true" : "false", work->estimate_ns,
                work->error ? strerror(work->error) : "");
    }
    fputs("],\"slots\":[", file);
    for (uint64_t i = 0; i < count; i++)
        fprintf(file, "%s[%u,%d,%d,%u,%u,%" PRId64 "]", i ? ",\n" : "\n", rows[i].round, rows[i].victim,
                rows[i].aggressor, rows[i].repeats, rows[i].beside, rows[i].took_ns);
    fputs("]}\n", file);
    return part_close(&part);
}

static int refuse(const char *why)
{
    printf("error interfere %s\n", why);
    fflush(stdout);
    return 1;
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
        return refuse(why);
    all->options = o;
    all->bound_ns = 2 * o->seconds_ns + MARGIN_NS;
    all->resources = port_map((size_t)o->cpu_count * all->work_count * sizeof *all->resources, 1);
    if (!all->resources)
        return refuse("there is not enough memory");
    guard_allow(all->bound_ns);
    for_each_object(all, make_object);
    bool ok = run_channels(all, rows, &count, &rounds);
    for_each_object(all, end_object);
    ok = ok && !has_failed(&all->meeting.failure);
    int error = ok ? put_rows(all, rows, count) : 0;
    free(rows);
    if (!ok || error)
        return refuse(error                               ? strerror(error)
                      : has_failed(&all->meeting.failure) ? all->meeting.failure.reason
                                                          : "a core's process died");
    printf("done 0 %u\n", rounds);
    fflush(stdout);
    return 0;
}
