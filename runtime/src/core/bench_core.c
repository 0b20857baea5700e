/* A core's part of a calibration: contexts, visits, and blocks run beside other cores. */
#include "bench.h"

#include <errno.h>
#include <string.h>

#define GROUP_NS (300 * INT64_C(1000)) /* a visit is as long as a task's job */
#define GROUP_MAX 24
#define SHORT_BLOCK_NS (8 * INT64_C(1000)) /* repeats measured together: 8, 16, 32 or 64 us, as in tasks */
#define BLOCK_LENGTHS 4
#define REPEATS_MAX 5000
#define MEASURED_VISITS 4 /* of a group, after one that warms it up */
#define PARALLEL_BLOCK_NS (100 * INT64_C(1000))
#define LEAD_IN_NS (100 * INT64_C(1000))     /* after idle, alone as beside others */
#define CROWD_BOUND_NS (20 * DB_MILLISECOND) /* a core that does not come is not waited for any longer */
#define CONTROL_LOOPS 5                      /* about as long as a block */
#define QUICK_YARDSTICK_LOOPS 3
#define SMALL_PAGE_BYTES 4096
#define TLB_PAGES 8192 /* four times the entries of a large second level */
#define BRANCH_PASSES 8
#define CALIBRATION_PRIORITY 70

/* Private to a core's thread. */
struct bench_worker {
    struct bench *bench;
    struct bench_core *core;
    uint32_t index;
    struct db_context *contexts;
    uint64_t random;
    unsigned char *scrub;
    size_t scrub_bytes;
};

/* Blocks beside other cores are of the smallest entry of a class. */
static bool needed(const struct bench_worker *w, uint32_t entry)
{
    return w->bench->entries[entry].first_of_class || is_visited(w->bench, w->index);
}

static bool usable(const struct bench_worker *w, uint32_t entry)
{
    return needed(w, entry) && w->core->state[entry].error == 0;
}

/* Contexts lie one after the other as they do in a task. Each on pages of its own would start at
 * the same offset as the object it uses, and loads would wait for stores 4 KiB away. */
static unsigned char *context_memory(const struct bench_worker *w)
{
    const struct entry *entries = w->bench->entries;
    size_t bytes = DB_CACHE_LINE;
    for (uint32_t i = 0; i < w->bench->entry_count; i++)
        bytes += needed(w, i) ? context_bytes(entries[i].fragment, entries[i].size) : 0;
    return port_map(bytes, 0);
}

static void set_up_contexts(struct bench_worker *w)
{
    struct bench *b = w->bench;
    unsigned char *memory = context_memory(w);
    for (uint32_t i = 0; i < b->entry_count; i++) {
        const struct entry *entry = &b->entries[i];
        struct db_resource *r = entry->fragment->kind == DB_SY ? &w->core->resources[entry->resource] : NULL;
        if (usable(w, i))
            w->core->state[i].error =
                memory ? context_setup(&w->contexts[i], memory + DB_CACHE_LINE, entry->size,
                                       b->options.seed + i * 7919u + w->index, r, 0, entry->fragment)
                       : ENOMEM;
        if (memory && needed(w, i))
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

/* Blocks of several lengths: short ones show what a predictor has not yet learned, long ones what
 * it has, and a task's uses are of both kinds. */
static uint32_t draw_repeats(struct bench_worker *w, uint32_t entry)
{
    int64_t block = SHORT_BLOCK_NS << (db_random(&w->random) >> 32) % BLOCK_LENGTHS;
    int64_t repeats = block / estimate_ns(w, entry);
    if (w->bench->options.cold)
        return 0;
    return repeats < 1 ? 1 : repeats > REPEATS_MAX ? REPEATS_MAX : (uint32_t)repeats;
}

static void shuffle(struct bench_worker *w, struct bench_pass *pass)
{
    for (uint32_t i = w->bench->entry_count; i > 1; i--) {
        uint32_t k = (uint32_t)(db_random(&w->random) % i);
        uint16_t kept = pass->order[i - 1];
        pass->order[i - 1] = pass->order[k];
        pass->order[k] = kept;
    }
    pass->position = 0;
    pass->count++;
}

struct visit_item {
    uint16_t entry;
    uint32_t repeats;
};

/* The next entries of this pass that together last about as long as a job. */
static uint32_t next_group(struct bench_worker *w, struct visit_item *group)
{
    struct bench_pass *pass = w->bench->passes[w->core->kind];
    uint32_t count = 0;
    int64_t total = 0;
    if (pass->count == 0 || pass->position == w->bench->entry_count)
        shuffle(w, pass);
    while (pass->position < w->bench->entry_count && count < GROUP_MAX) {
        uint16_t entry = pass->order[pass->position];
        uint32_t repeats = draw_repeats(w, entry);
        int64_t cost = estimate_ns(w, entry) * (1 + (int64_t)repeats);
        if (count && total + cost > GROUP_NS)
            break;
        pass->position++;
        if (!usable(w, entry))
            continue;
        group[count++] = (struct visit_item){entry, repeats};
        total += cost;
    }
    return count;
}

/* A branch that stays one: a statement cannot become a conditional move. Its number keeps the functions
 * apart, which are short so that compilers take no longer than their length. */
#define BRANCH(n, k)                                                                                         \
    if (bits >> (k) & 1)                                                                                     \
        __asm__ volatile("" ::"i"(n));
#define BRANCHES_4(n, k) BRANCH(n, k) BRANCH(n, k + 1) BRANCH(n, k + 2) BRANCH(n, k + 3)
#define BRANCHES_16(n, k) BRANCHES_4(n, k) BRANCHES_4(n, k + 4) BRANCHES_4(n, k + 8) BRANCHES_4(n, k + 12)
#define PLACE(n)                                                                                             \
    __attribute__((noinline)) static void branches_##n(uint64_t bits)                                        \
    {                                                                                                        \
        BRANCHES_16(n, 0) BRANCHES_16(n, 16) BRANCHES_16(n, 32) BRANCHES_16(n, 48)                           \
    }
#define PLACES_8(n)                                                                                          \
    PLACE(n##0) PLACE(n##1) PLACE(n##2) PLACE(n##3) PLACE(n##4) PLACE(n##5) PLACE(n##6) PLACE(n##7)
#define PLACES_64(n)                                                                                         \
    PLACES_8(n##0)                                                                                           \
    PLACES_8(n##1) PLACES_8(n##2) PLACES_8(n##3) PLACES_8(n##4) PLACES_8(n##5) PLACES_8(n##6) PLACES_8(n##7)
#define NAMES_8(n)                                                                                           \
    branches_##n##0, branches_##n##1, branches_##n##2, branches_##n##3, branches_##n##4, branches_##n##5,    \
        branches_##n##6, branches_##n##7
#define NAMES_64(n)                                                                                          \
    NAMES_8(n##0), NAMES_8(n##1), NAMES_8(n##2), NAMES_8(n##3), NAMES_8(n##4), NAMES_8(n##5), NAMES_8(n##6), \
        NAMES_8(n##7)
PLACES_64(1)

/* 4096 branches at addresses of their own, each taken at random, in functions called at random: predictors
 * and their targets hold nothing of what ran before, and neither does a first-level cache of instructions. */
static void empty_predictors(struct bench_worker *w)
{
    static void (*const places[])(uint64_t) = {NAMES_64(1)};
    const uint32_t count = sizeof places / sizeof *places;
    for (uint32_t i = 0; i < BRANCH_PASSES * count; i++) {
        uint64_t bits = db_random(&w->random);
        places[i % count](bits);
        places[bits % count](~bits);
    }
}

/* A line of every page, in an order that no stride predicts: translations of the pages before are gone. */
static void walk_pages(struct bench_worker *w)
{
    uint64_t sum = 0, page = db_random(&w->random) % TLB_PAGES;
    for (size_t i = 0; i < TLB_PAGES; i++) {
        sum += w->scrub[page * SMALL_PAGE_BYTES]++;
        page = (page * 1665 + 2731) % TLB_PAGES; /* each once: a full period by Hull and Dobell */
    }
    db_keep(&sum);
}

/* What a first use finds after anything: no line of its own, no translation, no learned branch. */
static void make_cold(struct bench_worker *w)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < w->scrub_bytes; i += DB_CACHE_LINE)
        sum += w->scrub[i]++;
    db_keep(&sum);
    walk_pages(w);
    empty_predictors(w);
}

static void time_item(struct bench_worker *w, const struct visit_item *item, struct db_sample_row *row)
{
    void (*run)(struct db_context *) = w->bench->entries[item->entry].fragment->run;
    struct db_context *context = &w->contexts[item->entry];
    row->repeats = item->repeats;
    if (w->bench->options.cold)
        make_cold(w);
    int64_t begin = port_now_ns();
    repeat(run, context, 1);
    int64_t once = port_now_ns();
    repeat(run, context, item->repeats);
    int64_t end = port_now_ns();
    row->first_ns = once - begin;
    row->rest_ns = end - once;
}

static void time_again(struct bench_worker *w, const struct visit_item *item, struct db_sample_row *row)
{
    int64_t begin = port_now_ns();
    repeat(w->bench->entries[item->entry].fragment->run, &w->contexts[item->entry], 1);
    row->again_ns = port_now_ns() - begin;
}

/* One job-like visit to a group; rows are written only afterwards, when the group is measured. */
static void visit_group(struct bench_worker *w, const struct visit_item *group, uint32_t count, bool measured)
{
    struct db_sample_row rows[GROUP_MAX];
    uint64_t before = yardstick_ps(QUICK_YARDSTICK_LOOPS);
    for (uint32_t i = 0; i < count; i++)
        time_item(w, &group[i], &rows[i]);
    for (uint32_t i = 0; i < count && !w->bench->options.cold; i++)
        time_again(w, &group[i], &rows[i]);
    uint64_t after = yardstick_ps(QUICK_YARDSTICK_LOOPS);
    for (uint32_t i = 0; measured && i < count; i++) {
        if (w->core->sample_count == w->core->sample_capacity)
            return;
        rows[i].visit = w->core->rounds;
        rows[i].entry = group[i].entry;
        rows[i].core = (uint16_t)w->index;
        rows[i].position = i;
        rows[i].yardstick_before_ps = before;
        rows[i].yardstick_after_ps = after;
        w->core->samples[w->core->sample_count++] = rows[i];
    }
}

static void visit(struct bench_worker *w)
{
    struct visit_item group[GROUP_MAX];
    uint32_t count = next_group(w, group);
    int visits = w->bench->options.cold ? 1 : 1 + MEASURED_VISITS;
    for (int i = 0; count && i < visits; i++) {
        /* at task cadence: 1 to 5 ms of sleep before each */
        port_sleep_until_ns(port_now_ns() + DB_MILLISECOND + (int64_t)(db_random(&w->random) % 4000000));
        visit_group(w, group, count, i > 0 || w->bench->options.cold);
        w->core->rounds++;
    }
}

static bool lacks(atomic_uint *count, const struct bench_crowd *crowd)
{
    return atomic_load(count) < crowd->expected;
}

/* A block that lies wholly beside the others': each core works before it until all are there, and
 * after it until all have finished, so that neither a late wake-up nor a stall ends the overlap. */
static void time_block(struct bench_worker *w, enum bench_phase phase, void (*run)(struct db_context *),
                       struct db_context *context, uint32_t repeats)
{
    struct bench_crowd *crowd = w->bench->crowd;
    struct bench_span span = {.from_ns = port_now_ns()};
    int64_t now;
    atomic_fetch_add(&crowd->arrived[phase], 1);
    do {
        run(context);
        now = port_now_ns();
    } while (now < span.from_ns + LEAD_IN_NS ||
             (lacks(&crowd->arrived[phase], crowd) && now < span.from_ns + CROWD_BOUND_NS));
    span.begin_ns = port_now_ns();
    repeat(run, context, repeats);
    span.end_ns = port_now_ns();
    atomic_fetch_add(&crowd->finished[phase], 1);
    while (lacks(&crowd->finished[phase], crowd) && port_now_ns() < span.end_ns + CROWD_BOUND_NS)
        run(context);
    span.until_ns = port_now_ns();
    w->core->spans[phase] = span;
}

static void compute(struct db_context *unused)
{
    (void)unused;
    (void)yardstick_block_ns(1);
}

static void block(struct bench_worker *w)
{
    uint32_t entry = w->core->entry;
    int64_t repeats = PARALLEL_BLOCK_NS / estimate_ns(w, entry) + 1;
    time_block(w, PHASE_ENTRY, w->bench->entries[entry].fragment->run, &w->contexts[entry],
               (uint32_t)repeats);
    time_block(w, PHASE_CONTROL, compute, NULL, CONTROL_LOOPS);
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
        w->core->trip_ps = ping(&w->bench->meeting->ball);
        break;
    default:
        pong(&w->bench->meeting->ball);
    }
}

static void *worker_main(void *argument)
{
    struct bench_worker *w = argument;
    if (w->bench->options.thread_began)
        w->bench->options.thread_began();
    set_up_contexts(w);
    estimate(w);
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
    size_t pages = (size_t)TLB_PAGES * SMALL_PAGE_BYTES;
    size_t scrub = !b->options.cold ? 0 : b->options.scrub_bytes > pages ? b->options.scrub_bytes : pages;
    struct bench_worker *w = port_map(sizeof *w, 0);
    if (!w)
        return NULL;
    w->bench = b;
    w->core = &b->cores[index];
    w->index = index;
    w->random = db_seed_state(b->options.seed ^ (index * UINT64_C(0x9E3779B97F4A7C15)));
    w->contexts = port_map((b->entry_count + 1) * sizeof *w->contexts, 0);
    w->scrub_bytes = scrub;
    w->scrub = scrub ? port_map(scrub, 1) : NULL; /* shared memory has no large pages as a rule */
    return w->contexts && (w->scrub || !scrub) ? w : NULL;
}

bool bench_start(struct bench *b, uint32_t core, uint64_t *thread)
{
    const struct bench_options *o = &b->options;
    struct bench_worker *w = new_worker(b, core);
    int error = w ? port_start_thread(worker_main, w, o->policy, CALIBRATION_PRIORITY, o->cpus[core], thread)
                  : ENOMEM;
    if (error)
        fail_errno(&b->meeting->failure, "a calibrating thread could not be started", error);
    return error == 0;
}
