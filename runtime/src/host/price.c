/*
 * The verb `price`: what does an operation take alone, and while other cores do the same? A line of
 * --entries:
 *
 *   NAME SIZE shared|local hammer|visit CORES
 *
 * CORES are places in --cpus ("0,1"), the first the victim. `shared`: all of them use one object, `local`:
 * each has its own. `hammer`: no pause between calls; `visit`: about half a microsecond of own work after
 * each.
 *
 * In a round, whose processes and objects are new, the entries come in random order; those that take long to
 * set up come in some rounds only. Each has a slot of a few ms in which all its cores work, and one for each
 * core alone (a sample of many), in random order. All cores count, over one window. Between slots a word goes
 * to and fro between the first two cores: the state that the host has put them in.
 *
 *   stdout  "progress PERMILLE" after each round, "done 0 ROUNDS", or "error price REASON"; slots go to --out
 */
#include "runtime.h"

#include "deadbeat/sy/common.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define ENTRIES_MAX 512
#define MEMBERS_MAX 64
#define ROWS_MAX 400000
#define ROW_NS (WINDOW_NS + REST_NS) /* at least */
#define ALONE_SAMPLE 4
#define WINDOW_NS (2 * DB_MILLISECOND)
/* An inherited mutex takes a while until it is handed over at every operation. */
#define LEAD_IN_NS DB_MILLISECOND
/* A core that does not come is not waited for any longer; the slot says so. */
#define ARRIVAL_NS (20 * DB_MILLISECOND)
/* Real-time threads must leave some time to others. */
#define REST_NS (WINDOW_NS / 8)
#define WARM_UP 4 /* calls */
#define MARGIN_NS (30000 * DB_MILLISECOND)
/* The clock is read after about so much work, at the pace that it has then. */
#define STRETCH_NS (20 * INT64_C(1000))
/* What takes so long to set up comes in every second round, what takes twice as long in every third. */
#define PREPARE_NS (60 * DB_MILLISECOND)
/* Own work after a visit: 400 to 600 ns, so that two cores do not fall into step. */
#define PAUSE_LEAST_NS 400
#define PAUSE_SPREAD_NS 200

enum action { WORK, PING, PONG, END };

struct entry {
    const struct db_fragment *fragment;
    char name[64];
    uint32_t size, members, cores[MEMBERS_MAX];
    bool shared, visit;
    char why[DB_REASON_BYTES]; /* it cannot be done; "": it can */
    int64_t prepare_ns;        /* on all cores, before the slots of a round */
    bool due;                  /* in this round */
};

struct core {
    alignas(DB_CACHE_LINE) atomic_uint generation;
    enum action action;
    uint32_t entry;
    alignas(DB_CACHE_LINE) int64_t took_ns;
    uint64_t calls, handovers, sleeps;
    int64_t stopped_ns; /* of took_ns: it neither ran nor slept of its own accord */
    uint64_t trip_ps;
};

struct price_row {
    uint32_t round;
    int16_t entry, who; /* who: -1: all; else which of the entry's cores, alone */
    uint32_t there;     /* cores that had begun when the first one counted */
    int64_t first_ns, others_ns;
    uint64_t first_calls, others_calls, handovers, sleeps; /* the last two: of all */
    int64_t stopped_ns;                                    /* of the core that stood still longest */
    uint64_t before_ps, after_ps;                          /* the round trip; 0: not known */
    int64_t at_ns;
};

struct pricing {
    struct rendezvous meeting;
    alignas(DB_CACHE_LINE) atomic_uint arrived;
    alignas(DB_CACHE_LINE) atomic_uint counted;
    alignas(DB_CACHE_LINE) uint32_t expected;
    const struct options *options;
    struct entry entries[ENTRIES_MAX];
    uint32_t entry_count, rows_max;
    struct core cores[DB_MAX_CORES];
    struct db_resource *resources; /* [core][entry] */
    int64_t bound_ns, began_ns;
};

/* --- a core's thread ---------------------------------------------------------------------------------- */

struct performer {
    struct pricing *all;
    uint32_t core;
    uint64_t random;
    int usage;
    struct db_context contexts[ENTRIES_MAX];
};

static int member_of(const struct entry *entry, uint32_t core)
{
    for (uint32_t i = 0; i < entry->members; i++)
        if (entry->cores[i] == core)
            return (int)i;
    return -1;
}

static struct db_resource *resource_of(struct pricing *all, uint32_t core, uint32_t i)
{
    return &all->resources[(all->entries[i].shared ? 0 : core) * all->entry_count + i];
}

static void refuse_entry(struct entry *entry, const char *why)
{
    if (!entry->why[0])
        snprintf(entry->why, sizeof entry->why, "%s", why);
}

static void perform(struct performer *p, uint32_t i, uint32_t calls)
{
    const struct entry *entry = &p->all->entries[i];
    if (!entry->visit) {
        repeat(entry->fragment->run, &p->contexts[i], calls);
        return;
    }
    for (; calls; calls--) {
        repeat(entry->fragment->run, &p->contexts[i], 1);
        compute_for(PAUSE_LEAST_NS + (int64_t)(db_random(&p->random) % PAUSE_SPREAD_NS));
    }
}

static int set_up(struct performer *p, uint32_t i)
{
    struct pricing *all = p->all;
    const struct entry *entry = &all->entries[i];
    void *memory = port_map(context_bytes(entry->fragment, entry->size), 0);
    bool syncs = entry->fragment->kind == DB_SY;
    if (!memory)
        return ENOMEM;
    return context_setup(&p->contexts[i], memory, entry->size, all->options->seed + i * 7919u + p->core,
                         syncs ? resource_of(all, p->core, i) : NULL,
                         entry->shared ? (uint32_t)member_of(entry, p->core) : 0, entry->fragment);
}

static uint64_t handovers(const struct performer *p, uint32_t i)
{
    bool syncs = p->all->entries[i].fragment->kind == DB_SY;
    return syncs ? ((const struct db_sy_task *)p->contexts[i].memory)->handovers : 0;
}

/* Repeats until all are there; calls between two reads of the clock, found while they are. */
static uint32_t lead_in(struct performer *p, uint32_t i)
{
    struct pricing *all = p->all;
    int64_t from = port_now_ns(), now = from;
    uint32_t stretch = 1;
    bool alone, slow;
    atomic_fetch_add(&all->arrived, 1);
    do {
        int64_t before = now;
        perform(p, i, stretch);
        now = port_now_ns();
        slow = now - before > 2 * STRETCH_NS && stretch > 1;
        if (slow)
            stretch /= 2;
        else if (now - before < STRETCH_NS / 2)
            stretch *= 2;
        alone = atomic_load_explicit(&all->arrived, memory_order_relaxed) < all->expected;
    } while (now < from + LEAD_IN_NS || ((alone || slow) && now < from + ARRIVAL_NS));
    return stretch;
}

/* Counts over the window, and goes on until all others have counted: nobody counts what was easy because
 * another had stopped. */
static void work(struct performer *p, struct core *mine)
{
    struct pricing *all = p->all;
    uint32_t i = mine->entry, stretch = lead_in(p, i), expected = all->expected;
    struct db_usage before, after;
    uint64_t calls = 0, handed = handovers(p, i);
    port_usage(p->usage, &before, 0);
    int64_t now, begin = port_now_ns();
    do {
        perform(p, i, stretch);
        calls += stretch;
        now = port_now_ns();
    } while (now < begin + WINDOW_NS);
    port_usage(p->usage, &after, 1);
    mine->took_ns = now - begin;
    mine->calls = calls;
    mine->handovers = handovers(p, i) - handed;
    mine->sleeps = after.voluntary - before.voluntary;
    mine->stopped_ns = mine->sleeps ? after.run_delay_ns - before.run_delay_ns
                                    : mine->took_ns - (after.cpu_ns - before.cpu_ns);
    atomic_fetch_add(&all->counted, 1);
    while (atomic_load_explicit(&all->counted, memory_order_relaxed) < expected &&
           now < begin + 2 * ARRIVAL_NS) {
        perform(p, i, stretch);
        now = port_now_ns();
    }
}

static void check_entry(struct performer *p, uint32_t i)
{
    const struct entry *entry = &p->all->entries[i];
    char text[120] = "";
    if (entry->fragment->check && entry->fragment->check(&p->contexts[i], text, sizeof text))
        fail_with(&p->all->meeting.failure, entry->name, text);
    if (entry->fragment->teardown)
        entry->fragment->teardown(&p->contexts[i]);
}

static bool has_entry(const struct performer *p, uint32_t i)
{
    const struct entry *entry = &p->all->entries[i];
    return entry->due && !entry->why[0] && member_of(entry, p->core) >= 0;
}

static void *performer_main(void *argument)
{
    struct performer *p = argument;
    struct pricing *all = p->all;
    struct core *mine = &all->cores[p->core];
    unsigned seen = atomic_load(&mine->generation);
    int lacking = port_usage_open(&p->usage);
    if (lacking)
        fail_errno(&all->meeting.failure, "a core's account", lacking);
    for (uint32_t i = 0; i < all->entry_count; i++)
        if (has_entry(p, i)) {
            int64_t start = port_now_ns();
            int error = set_up(p, i);
            if (error)
                refuse_entry(&all->entries[i], strerror(error));
            else
                perform(p, i, WARM_UP);
            all->entries[i].prepare_ns += port_now_ns() - start; /* one core after the other */
        }
    say_done(&all->meeting);
    for (;; seen++) {
        while (atomic_load(&mine->generation) == seen)
            port_wait(&mine->generation, seen, -1);
        if (mine->action == END)
            break;
        if (mine->action == PING)
            mine->trip_ps = ping(&all->meeting.ball);
        else if (mine->action == PONG)
            pong(&all->meeting.ball);
        else
            work(p, mine);
        say_done(&all->meeting);
    }
    for (uint32_t i = 0; i < all->entry_count; i++)
        if (has_entry(p, i))
            check_entry(p, i);
    return NULL;
}

static _Noreturn void core_process(struct pricing *all, uint32_t core)
{
    struct performer *p = port_map(sizeof *p, 0);
    if (!p) {
        fail_errno(&all->meeting.failure, "a core's process", ENOMEM);
        say_done(&all->meeting);
        port_exit(1);
    }
    p->all = all;
    p->core = core;
    p->random = db_seed_state(all->options->seed + core);
    agent_process(all->options, &all->meeting, core, all->bound_ns, NULL, performer_main, p);
}

/* --- the coordinator ------------------------------------------------------------------------------------ */

static void tell(struct pricing *all, uint32_t core, enum action action, uint32_t entry)
{
    struct core *c = &all->cores[core];
    c->action = action;
    c->entry = entry;
    atomic_fetch_add(&c->generation, 1);
    port_wake(&c->generation);
}

static bool round_trip(struct pricing *all, const struct entry *entry, uint64_t *trip_ps)
{
    *trip_ps = 0;
    if (entry->members < 2)
        return true;
    atomic_store(&all->meeting.ball, 0);
    tell(all, entry->cores[1], PONG, 0);
    tell(all, entry->cores[0], PING, 0);
    bool ok = wait_done(&all->meeting, 2);
    *trip_ps = all->cores[entry->cores[0]].trip_ps;
    return ok;
}

static bool run_slot(struct pricing *all, struct price_row *row)
{
    const struct entry *entry = &all->entries[row->entry];
    uint32_t first = row->who < 0 ? 0 : (uint32_t)row->who, end = row->who < 0 ? entry->members : first + 1;
    atomic_store(&all->arrived, 0);
    atomic_store(&all->counted, 0);
    all->expected = end - first;
    row->at_ns = port_now_ns() - all->began_ns;
    for (uint32_t m = end; m > first; m--)
        tell(all, entry->cores[m - 1], WORK, (uint32_t)row->entry);
    bool ok = wait_done(&all->meeting, end - first);
    row->there = atomic_load(&all->arrived);
    for (uint32_t m = first; m < end; m++) {
        const struct core *core = &all->cores[entry->cores[m]];
        *(m == first ? &row->first_ns : &row->others_ns) += core->took_ns;
        *(m == first ? &row->first_calls : &row->others_calls) += core->calls;
        row->handovers += core->handovers;
        row->sleeps += core->sleeps;
        row->stopped_ns = core->stopped_ns > row->stopped_ns ? core->stopped_ns : row->stopped_ns;
    }
    port_sleep_until_ns(port_now_ns() + REST_NS);
    return ok;
}

static bool run_entry(struct pricing *all, uint32_t i, struct price_row row, struct price_row *rows,
                      uint64_t *count, uint64_t *random)
{
    const struct entry *entry = &all->entries[i];
    int16_t who[MEMBERS_MAX + 1];
    uint32_t slots = entry->members;
    for (uint32_t m = 0; m < entry->members; m++)
        who[m] = (int16_t)m;
    shuffle(who, slots, sizeof *who, random);
    slots = slots < ALONE_SAMPLE ? slots : ALONE_SAMPLE;
    if (entry->members > 1)
        who[slots++] = -1;
    shuffle(who, slots, sizeof *who, random);
    uint64_t trip_ps;
    bool ok = round_trip(all, entry, &trip_ps);
    for (uint32_t s = 0; ok && s < slots; s++) {
        struct price_row *slot = &rows[*count];
        *slot = row;
        slot->entry = (int16_t)i;
        slot->who = who[s];
        slot->before_ps = trip_ps;
        ok = run_slot(all, slot) && round_trip(all, entry, &trip_ps);
        slot->after_ps = trip_ps;
        ++*count;
    }
    return ok;
}

static bool run_slots(struct pricing *all, struct price_row row, struct price_row *rows, uint64_t *count,
                      uint64_t *random)
{
    int16_t order[ENTRIES_MAX];
    bool ok = true;
    for (uint32_t i = 0; i < all->entry_count; i++)
        order[i] = (int16_t)i;
    shuffle(order, all->entry_count, sizeof *order, random);
    for (uint32_t i = 0; ok && i < all->entry_count; i++)
        if (all->entries[order[i]].due && !all->entries[order[i]].why[0])
            ok = run_entry(all, (uint32_t)order[i], row, rows, count, random);
    return ok;
}

/* --- objects -------------------------------------------------------------------------------------------- */

static void make_object(struct pricing *all, uint32_t core, uint32_t i)
{
    struct entry *entry = &all->entries[i];
    int error = object_make(&all->resources[core * all->entry_count + i], entry->fragment,
                            entry->shared ? entry->members : 1, entry->size, all->options);
    if (error)
        refuse_entry(entry, strerror(error));
}

static void end_object(struct pricing *all, uint32_t core, uint32_t i)
{
    const struct entry *entry = &all->entries[i];
    object_end(&all->resources[core * all->entry_count + i], entry->fragment,
               entry->why[0] ? NULL : &all->meeting.failure);
}

static void for_each_object(struct pricing *all, void (*act)(struct pricing *, uint32_t, uint32_t))
{
    for (uint32_t i = 0; i < all->entry_count; i++) {
        const struct entry *entry = &all->entries[i];
        for (uint32_t m = 0; entry->fragment->kind == DB_SY && m < (entry->shared ? 1 : entry->members); m++)
            act(all, entry->shared ? 0 : entry->cores[m], i);
    }
}

/* New processes and new objects: what memory they happened to get is part of what rounds differ by. */
static bool run_round(struct pricing *all, struct price_row row, struct price_row *rows, uint64_t *count,
                      uint64_t *random)
{
    int pids[DB_MAX_CORES] = {0};
    uint32_t cores = all->options->cpu_count;
    for (uint32_t i = 0; i < all->entry_count; i++) {
        struct entry *entry = &all->entries[i];
        entry->due = row.round % (1 + entry->prepare_ns / PREPARE_NS) == 0;
        entry->prepare_ns = entry->due ? 0 : entry->prepare_ns;
    }
    for_each_object(all, make_object);
    watch_children(&all->meeting);
    bool ok = true;
    for (uint32_t c = 0; ok && c < cores; c++) { /* one after the other: the victim's stretch is quiet */
        if ((pids[c] = port_fork()) == 0)
            core_process(all, c);
        ok = pids[c] > 0 && wait_done(&all->meeting, 1);
    }
    ok = ok && run_slots(all, row, rows, count, random);
    watch_children(NULL);
    for (uint32_t c = 0; c < cores; c++) {
        if (ok)
            tell(all, c, END, 0);
        else if (pids[c] > 0)
            port_kill(pids[c]);
        if (pids[c] > 0 && port_reap(pids[c]) != 0 && ok)
            fail_with(&all->meeting.failure, "a core's process", "ended badly");
    }
    for_each_object(all, end_object);
    return ok && !has_failed(&all->meeting.failure);
}

/* Whole rounds, as long as there is time. */
static bool run_rounds(struct pricing *all, struct price_row *rows, uint64_t *count, uint32_t *rounds)
{
    const struct options *o = all->options;
    uint64_t random = db_seed_state(o->seed);
    uint64_t most = 0;
    int64_t start = all->began_ns = port_now_ns(), spent = 0;
    for (uint32_t i = 0; i < all->entry_count; i++)
        most += 1 + (all->entries[i].members < ALONE_SAMPLE ? all->entries[i].members : ALONE_SAMPLE);
    for (*rounds = 0; *rounds < 1 || port_now_ns() - start + spent / 2 < o->seconds_ns; ++*rounds) {
        int64_t began = port_now_ns();
        if (*count + most > all->rows_max)
            break;
        if (!run_round(all, (struct price_row){.round = *rounds}, rows, count, &random))
            return false;
        spent = port_now_ns() - began;
        int64_t permille = (port_now_ns() - start) * 1000 / (o->seconds_ns ? o->seconds_ns : 1);
        printf("progress %d\n", permille < 1000 ? (int)permille : 1000);
        fflush(stdout);
    }
    return true;
}

/* --- entries and the result -------------------------------------------------------------------------------
 */

/* NULL, or why the line cannot be understood. */
static const char *read_entry(struct entry *entry, const char *line, uint32_t cpus)
{
    char access[8], how[8], cores[1024];
    int numbers[DB_MAX_CORES];
    if (sscanf(line, "%63s %u %7s %7s %1023s", entry->name, &entry->size, access, how, cores) != 5 ||
        !parse_cpus(numbers, &entry->members, cores) || entry->members > MEMBERS_MAX)
        return "a line of the list of entries is wrong";
    for (uint32_t m = 0; m < entry->members; m++) {
        if (numbers[m] >= (int)cpus)
            return "an entry names a core beyond --cpus";
        entry->cores[m] = (uint32_t)numbers[m];
    }
    entry->fragment = find_fragment(entry->name);
    entry->shared = strcmp(access, "shared") == 0;
    entry->visit = strcmp(how, "visit") == 0;
    return entry->fragment ? NULL : "there is no such fragment in this program";
}

static const char *read_entries(struct pricing *all)
{
    char line[1200];
    const char *why = NULL, *path = all->options->entries;
    FILE *file = fopen(path ? path : "", "r");
    if (!file)
        return "the list of entries cannot be read";
    while (!why && fgets(line, sizeof line, file))
        why = all->entry_count == ENTRIES_MAX
                  ? "more than 512 entries"
                  : read_entry(&all->entries[all->entry_count++], line, all->options->cpu_count);
    fclose(file);
    return why ? why : all->entry_count == 0 ? "no entries are given" : NULL;
}

static int put_rows(const struct pricing *all, const struct price_row *rows, uint64_t count)
{
    struct part part;
    FILE *file = part_open(&part, all->options->out);
    if (!file)
        return errno;
    fprintf(file, "{\"version\":1,\"clock_cost_ps\":%" PRId64 ",\"errors\":[", clock_cost_ps());
    for (uint32_t i = 0; i < all->entry_count; i++)
        fprintf(file, "%s\"%s\"", i ? ",\n" : "\n", all->entries[i].why);
    fputs("],\"slots\":[", file);
    for (uint64_t i = 0; i < count; i++) {
        const struct price_row *r = &rows[i];
        fprintf(file,
                "%s[%u,%d,%d,%u,%" PRId64 ",%" PRIu64 ",%" PRId64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
                ",%" PRIu64 ",%" PRIu64 ",%" PRId64 "]",
                i ? ",\n" : "\n", r->round, r->entry, r->who, r->there, r->first_ns, r->first_calls,
                r->others_ns, r->others_calls, r->before_ps, r->after_ps, r->handovers, r->sleeps,
                r->stopped_ns);
    }
    fputs("]}\n", file);
    return part_close(&part);
}

int measure_prices(const struct options *o)
{
    uint64_t count = 0;
    uint32_t rounds = 0;
    struct pricing *all = port_map(sizeof *all, 1);
    if (!all)
        return refuse_verb("price", "there is not enough memory");
    all->options = o;
    const char *why = read_entries(all);
    /* no more than fit the time and a round: forked cores lock all memory */
    uint64_t wanted = (uint64_t)(o->seconds_ns / ROW_NS) + all->entry_count * (ALONE_SAMPLE + 1u);
    all->rows_max = wanted < ROWS_MAX ? (uint32_t)wanted : ROWS_MAX;
    struct price_row *rows = malloc(all->rows_max * sizeof *rows);
    if (!why && !rows)
        why = "there is not enough memory";
    if (!why && (!o->out || o->seconds_ns == 0))
        why = "--out and --seconds-ns are needed";
    if (why)
        return refuse_verb("price", why);
    all->bound_ns = 2 * o->seconds_ns + MARGIN_NS;
    all->resources = port_map((size_t)o->cpu_count * all->entry_count * sizeof *all->resources, 1);
    if (!all->resources)
        return refuse_verb("price", "there is not enough memory");
    guard_allow(all->bound_ns);
    probes_fit_clock();
    bool ok = run_rounds(all, rows, &count, &rounds);
    int error = ok ? put_rows(all, rows, count) : 0;
    free(rows);
    if (!ok || error)
        return refuse_verb("price", error                               ? strerror(error)
                                    : has_failed(&all->meeting.failure) ? all->meeting.failure.reason
                                                                        : "a core's process died");
    return end_verb(rounds);
}
