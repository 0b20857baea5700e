/* Timetable and memory of a run. */
#include "run.h"

#include <string.h>

/*
 * The timetable of a run: rounds of one slot in which all tasks run together and one for each task
 * alone (a sample where there are many), in random order. Noise of the host that does not react to
 * that order meets both kinds alike, and slots shorter than its bursts average it best
 * (docs/decisions/0016). src/deadbeat/tasksets/executors/tables.py is the slow twin.
 *
 * A slot lasts SLOT_PERIODS of its slowest task: four of them hold counted releases, the last is
 * there for the deadline of the last one. Before that comes a warm-up of one period, and of at least
 * the time in which leftovers of the slot before end: twice the work of the busiest core.
 */
#define SLOT_PERIODS 5
#define SLOT_MIN_NS (5 * DB_MILLISECOND)
#define SLOT_MAX_NS (20 * DB_MILLISECOND)
/* Where `late` lets a backlog grow without end, only a long slot shows it. */
#define LONG_PERIODS 50
#define SOLO_SAMPLE 8
#define ROUNDS_MIN 4
/* Slots are numbered in 16 bits. */
#define MAX_SLOTS UINT16_MAX

#define EVERYBODY UINT32_MAX

/* More would take too much of a slot's warm-up. */
#define MAX_PAIRS 7

static int64_t scaled(uint64_t time_ns, uint32_t ppm, int64_t least)
{
    int64_t result = (int64_t)(time_ns / UNSCALED_PPM * ppm + time_ns % UNSCALED_PPM * ppm / UNSCALED_PPM);
    return result > least ? result : least;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t longest_period(const struct run *run, uint32_t task)
{
    int64_t longest = 0;
    for (uint32_t t = 0; t < run->set->task_count; t++)
        if (task == EVERYBODY || task == t)
            longest = larger(longest, run->tasks[t].period_ns);
    return longest;
}

static int64_t longest_deadline(const struct run *run, uint32_t task)
{
    int64_t longest = 0;
    for (uint32_t t = 0; t < run->set->task_count; t++)
        if (task == EVERYBODY || task == t)
            longest = larger(longest, run->tasks[t].deadline_ns);
    return longest;
}

/* Of the core with most of it: the sum of C, and whether it asks for more time than there is. */
static int64_t busiest_core(const struct run *run, bool *overloaded)
{
    int64_t busiest = 0;
    for (uint32_t c = 0; c < run->set->cores; c++) {
        int64_t work = 0;
        double load = 0;
        for (uint32_t t = 0; t < run->set->task_count; t++)
            if (run->set->tasks[t].core == c) {
                work += (int64_t)run->set->tasks[t].wcet_ns;
                load += (double)run->set->tasks[t].wcet_ns / (double)run->tasks[t].period_ns;
            }
        busiest = larger(busiest, work);
        *overloaded = *overloaded || load > 1 + 1e-6;
    }
    return busiest;
}

struct lengths {
    int64_t warmup_ns, measured_ns;
};

/* What holds for all slots of a run, and is found once. */
struct common {
    int64_t settle_ns;
    bool overloaded;
};

static struct common common_of(const struct run *run)
{
    struct common common = {.overloaded = false};
    int64_t work = 2 * busiest_core(run, &common.overloaded), longest = longest_period(run, EVERYBODY);
    common.settle_ns = work < longest ? work : longest;
    return common;
}

static struct lengths lengths_of(const struct run *run, const struct common *common, uint32_t task)
{
    const struct run_options *o = &run->options;
    int64_t slowest = longest_period(run, task), length = SLOT_PERIODS * slowest;
    if (o->slot_periods)
        length = o->slot_periods * slowest;
    else if (o->late && common->overloaded)
        length = LONG_PERIODS * slowest;
    else if (length < SLOT_MIN_NS || length > SLOT_MAX_NS)
        length = length < SLOT_MIN_NS ? SLOT_MIN_NS : SLOT_MAX_NS;
    return (struct lengths){larger(o->warmup * slowest, common->settle_ns),
                            larger(length, slowest + longest_deadline(run, task))};
}

static uint32_t sampled(const struct run *run)
{
    uint32_t tasks = run->set->task_count;
    return !run->options.solo ? 0 : tasks < SOLO_SAMPLE ? tasks : SOLO_SAMPLE;
}

/* Rounds in which every task has the jobs that are asked: releases that are due in a slot together, at any
 * phase. */
static int64_t rounds_for_jobs(const struct run *run, int64_t measured_ns)
{
    int64_t fewest = INT64_MAX;
    for (uint32_t t = 0; t < run->set->task_count; t++) {
        int64_t due = (measured_ns - run->tasks[t].deadline_ns) / run->tasks[t].period_ns;
        fewest = due < fewest ? due : fewest;
    }
    return (run->options.jobs + fewest - 1) / fewest;
}

/* As many rounds as the asked time or jobs take; each task is alone at least once. */
static uint32_t round_count(const struct run *run, const struct common *common)
{
    uint32_t tasks = run->set->task_count, alone = sampled(run);
    struct lengths l = lengths_of(run, common, EVERYBODY);
    int64_t together = l.measured_ns + (alone ? l.warmup_ns : 0), solo = 0; /* see append() */
    int64_t least =
        larger(alone ? (tasks + SOLO_SAMPLE - 1) / SOLO_SAMPLE : 0, rounds_for_jobs(run, l.measured_ns));
    for (uint32_t t = 0; alone && t < tasks; t++) {
        l = lengths_of(run, common, t);
        solo += l.warmup_ns + l.measured_ns;
    }
    int64_t rounds = run->options.seconds_ns / (together + solo / tasks * alone);
    /* one more than can be numbered is refused by its number */
    return (uint32_t)larger(rounds <= MAX_SLOTS ? rounds : MAX_SLOTS + 1, larger(least, ROUNDS_MIN));
}

static uint32_t draw(uint64_t *random, uint32_t below)
{
    return (uint32_t)(db_random(random) % below);
}

/* Tasks in random order, each once before any comes again. */
struct deck {
    uint32_t *cards;
    uint32_t left;
};

static uint32_t next_task(struct deck *deck, uint32_t tasks, uint64_t *random)
{
    if (deck->left == 0)
        for (; deck->left < tasks; deck->left++)
            deck->cards[deck->left] = deck->left;
    uint32_t place = draw(random, deck->left), task = deck->cards[place];
    deck->cards[place] = deck->cards[--deck->left];
    return task;
}

static void append(struct run *run, const struct common *common, uint32_t round, uint32_t task)
{
    struct lengths l = lengths_of(run, common, task);
    struct slot *slot = &run->slots[run->slot_count], *before = slot - 1;
    int64_t begin = run->slot_count ? before->end_ns : 0;
    /* without solo slots the one before is of the same tasks: nothing has to warm up again */
    int64_t warmup = run->slot_count && !run->options.solo ? 0 : l.warmup_ns;
    *slot = (struct slot){.kind = task == EVERYBODY ? DB_SLOT_TOGETHER : DB_SLOT_SOLO,
                          .task = task == EVERYBODY ? UINT16_MAX : task,
                          .round = round,
                          .begin_ns = begin,
                          .start_ns = begin + warmup,
                          .end_ns = begin + warmup + l.measured_ns};
    run->slot_count++;
}

static void plan_slots(struct run *run, const struct common *common, uint32_t rounds, uint32_t *cards)
{
    uint32_t order[1 + SOLO_SAMPLE], count = 1 + sampled(run);
    struct deck deck = {.cards = cards};
    uint64_t random = db_seed_state(run->seed);
    run->slot_count = 0;
    for (uint32_t round = 0; round < rounds; round++) {
        order[0] = EVERYBODY;
        for (uint32_t i = 1; i < count; i++)
            order[i] = next_task(&deck, run->set->task_count, &random);
        for (uint32_t left = count; left; left--) {
            uint32_t place = draw(&random, left);
            append(run, common, round, order[place]);
            order[place] = order[left - 1];
        }
    }
}

int64_t table_end_ns(const struct run *run)
{
    return run->slots[run->slot_count - 1].end_ns;
}

int64_t boundary_ns(const struct run *run, uint32_t slot)
{
    return slot < run->slot_count ? run->slots[slot].begin_ns : table_end_ns(run);
}

/* One to spare in each slot for the rounding, and one in all: the loop needs no special case. */
static uint64_t record_capacity(const struct run *run, uint32_t task)
{
    uint64_t count = 1;
    for (uint32_t s = 0; s < run->slot_count; s++) {
        const struct slot *slot = &run->slots[s];
        if (takes_part(slot, task))
            count += (uint64_t)((slot->end_ns - slot->begin_ns) / run->tasks[task].period_ns) + 1;
    }
    return count;
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
static void *take(unsigned char *arena, uint64_t *used, uint64_t bytes)
{
    void *place = arena ? arena + *used : NULL;
    *used += round_up(bytes, DB_CACHE_LINE);
    return place;
}

static uint32_t pair_count(const struct run *run)
{
    uint32_t others = run->set->cores - 1u;
    return !run->options.pairs ? 0 : others < MAX_PAIRS ? others : MAX_PAIRS;
}

/* What every run needs, in an order that depends on nothing but the set. */
static uint64_t lay_out(struct run *run, uint32_t rounds, unsigned char *arena)
{
    const struct db_task_set *set = run->set;
    const struct run_options *o = &run->options;
    uint64_t used = 0, slots = (uint64_t)rounds * (1 + sampled(run));
    run->meeting = take(arena, &used, sizeof *run->meeting);
    run->base_ns = take(arena, &used, sizeof *run->base_ns);
    run->tasks = take(arena, &used, set->task_count * sizeof *run->tasks);
    run->resources = take(arena, &used, (set->resource_count + 1u) * sizeof *run->resources);
    run->slots = take(arena, &used, slots * sizeof *run->slots);
    run->pair_count = pair_count(run);
    run->pairs = take(arena, &used, run->pair_count * sizeof *run->pairs);
    for (uint32_t p = 0; p < run->pair_count; p++) {
        void *trips = take(arena, &used, (slots + 1) * sizeof(uint64_t));
        if (arena)
            run->pairs[p].trip_ps = trips;
    }
    for (uint32_t t = 0; t < set->task_count; t++) {
        void *numbers = take(arena, &used, (set->tasks[t].context_count + 1u) * sizeof(uint32_t));
        void *witness = take(arena, &used, slots * sizeof(uint64_t));
        void *counters =
            o->counters ? take(arena, &used, slots * DB_COUNT_EVENTS * sizeof(struct db_counter_row)) : NULL;
        if (!arena)
            continue;
        run->tasks[t].participants = numbers;
        run->tasks[t].witness_ps = witness;
        run->tasks[t].counters = counters;
    }
    return used;
}

/* Records are the arena's last part: how many there are follows from the timetable in its first. */
static uint64_t lay_out_records(struct run *run, uint64_t used, unsigned char *arena)
{
    for (uint32_t t = 0; t < run->set->task_count; t++) {
        struct task_state *state = &run->tasks[t];
        uint64_t capacity = record_capacity(run, t);
        struct db_job_record *records = take(arena, &used, capacity * sizeof *records);
        struct db_job_detail *details =
            run->options.details ? take(arena, &used, capacity * sizeof *details) : NULL;
        if (!arena)
            continue;
        state->record_capacity = capacity;
        state->records = records;
        state->details = details;
        for (uint64_t i = 0; details && i < capacity; i++)
            details[i].worst_use = DB_NO_USE;
    }
    return used;
}

static void time_tasks(struct run *run, struct task_state *tasks)
{
    for (uint32_t t = 0; t < run->set->task_count; t++) {
        const struct db_task *task = &run->set->tasks[t];
        tasks[t].period_ns = scaled(task->period_ns, run->options.period_ppm, 1);
        tasks[t].deadline_ns = scaled(task->deadline_ns, run->options.period_ppm, 1);
        tasks[t].offset_ns = scaled(task->offset_ns, run->options.period_ppm, 0);
    }
}

/* Common to the whole life of a set on whatever machine: its tasks' own seeds. */
static uint64_t seed_of(const struct db_task_set *set)
{
    uint64_t seed = set->task_count;
    for (uint32_t t = 0; t < set->task_count; t++)
        seed = (seed ^ set->tasks[t].seed) * UINT64_C(0x9E3779B97F4A7C15);
    return seed;
}

/* False with a reason where the timetable cannot be told in the file's numbers. */
static bool is_possible(const struct run *run, const struct common *common, uint32_t rounds, char *reason)
{
    uint64_t slots = (uint64_t)rounds * (1 + sampled(run));
    struct lengths l = lengths_of(run, common, EVERYBODY);
    double sum = (double)slots * ((double)l.warmup_ns + (double)l.measured_ns);
    if (slots > MAX_SLOTS)
        db_text(reason, DB_REASON_BYTES, "the run would take %llu slots; at most %d: ask for less time",
                (unsigned long long)slots, MAX_SLOTS);
    else if (sum > (double)DB_LONGEST_NS)
        db_text(reason, DB_REASON_BYTES,
                "the run could take %.3g s; at most %.3g: fewer periods a slot, or fewer of warm-up",
                sum / 1e9, (double)DB_LONGEST_NS / 1e9);
    else
        return true;
    return false;
}

static bool plan_in(struct run *run, const struct common *common, uint32_t rounds)
{
    uint32_t *cards = port_map(run->set->task_count * sizeof *cards, 0);
    if (cards)
        plan_slots(run, common, rounds, cards);
    if (cards)
        port_unmap(cards, run->set->task_count * sizeof *cards);
    return cards != NULL;
}

/* The timetable is made twice: in a draft, to know how much memory the run takes, and in it. */
static bool lay_out_run(struct run *run, const struct common *common, uint32_t rounds)
{
    uint64_t fixed = lay_out(run, rounds, NULL);
    void *draft = map_shared(fixed);
    if (!draft)
        return false;
    lay_out(run, rounds, draft);
    time_tasks(run, run->tasks);
    bool ok = plan_in(run, common, rounds);
    uint64_t bytes = ok ? lay_out_records(run, fixed, NULL) : 0;
    port_unmap(draft, (size_t)fixed);
    run->arena = ok ? map_shared(bytes) : NULL;
    if (!run->arena)
        return false;
    run->arena_bytes = (size_t)bytes;
    lay_out(run, rounds, run->arena);
    time_tasks(run, run->tasks);
    ok = plan_in(run, common, rounds);
    lay_out_records(run, fixed, run->arena);
    return ok;
}

bool run_prepare(struct run *run, const struct db_task_set *set, const struct run_options *options,
                 char *reason)
{
    memset(run, 0, sizeof *run);
    run->set = set;
    run->options = *options;
    run->seed = seed_of(set) ^ options->seed;
    size_t bytes = set->task_count * sizeof *run->tasks;
    run->tasks = port_map(bytes, 0);
    db_text(reason, DB_REASON_BYTES, "no memory for the records of the run");
    if (!run->tasks)
        return false;
    time_tasks(run, run->tasks);
    struct common common = common_of(run);
    uint32_t rounds = round_count(run, &common);
    run->longest_deadline_ns = longest_deadline(run, EVERYBODY);
    bool possible = is_possible(run, &common, rounds, reason);
    port_unmap(run->tasks, bytes);
    if (!possible || !lay_out_run(run, &common, rounds))
        return false;
    count_users(run);
    for (uint32_t s = 0; s < run->slot_count; s++)
        run->measured_ns += (uint64_t)(run->slots[s].end_ns - run->slots[s].start_ns);
    /* twice what it should take, and a margin: who needs longer is stuck */
    run->bound_ns = 3000 * DB_MILLISECOND + 2 * (table_end_ns(run) + run->longest_deadline_ns) +
                    (int64_t)set->task_count * 10 * DB_MILLISECOND;
    return true;
}

void run_release(struct run *run)
{
    port_unmap(run->arena, run->arena_bytes);
    run->arena = NULL;
}
