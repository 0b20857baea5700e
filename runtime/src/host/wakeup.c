/*
 * Wake-up latency: a thread on each CPU sleeps until a moment, the same on all, again and again, and
 * reads the clock when it runs. Every wake-up is counted; of those that could not happen because an earlier
 * one was late it is counted what a thread released then would have seen. Memory does not grow with time.
 *
 *   stdout  "threads 0 NUMBER,NUMBER,...": of the measuring threads, in the order of --cpus
 *           "late PLACE DUE_NS LATENCY_NS": above --break-ns, and above all others that were
 *           "done 0 MEASURED_NS"
 */
#include "runtime.h"

#include "deadbeat/histogram.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Wake-ups before the first that counts: the first of all are late by what nobody has touched yet. */
#define WARM_UP 10
/* Of how many equal parts of the run the longest latency is kept. */
#define BLOCKS 4096
/* From the last preparation to the first wake-up. */
#define LEAD_NS (20 * DB_MILLISECOND)
/* A late end of the run is reported, not cut off. */
#define MARGIN_NS (60000 * DB_MILLISECOND)

struct late {
    int64_t due_ns, latency_ns;
    uint64_t missed;
};

/* One measuring thread. What every wake-up needs lies in two lines of the cache, because whatever ran
 * since the last one may have emptied it. */
struct prober {
    alignas(DB_CACHE_LINE) int64_t start_ns;
    int64_t interval_ns;
    uint64_t expected, missed;
    int64_t least_worst_ns;              /* what is no later is not among the worst */
    uint64_t block_first, block_periods; /* the block of the wake-ups now: its first period */
    int64_t block_max_ns;
    alignas(DB_CACHE_LINE) struct wake_ups *all;
    struct db_histogram raw;
    struct db_histogram omitted; /* of the missed periods */
    const struct options *options;
    int cpu;
    uint32_t place;
    uint64_t early, worst_count;
    int64_t end_ns, cpu_ns, clock_ps;
    uint32_t voluntary, involuntary;
    int thread, policy, priority, placed, error;
    uint64_t next; /* the period that would have been next */
    /* the latest wake-up that was told of while running */
    atomic_uint told;
    _Atomic int64_t told_due_ns, told_latency_ns;
    uint64_t handle;
    struct port_timer timer;
    uint64_t passed; /* periods since the interrupt of the last wake-up */
    int64_t blocks[BLOCKS];
    struct late worst[DB_MAX_WORST]; /* the latest first */
};

/* Shared by all processes of a run. */
struct wake_ups {
    alignas(DB_CACHE_LINE) _Atomic int64_t alarm_ns; /* above this a wake-up is told of */
    atomic_uint stop;
    int control, marker;                     /* break_file and mark_file, or -1 */
    alignas(DB_CACHE_LINE) atomic_uint news; /* bumped by whatever the coordinator must see */
    atomic_uint placed, go, finished, leave;
    struct failure failure;
    int64_t start_ns;
    struct prober *probers;
};

static void tell(struct wake_ups *all)
{
    atomic_fetch_add(&all->news, 1);
    port_wake(&all->news);
}

/* --- one wake-up ----------------------------------------------------------------------------------- */

static void keep_worst(struct prober *p, int64_t due, int64_t latency, uint64_t missed)
{
    uint32_t most = p->options->worst;
    uint64_t i = p->worst_count < most ? p->worst_count++ : most - 1u;
    for (; i > 0 && p->worst[i - 1].latency_ns < latency; i--)
        p->worst[i] = p->worst[i - 1];
    p->worst[i] = (struct late){.due_ns = due - p->start_ns, .latency_ns = latency, .missed = missed};
    if (p->worst_count == most)
        p->least_worst_ns = p->worst[most - 1].latency_ns;
}

static void close_block(struct prober *p)
{
    p->blocks[p->block_first / p->block_periods] = p->block_max_ns;
}

static void raise_block(struct prober *p, uint64_t index, int64_t latency)
{
    if (index - p->block_first >= p->block_periods) {
        close_block(p);
        p->block_first = index - index % p->block_periods;
        p->block_max_ns = 0;
    }
    if (latency > p->block_max_ns)
        p->block_max_ns = latency;
}

/* What threads released in the missed periods would have seen. The first of a block saw the most. */
static void add_missed(struct prober *p, uint64_t index, int64_t latency, uint64_t missed)
{
    p->missed += missed;
    db_histogram_add_row(&p->omitted, latency - p->interval_ns, p->interval_ns, missed);
    for (uint64_t m = p->block_periods - index % p->block_periods; m <= missed; m += p->block_periods)
        raise_block(p, index + m, latency - (int64_t)m * p->interval_ns);
}

static char *put_number(char *at, int64_t value)
{
    char digits[24];
    int count = 0;
    do
        digits[count++] = (char)('0' + value % 10);
    while (value /= 10);
    while (count)
        *at++ = digits[--count];
    return at;
}

/* Into the trace, for whoever splits the path of the wake-up: what this thread saw of it. */
static void put_mark(const struct prober *p, int64_t due, int64_t latency)
{
    char text[80];
    char *at = put_number(stpcpy(text, "due="), due);
    at = put_number(stpcpy(at, " latency="), latency);
    stpcpy(at, "\n");
    port_control_write(p->all->marker, text);
}

/* The trace is stopped before anything else: its end is what is wanted. */
static void sound_alarm(struct prober *p, int64_t due, int64_t latency)
{
    if (p->all->control >= 0)
        port_control_write(p->all->control, "0");
    int64_t known = atomic_load(&p->all->alarm_ns);
    while (known < latency && !atomic_compare_exchange_weak(&p->all->alarm_ns, &known, latency))
        ;
    if (known >= latency) /* another CPU was later at the same moment, and tells of it */
        return;
    atomic_store(&p->told_due_ns, due);
    atomic_store(&p->told_latency_ns, latency);
    atomic_fetch_add(&p->told, 1);
    tell(p->all);
}

static int64_t wake_up_by_device(struct prober *p)
{
    int64_t latency = port_timer_wait(&p->timer, p->passed);
    p->passed = 1;
    if (latency >= 0)
        return latency;
    fail_errno(&p->all->failure, "the hardware timer", (int)-latency);
    port_exit(1);
}

static int64_t wake_up_at(struct prober *p, int64_t due)
{
    if (p->options->hpet)
        return wake_up_by_device(p);
    port_sleep_until_ns(due);
    int64_t latency = port_now_ns() - due;
    if (latency >= 0)
        return latency;
    p->early++;
    return 0;
}

static void tell_of(struct prober *p, int64_t due, int64_t latency)
{
    if (p->all->marker >= 0)
        put_mark(p, due, latency);
    if (latency > atomic_load_explicit(&p->all->alarm_ns, memory_order_relaxed))
        sound_alarm(p, due, latency);
}

static void measure(struct prober *p)
{
    uint64_t index = 0;
    while (index < p->expected && !atomic_load_explicit(&p->all->stop, memory_order_relaxed)) {
        int64_t due = p->start_ns + (int64_t)index * p->interval_ns, latency = wake_up_at(p, due);
        tell_of(p, due, latency);
        uint64_t missed = latency < p->interval_ns ? 0 : (uint64_t)(latency / p->interval_ns);
        if (missed > p->expected - 1 - index)
            missed = p->expected - 1 - index;
        db_histogram_add(&p->raw, latency);
        raise_block(p, index, latency);
        if (latency > p->least_worst_ns)
            keep_worst(p, due, latency, missed);
        if (missed)
            add_missed(p, index, latency, missed);
        index += 1 + missed;
        p->passed = 1 + missed;
    }
    if (p->raw.total)
        close_block(p);
    p->next = index;
}

static void *prober_main(void *argument)
{
    struct prober *p = argument;
    struct db_usage before, after;
    int usage;
    name_thread("probe", p->place);
    p->thread = port_thread_number();
    p->clock_ps = clock_cost_ps();
    p->error = port_usage_open(&usage);
    atomic_fetch_add(&p->all->placed, 1);
    tell(p->all);
    while (!atomic_load(&p->all->go))
        port_wait(&p->all->go, 0, -1);
    p->start_ns = p->all->start_ns;
    int refused = p->options->hpet ? port_timer_open(&p->timer, &p->interval_ns) : 0;
    if (refused) {
        fail_errno(&p->all->failure, "/dev/hpet", refused);
        tell(p->all);
        port_exit(1);
    }
    for (int64_t i = WARM_UP; i > 0; i--) /* no longer ago than needed, however long the interval is */
        wake_up_at(p, p->start_ns - i * (LEAD_NS / 2 / WARM_UP));
    p->early = 0;
    if (p->options->hpet)
        p->start_ns = port_now_ns() + p->interval_ns;
    port_usage(usage, &before, 0);
    measure(p);
    p->end_ns = port_now_ns();
    port_usage(usage, &after, 1);
    p->cpu_ns = after.cpu_ns - before.cpu_ns;
    p->voluntary = after.voluntary - before.voluntary;
    p->involuntary = after.involuntary - before.involuntary;
    int error = port_get_placement(&p->policy, &p->priority, &p->placed);
    p->error = p->error ? p->error : error;
    port_usage_close(usage);
    return NULL;
}

/* --- processes -------------------------------------------------------------------------------------- */

static void core_process(struct wake_ups *all, const struct options *o, uint32_t first, uint32_t count)
{
    bool ok = place_agent(o, o->cpus[first], &all->failure, o->seconds_ns + MARGIN_NS);
    uint32_t started = 0;
    for (; ok && started < count; started++) {
        struct prober *p = &all->probers[first + started];
        int error = port_start_thread(prober_main, p, o->policy, (int)o->priority, p->cpu, &p->handle);
        if (error) {
            fail_errno(&all->failure, "a measuring thread could not be started", error);
            ok = false;
            break;
        }
    }
    if (!ok) {
        tell(all);
        port_exit(1); /* with all its threads */
    }
    for (uint32_t i = 0; i < started; i++)
        port_join_thread(all->probers[first + i].handle);
    atomic_fetch_add(&all->finished, 1);
    tell(all);
    while (!atomic_load(&all->leave)) /* who leaves before has died */
        port_wait(&all->leave, 0, -1);
    port_exit(0);
}

static void *await_input_end(void *argument)
{
    struct wake_ups *all = argument;
    port_await_input_end();
    atomic_store(&all->stop, 1);
    return NULL;
}

/* A child that died adds this to the news. */
#define CHILD_DIED 0x1000000u

static void print_told(struct wake_ups *all, const struct options *o, unsigned *told)
{
    for (uint32_t i = 0; i < o->cpu_count; i++) {
        struct prober *p = &all->probers[i];
        unsigned now = atomic_load(&p->told);
        if (now != told[i])
            printf("late %u %" PRId64 " %" PRId64 "\n", i, atomic_load(&p->told_due_ns),
                   atomic_load(&p->told_latency_ns));
        told[i] = now;
    }
    fflush(stdout);
}

/* Whoever only waits must not hold up what it waits for: nothing of it is urgent once all sleep until
 * their first moment, which a coordinator below a load could keep them from. */
static void step_below(const struct options *o)
{
    int priority = (int)o->priority - 1;
    priority = priority < DB_PRIORITY_AGENT ? priority : DB_PRIORITY_AGENT;
    if (o->policy == DB_POLICY_FIFO)
        port_set_policy(priority > 0 ? DB_POLICY_FIFO : DB_POLICY_OTHER, priority > 0 ? priority : 0);
}

/* Until *word is `wanted`; false when a child died or failed. */
static bool await_all(struct wake_ups *all, const struct options *o, atomic_uint *word, unsigned wanted)
{
    unsigned told[DB_MAX_CORES] = {0};
    for (;;) {
        unsigned seen = atomic_load(&all->news);
        print_told(all, o, told);
        if (has_failed(&all->failure) || seen >= CHILD_DIED)
            return false;
        if (atomic_load(word) >= wanted)
            return true;
        port_wait(&all->news, seen, -1);
    }
}

static void print_threads(const struct wake_ups *all, const struct options *o)
{
    printf("threads 0 ");
    for (uint32_t i = 0; i < o->cpu_count; i++)
        printf("%s%d", i ? "," : "", all->probers[i].thread);
    printf("\n");
    fflush(stdout);
}

static bool run_all(struct wake_ups *all, const struct options *o)
{
    uint32_t processes = process_count(o, o->cpu_count), each = o->cpu_count / processes;
    uint64_t reader;
    port_watch_children(&all->news, CHILD_DIED);
    port_on_end_asked(&all->stop, 0);
    for (uint32_t i = 0; i < processes; i++) {
        int pid = port_fork();
        if (pid == 0)
            core_process(all, o, i * each, each);
        if (pid < 0)
            return fail_errno(&all->failure, "a process could not be started", EAGAIN), false;
    }
    if (!await_all(all, o, &all->placed, o->cpu_count))
        return false;
    if (o->until_eof)
        port_start_thread(await_input_end, all, DB_POLICY_OTHER, 0, o->cpus[0], &reader);
    print_threads(all, o);
    all->start_ns = port_now_ns() + LEAD_NS;
    atomic_store(&all->go, 1);
    port_wake(&all->go);
    step_below(o);
    if (!await_all(all, o, &all->finished, processes))
        return false;
    if (all->control >= 0) /* what others do from here on would push out what is wanted */
        port_control_write(all->control, "0");
    port_watch_children(NULL, 0);
    atomic_store(&all->leave, 1);
    port_wake(&all->leave);
    return true;
}

/* --- the result -------------------------------------------------------------------------------------- */

static void put_prober(FILE *file, const struct prober *p)
{
    const char *policy = p->policy == 0 ? "other" : p->policy == 1 ? "fifo" : "unknown";
    fprintf(file,
            "{\"cpu\":%d,\"thread\":%d,\"expected\":%" PRIu64 ",\"cycles\":%" PRIu64 ",\"missed\":%" PRIu64
            ",\"early\":%" PRIu64 ",\"start_ns\":%" PRId64 ",\"end_ns\":%" PRId64,
            p->cpu, p->thread, p->next, p->raw.total, p->missed, p->early, p->start_ns, p->end_ns);
    fprintf(file,
            ",\"policy\":\"%s\",\"priority\":%d,\"placed\":%d,\"voluntary\":%u,\"involuntary\":%u"
            ",\"cpu_ns\":%" PRId64 ",\"clock_cost_ps\":%" PRId64,
            policy, p->priority, p->placed, p->voluntary, p->involuntary, p->cpu_ns, p->clock_ps);
    put_histogram(file, "raw", &p->raw);
    put_histogram(file, "omitted", &p->omitted);
    fputs(",\"worst\":[", file);
    for (uint64_t i = 0; i < p->worst_count; i++)
        fprintf(file, "%s[%" PRId64 ",%" PRId64 ",%" PRIu64 "]", i ? "," : "", p->worst[i].due_ns,
                p->worst[i].latency_ns, p->worst[i].missed);
    fprintf(file, "],\"block_periods\":%" PRIu64 ",\"blocks\":[", p->block_periods);
    uint64_t blocks = (p->next + p->block_periods - 1) / p->block_periods;
    for (uint64_t i = 0; i < blocks; i++)
        fprintf(file, "%s%" PRId64, i ? "," : "", p->blocks[i]);
    fputs("]}", file);
}

static int put_result(const struct wake_ups *all, const struct options *o, const char *held)
{
    struct part part;
    FILE *file = part_open(&part, o->out);
    if (!file)
        return errno;
    fprintf(file, "{\"version\":1,\"interval_ns\":%" PRId64 ",\"stopped\":%s,\"held\":\"%s\",\"cpus\":[\n",
            all->probers[0].interval_ns, atomic_load(&all->stop) ? "true" : "false", held);
    for (uint32_t i = 0; i < o->cpu_count; i++) {
        fputs(i ? ",\n" : "", file);
        put_prober(file, &all->probers[i]);
    }
    fputs("]}\n", file);
    return part_close(&part);
}

static const char *prepare(struct wake_ups *all, const struct options *o, char *why, size_t bytes)
{
    all->control = all->marker = -1;
    atomic_store(&all->alarm_ns, o->break_ns > 0 ? o->break_ns : INT64_MAX);
    int error = o->break_file ? port_control_open(o->break_file, &all->control) : 0;
    if (error)
        fail_errno(&all->failure, o->break_file, error);
    error = o->mark_file ? port_control_open(o->mark_file, &all->marker) : 0;
    if (error)
        fail_errno(&all->failure, o->mark_file, error);
    for (uint32_t i = 0; i < o->cpu_count; i++) {
        struct prober *p = &all->probers[i];
        p->options = o;
        p->all = all;
        p->cpu = o->cpus[i];
        p->place = i;
        p->interval_ns = o->interval_ns;
        p->least_worst_ns = o->worst ? -1 : INT64_MAX;
        p->expected = (uint64_t)((o->seconds_ns + o->interval_ns - 1) / o->interval_ns);
        p->block_periods = (p->expected + BLOCKS - 1) / BLOCKS;
        db_histogram_begin(&p->raw);
        db_histogram_begin(&p->omitted);
    }
    if (!o->hold_latency)
        return "system";
    error = port_hold_wake_up_latency();
    snprintf(why, bytes, "refused: %s", strerror(error));
    return error ? why : "held";
}

static const char *impossibility(const struct options *o)
{
    if (!o->out || o->interval_ns == 0 || o->seconds_ns == 0)
        return "--out, --interval-ns and --seconds-ns are needed";
    if (o->hpet && o->cpu_count > 1)
        return "the interrupt of --hpet wakes one thread: one CPU";
    if ((o->policy == DB_POLICY_FIFO) != (o->priority > 0))
        return "--priority is 1 to 99 with fifo, and 0 with other";
    return NULL;
}

int measure_wake_ups(const struct options *o)
{
    char why[DB_REASON_BYTES];
    struct wake_ups *all = port_map(sizeof *all, 1);
    struct prober *probers = port_map(o->cpu_count * sizeof *probers, 1);
    const char *impossible = !all || !probers ? "there is not enough memory" : impossibility(o);
    if (impossible) {
        printf("error probe %s\n", impossible);
        fflush(stdout);
        return 1;
    }
    all->probers = probers;
    const char *held = prepare(all, o, why, sizeof why);
    guard_allow(o->seconds_ns + MARGIN_NS);
    bool ok = !has_failed(&all->failure) && run_all(all, o);
    int error = ok ? put_result(all, o, held) : 0;
    if (!ok || error) {
        printf("error probe %s\n", error                       ? strerror(error)
                                   : has_failed(&all->failure) ? all->failure.reason
                                                               : "a measuring process died");
        fflush(stdout);
        return 1;
    }
    return end_verb(probers[0].end_ns - probers[0].start_ns);
}
