/*
 * Rounds of one real-time thread among ordinary, computing ones: how long each took, and who had the
 * CPU meanwhile. Every thread is a process of its own. The real-time one may have any priority up to
 * the highest and never suspend itself, so nothing that needs its CPU may be needed to end it. It looks
 * at the clock every 20 us and leaves by itself, also within a round; a watch that stands above it as the
 * guardian does, and needs neither guardian nor coordinator, kills all; the death of its parent kills it.
 * Below these lie RLIMIT_RTTIME, which counts with the tick (once a second on a nohz_full CPU), and a timer
 * whose signal PREEMPT_RT sends from a soft interrupt, so perhaps never on this very CPU.
 */
#include "runtime.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAX_NORMAL 1024
#define MAX_GAPS 8192
#define MAX_REALTIME 64 /* as in options.c */
/* Start-up, and between one bound and the next. */
#define MARGIN_NS (3000 * DB_MILLISECOND)
#define LEAVE_NS (1000 * DB_MILLISECOND)
/* Each ordinary thread comes up after the turns of all that were started before it on its CPU: a turn
 * is at most a tick, of a kernel of 100 Hz. */
#define TURN_NS (10 * DB_MILLISECOND)
/* So many rounds' time is given to the one that is running at the end of the window; more where it
 * shares its CPU with the ordinary ones. */
#define TAIL_ROUNDS 4
#define WARMUP_NS (50 * DB_MILLISECOND)
/* A stretch of so many units, about 20 us, lies between two looks at the clock. */
#define STRETCH_UNITS 64
/* An ordinary thread looks at it only every few milliseconds: its work is what is counted. */
#define LOOK_EVERY 1024

struct round {
    int64_t release_ns, start_ns, finish_ns;
    int64_t cpu_ns, delay_ns;
    uint32_t voluntary, involuntary, moves;
    int32_t cpu_start, cpu_finish;
    uint32_t skipped; /* releases that passed while the round before ran */
};

/* A stretch that took longer than it should. */
struct gap {
    int64_t at_ns, length_ns, delay_ns;
    uint32_t involuntary;
    int32_t cpu_before, cpu_after;
};

struct normal {
    alignas(DB_CACHE_LINE) atomic_ullong units;
    uint64_t first, last;
};

/* A real-time thread, and what it did. */
struct track {
    int policy, priority, cpu; /* read back */
    uint64_t unit_ps;
    uint64_t round_count, gap_count, gaps_lost;
    struct round *rounds;
    struct gap *gaps;
};

struct rounds {
    struct rendezvous meeting;
    const struct options *options;
    int64_t base_ns, start_ns, end_ns; /* the window; rounds begin at base */
    int64_t leave_ns;                  /* when a round that still runs is given up */
    int64_t tail_ns;                   /* behind the window, for the round that is running at its end */
    int64_t sampled_first_ns, sampled_last_ns;
    uint64_t stretch_ns; /* what STRETCH_UNITS should take */
    uint64_t round_capacity;
    struct track tracks[MAX_REALTIME];
    struct normal normals[MAX_NORMAL];
};

/* --- work ---------------------------------------------------------------------------------------------- */

/* The additions of the paper this goes back to (docs/reference/load.md), a thousand of them. */
static void one_unit(void)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < 1000; i++) {
        sum += i;
        __asm__ volatile("" : "+r"(sum));
    }
}

static void units(uint64_t count)
{
    for (; count; count--)
        one_unit();
}

/* The fastest of many stretches: what a unit costs when nobody disturbs it. */
static uint64_t calibrate_unit_ps(int64_t for_ns)
{
    int64_t end = port_now_ns() + for_ns, best = INT64_MAX;
    while (port_now_ns() < end) {
        int64_t start = port_now_ns();
        units(STRETCH_UNITS);
        int64_t took = port_now_ns() - start;
        best = took < best ? took : best;
    }
    return (uint64_t)best * 1000 / STRETCH_UNITS;
}

/* --- bounds -----------------------------------------------------------------------------------------------
 */

/* From the start of the real-time thread until nothing of it should be left. */
static int64_t thread_bound_ns(const struct rounds *run)
{
    return WARMUP_NS + run->options->seconds_ns + run->tail_ns;
}

static int64_t watch_bound_ns(const struct rounds *run)
{
    return thread_bound_ns(run) + MARGIN_NS + (int64_t)run->options->rounds.normal * TURN_NS;
}

/* --- ordinary threads --------------------------------------------------------------------------------- */

static _Noreturn void normal_body(struct rounds *run, uint32_t number)
{
    const struct options *o = run->options;
    const struct rounds_options *r = &o->rounds;
    int error = r->normal_cpu_count ? port_set_cpus(r->normal_cpus, r->normal_cpu_count)
                                    : port_set_cpus(o->cpus, o->cpu_count);
    if (!error)
        error = port_set_policy(DB_POLICY_OTHER, 0);
    name_thread("normal", number);
    if (error)
        fail_errno(&run->meeting.failure, "an ordinary thread could not be placed", error);
    int64_t end = port_now_ns() + watch_bound_ns(run);
    say_done(&run->meeting);
    for (uint32_t turn = 1; !error; turn++) {
        units(STRETCH_UNITS / 4);
        atomic_fetch_add_explicit(&run->normals[number].units, STRETCH_UNITS / 4, memory_order_relaxed);
        if (turn % LOOK_EVERY == 0 && port_now_ns() > end)
            port_exit(1); /* whoever should have ended it does not run */
    }
    port_exit(1);
}

/* --- the watch ------------------------------------------------------------------------------------------ */

/* Ends everything, should the guardian and the coordinator not: neither may run for some reason. */
static _Noreturn void watch_body(const struct rounds *run)
{
    const struct options *o = run->options;
    int64_t end = port_now_ns() + watch_bound_ns(run);
    name_thread("watch", 0);
    if (o->lock_memory)
        port_lock_memory();
    if (o->policy == DB_POLICY_FIFO)
        port_stand_above(0, DB_PRIORITY_HIGHEST);
    port_sleep_until_ns(end);
    port_kill_group(o->owner_pid);
    port_exit(1);
}

/* --- the real-time thread ----------------------------------------------------------------------------- */

struct progress {
    struct track *track;
    int handle;
    struct db_usage before; /* at the end of the round before */
    struct db_usage seen;   /* at the last gap */
    int cpu;
    bool gave_up; /* a round that had no end */
};

static void note_gap(struct progress *p, int64_t at, int64_t length, int cpu_before)
{
    struct db_usage now;
    port_usage(p->handle, &now, 1);
    if (p->track->gap_count < MAX_GAPS)
        p->track->gaps[p->track->gap_count++] = (struct gap){
            .at_ns = at,
            .length_ns = length,
            .delay_ns = now.run_delay_ns - p->seen.run_delay_ns,
            .involuntary = now.involuntary - p->seen.involuntary,
            .cpu_before = cpu_before,
            .cpu_after = p->cpu,
        };
    else
        p->track->gaps_lost++;
    p->seen = now;
}

/* The work of one round, in stretches; how often it found itself on another CPU. */
static uint32_t work(struct rounds *run, struct progress *p)
{
    uint64_t left = run->options->rounds.units;
    uint32_t moves = 0;
    int64_t last = port_now_ns();
    while (left) {
        uint64_t count = left < STRETCH_UNITS ? left : STRETCH_UNITS;
        units(count);
        left -= count;
        int before = p->cpu;
        int64_t now = port_now_ns();
        p->cpu = port_current_cpu();
        moves += p->cpu != before;
        int64_t excess = now - last - (int64_t)(run->stretch_ns * count / STRETCH_UNITS);
        if (excess > run->options->rounds.gap_ns)
            note_gap(p, last, excess, before);
        last = now;
        if (now > run->leave_ns) {
            p->gave_up = true;
            break;
        }
    }
    return moves;
}

static void one_round(struct rounds *run, struct progress *p, int64_t release)
{
    struct round *r = &p->track->rounds[p->track->round_count];
    struct db_usage after;
    r->release_ns = release;
    r->start_ns = port_now_ns();
    r->cpu_start = port_current_cpu();
    r->moves = r->cpu_start != p->cpu && p->track->round_count > 0;
    p->cpu = r->cpu_start;
    r->moves += work(run, p);
    r->finish_ns = port_now_ns();
    r->cpu_finish = p->cpu;
    port_usage(p->handle, &after, 1);
    r->cpu_ns = after.cpu_ns - p->before.cpu_ns;
    r->delay_ns = after.run_delay_ns - p->before.run_delay_ns;
    r->voluntary = after.voluntary - p->before.voluntary;
    r->involuntary = after.involuntary - p->before.involuntary;
    p->before = p->seen = after;
    p->track->round_count++;
}

/* Back to back: a round is due when the one before has finished, so what comes between them counts. */
static void rounds_back_to_back(struct rounds *run, struct progress *p)
{
    int64_t due = run->base_ns; /* of one that others keep waiting, too */
    while (due < run->end_ns && !p->gave_up && p->track->round_count < run->round_capacity) {
        one_round(run, p, due);
        due = p->track->rounds[p->track->round_count - 1].finish_ns;
    }
}

/* A release that passes while its predecessor runs is skipped; it has missed its deadline. */
static void rounds_periodic(struct rounds *run, struct progress *p)
{
    int64_t period = run->options->rounds.period_ns, release = run->base_ns;
    while (release < run->end_ns && !p->gave_up && p->track->round_count < run->round_capacity) {
        port_sleep_until_ns(release);
        uint32_t skipped = 0;
        one_round(run, p, release);
        int64_t finish = p->track->rounds[p->track->round_count - 1].finish_ns;
        for (release += period; release < finish; release += period)
            skipped++;
        p->track->rounds[p->track->round_count - 1].skipped = skipped;
    }
}

static int place_realtime(struct rounds *run, struct track *track)
{
    const struct options *o = run->options;
    int64_t bound = thread_bound_ns(run);
    int error = o->rounds.pin < 0 ? port_set_cpus(o->cpus, o->cpu_count) : port_set_cpu(o->rounds.pin);
    name_thread("rounds", 0);
    if (!error)
        error = port_die_after(bound);
    if (!error && o->policy == DB_POLICY_FIFO)
        error = port_limit_realtime(bound);
    if (!error && o->lock_memory)
        error = port_lock_memory();
    if (!error)
        error = port_set_policy(o->policy, (int)o->priority);
    return error ? error : port_get_placement(&track->policy, &track->priority, &track->cpu);
}

static _Noreturn void realtime_body(struct rounds *run, struct track *track)
{
    struct progress p = {.cpu = -1, .track = track};
    int error = place_realtime(run, track);
    if (!error)
        error = port_usage_open(&p.handle);
    if (error)
        fail_errno(&run->meeting.failure, "the real-time thread could not be placed", error);
    else
        track->unit_ps = calibrate_unit_ps(20 * DB_MILLISECOND);
    say_done(&run->meeting);
    while (!error && atomic_load(&run->meeting.ball) == 0)
        port_wait(&run->meeting.ball, 0, -1);
    if (!error) {
        port_sleep_until_ns(run->base_ns);
        port_usage(p.handle, &p.before, 1);
        p.seen = p.before;
        if (run->options->rounds.period_ns > 0)
            rounds_periodic(run, &p);
        else
            rounds_back_to_back(run, &p);
        if (p.gave_up)
            fail_with(&run->meeting.failure, "a round", "it had not ended long after the window");
    }
    say_done(&run->meeting);
    for (;;) /* until it is killed: a child that ends tells of a failure */
        port_wait(&run->meeting.ball, 1, -1);
}

/* --- the coordinator ----------------------------------------------------------------------------------- */

static void sample(struct rounds *run, int64_t at, bool last)
{
    port_sleep_until_ns(at);
    for (uint32_t i = 0; i < run->options->rounds.normal; i++) {
        uint64_t units_now = atomic_load(&run->normals[i].units);
        *(last ? &run->normals[i].last : &run->normals[i].first) = units_now;
    }
    *(last ? &run->sampled_last_ns : &run->sampled_first_ns) = port_now_ns();
}

static void print_track(const struct rounds *run, const struct track *t, FILE *out)
{
    fprintf(out, "placed %s %d %d\nunit %" PRIu64 "\n", t->policy == DB_POLICY_FIFO ? "fifo" : "other",
            t->priority, t->cpu, t->unit_ps);
    for (uint64_t i = 0; i < t->round_count; i++) {
        const struct round *r = &t->rounds[i];
        fprintf(out, "round %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64,
                r->release_ns - run->base_ns, r->start_ns - run->base_ns, r->finish_ns - run->base_ns,
                r->cpu_ns, r->delay_ns);
        fprintf(out, " %u %u %d %d %u %u\n", r->voluntary, r->involuntary, r->cpu_start, r->cpu_finish,
                r->moves, r->skipped);
    }
    for (uint64_t i = 0; i < t->gap_count; i++) {
        const struct gap *g = &t->gaps[i];
        fprintf(out, "gap %" PRId64 " %" PRId64 " %" PRId64 " %u %d %d\n", g->at_ns - run->base_ns,
                g->length_ns, g->delay_ns, g->involuntary, g->cpu_before, g->cpu_after);
    }
    fprintf(out, "lost %" PRIu64 "\nend %" PRIu64 "\n", t->gaps_lost, t->round_count);
}

static void print_rounds(const struct rounds *run, FILE *out)
{
    const struct options *o = run->options;
    fprintf(out, "rounds 1\nwindow %" PRId64 " %" PRId64 "\n", run->start_ns - run->base_ns,
            run->end_ns - run->base_ns);
    fprintf(out, "sampled %" PRId64 " %" PRId64 "\n", run->sampled_first_ns - run->base_ns,
            run->sampled_last_ns - run->base_ns);
    for (uint32_t i = 0; i < o->rounds.normal; i++)
        fprintf(out, "normal %u %" PRIu64 "\n", i, run->normals[i].last - run->normals[i].first);
    for (uint32_t i = 0; i < o->rounds.real_time; i++)
        print_track(run, &run->tracks[i], out);
    if (!o->rounds.real_time)
        fprintf(out, "lost 0\nend 0\n");
}

static bool start_threads(struct rounds *run, int *pids)
{
    const struct options *o = run->options;
    uint32_t count = 0;
    int *watch = &pids[MAX_NORMAL];
    if ((*watch = port_fork()) == 0)
        watch_body(run);
    if (*watch < 0)
        return fail_with(&run->meeting.failure, "the watch", "could not be started"), false;
    for (; count < o->rounds.normal; count++)
        if ((pids[count] = port_fork()) == 0)
            normal_body(run, count);
        else if (pids[count] < 0)
            return fail_with(&run->meeting.failure, "an ordinary thread", "could not be started"), false;
    if (count && !wait_done(&run->meeting, count))
        return false;
    for (uint32_t i = 0; i < o->rounds.real_time; i++) { /* one by one: each knows its unit undisturbed */
        if ((pids[MAX_NORMAL + 1 + i] = port_fork()) == 0)
            realtime_body(run, &run->tracks[i]);
        if (!wait_done(&run->meeting, 1))
            return false;
    }
    return true;
}

static bool window(struct rounds *run)
{
    const struct options *o = run->options;
    run->base_ns = port_now_ns() + 10 * DB_MILLISECOND;
    run->start_ns = run->base_ns + WARMUP_NS;
    run->end_ns = run->start_ns + o->seconds_ns;
    run->leave_ns = run->end_ns + run->tail_ns - LEAVE_NS;
    atomic_store(&run->meeting.ball, 1);
    port_wake(&run->meeting.ball);
    sample(run, run->start_ns, false);
    sample(run, run->end_ns, true);
    return !o->rounds.real_time || wait_done(&run->meeting, o->rounds.real_time);
}

static bool make_room(struct rounds *run, const struct options *o)
{
    /* half of what it should take: a clock that was raised meanwhile must not run out of records */
    int64_t fastest_ns =
        o->rounds.period_ns ? o->rounds.period_ns : o->rounds.units * o->rounds.unit_ps / 2000;
    run->options = o;
    int64_t rounds =
        TAIL_ROUNDS + o->rounds.real_time + (o->policy == DB_POLICY_FIFO ? 0 : (int64_t)o->rounds.normal);
    run->tail_ns = MARGIN_NS + rounds * (o->rounds.units * o->rounds.unit_ps / 1000);
    run->stretch_ns = STRETCH_UNITS * (uint64_t)o->rounds.unit_ps / 1000;
    run->round_capacity = (uint64_t)((o->seconds_ns + WARMUP_NS) / (fastest_ns ? fastest_ns : 1) + 16);
    if (run->round_capacity > 4000000)
        return fail_with(&run->meeting.failure, "too many rounds", "longer rounds, or a shorter window"),
               false;
    for (struct track *t = run->tracks; t < run->tracks + o->rounds.real_time; t++) {
        t->rounds = port_map(run->round_capacity * sizeof *t->rounds, 1);
        t->gaps = port_map(MAX_GAPS * sizeof *t->gaps, 1);
        if (!t->rounds || !t->gaps)
            return fail_with(&run->meeting.failure, "the records", "no memory"), false;
    }
    return true;
}

static int write_rounds(const struct rounds *run)
{
    FILE *out = fopen(run->options->out, "w");
    if (!out)
        return 1;
    print_rounds(run, out);
    return fclose(out) != 0;
}

int measure_rounds(const struct options *o)
{
    struct rounds *run = port_map(sizeof *run, 1);
    int pids[MAX_NORMAL + 1 + MAX_REALTIME] = {0};
    if (!run || !o->out || o->rounds.units == 0)
        return 2;
    bool ok = make_room(run, o);
    guard_allow(watch_bound_ns(run) + MARGIN_NS);
    watch_children(&run->meeting);
    ok = ok && start_threads(run, pids) && window(run);
    watch_children(NULL);
    /* all before the first is waited for: it would have to share its CPU with those that still compute */
    for (uint32_t i = 0; i < sizeof pids / sizeof *pids; i++)
        if (pids[i] > 0)
            port_kill(pids[i]);
    for (uint32_t i = 0; i < sizeof pids / sizeof *pids; i++)
        if (pids[i] > 0)
            port_reap(pids[i]);
    if (!ok || write_rounds(run) != 0) {
        printf("error rounds %s\n", has_failed(&run->meeting.failure) ? run->meeting.failure.reason
                                    : ok                              ? "its result cannot be written"
                                                                      : "a thread ended too early");
        fflush(stdout);
        return 1;
    }
    return 0;
}

/* What one unit costs here, undisturbed: the length of a round is told in units. */
int measure_unit(const struct options *o)
{
    int error = port_set_cpus(o->cpus, o->cpu_count);
    guard_allow(o->seconds_ns + MARGIN_NS);
    if (!error)
        printf("unit %" PRIu64 "\n", calibrate_unit_ps(o->seconds_ns));
    else
        printf("error rounds the CPUs: %s\n", strerror(error));
    fflush(stdout);
    return error != 0;
}
