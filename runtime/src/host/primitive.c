/*
 * The verb `primitive`: threads of one process repeat an operation, and every sample is kept.
 *
 * All threads start together, some time after the last was placed; with --pairs those of one pair after
 * those of another, each pair for --seconds-ns. Nothing is dropped: of a sample that took longer than a few
 * typical ones it is asked whether the thread was preempted, moved or had to wait for its CPU, and a gap
 * between two samples is kept as the samples are, because a stall may also fall there.
 *
 *   stdout  "done 0 MEASURED_NS", or "error primitive REASON"; the result, JSON, goes to --out
 */
#include "runtime.h"

#include "deadbeat/primitive.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define MARGIN_NS (20000 * DB_MILLISECOND)
/* From the last preparation to the first sample. */
#define LEAD_NS (2 * DB_MILLISECOND)
/* A stage beside its measurement, at most. */
#define STAGE_NS (100 * DB_MILLISECOND)
/* Samples before the first that counts, and how many of their medians make a long one. */
#define WARM_UP 256
#define WARM_UP_NS (20 * DB_MILLISECOND)
#define WARM_UPS_NS (500 * DB_MILLISECOND)
#define WATCH_MEDIANS 4
#define WATCH_LEAST_NS 1000
/* No more than one sample of so many is looked at: the next look begins later. */
#define LOOK_SHARE 64
/* How what a sample costs is found out. */
#define COST_TURNS 24
/* Samples of a thread that can be kept. */
#define MAX_KEPT (INT64_C(1) << 24)
#define COST_SAMPLES 500

struct sampled {
    struct db_sampling run;
    const struct options *options;
    const struct db_primitive *primitive;
    struct db_sampler *samplers;
    size_t shared_bytes;
    const int *cpus; /* of this stage's threads */
    uint32_t stage, stages;
    int64_t measured_ns; /* of all stages */
    atomic_uint placed, go, ended, news;
    struct failure failure;
    int64_t sample_cost_ps, resolution_ns;
};

/* What a thread is given. */
struct place {
    struct sampled *all;
    struct db_sampler *sampler;
    int cpu;
    uint64_t handle;
    int policy, priority, placed;
};

/* --- samples that took long --------------------------------------------------------------------------- */

static void keep_late(struct db_late_list *late, int64_t moment_ns, int64_t value_ns, uint32_t tags)
{
    if (late->count == DB_LATE_SAMPLES && value_ns <= late->list[DB_LATE_SAMPLES - 1].value_ns)
        return;
    uint32_t i = late->count < DB_LATE_SAMPLES ? late->count++ : DB_LATE_SAMPLES - 1;
    for (; i > 0 && late->list[i - 1].value_ns < value_ns; i--)
        late->list[i] = late->list[i - 1];
    late->list[i] = (struct db_late_sample){.moment_ns = moment_ns, .value_ns = value_ns, .tags = tags};
}

static uint32_t tags_of(struct db_sampler *s)
{
    struct db_usage now;
    uint32_t tags = 0;
    int cpu = port_current_cpu();
    port_usage(s->usage, &now, 1);
    if (now.involuntary != s->seen.involuntary)
        tags |= DB_SAMPLE_PREEMPTED;
    if (cpu != s->seen_cpu)
        tags |= DB_SAMPLE_MIGRATED;
    if (now.run_delay_ns - s->seen.run_delay_ns > s->watch_ns)
        tags |= DB_SAMPLE_WAITED;
    s->seen = now;
    s->seen_cpu = cpu;
    return tags;
}

void db_sample_late(struct db_sampler *s, int64_t begin_ns, int64_t took_ns, int64_t gap_ns)
{
    uint32_t tags = tags_of(s);
    int64_t moment = begin_ns - s->run->start_ns;
    s->looked++;
    s->preempted += (tags & DB_SAMPLE_PREEMPTED) != 0;
    s->migrated += (tags & DB_SAMPLE_MIGRATED) != 0;
    s->waited += (tags & DB_SAMPLE_WAITED) != 0;
    if (took_ns > s->watch_ns)
        keep_late(&s->late_times, moment, took_ns, tags);
    if (gap_ns > s->watch_ns)
        keep_late(&s->late_gaps, moment - gap_ns, gap_ns, tags);
    if (s->looked > 2 * DB_LATE_SAMPLES && s->looked > s->times.total / LOOK_SHARE)
        s->watch_ns += s->watch_ns / 2;
    s->last_ns = port_now_ns(); /* the look is no gap */
}

/* --- one thread ----------------------------------------------------------------------------------------- */

/* Only what was counted in: a thousand of them are emptied while their threads have the CPUs. */
static void empty(struct db_histogram *h)
{
    if (h->total)
        memset(&h->counts[db_bucket_of(h->min)], 0,
               sizeof *h->counts * (db_bucket_of(h->max) - db_bucket_of(h->min) + 1));
    h->sum = (struct db_wide){0};
    h->total = 0;
    db_histogram_begin(h);
}

static int64_t median_of(const struct db_histogram *h)
{
    uint64_t seen = 0;
    for (uint32_t i = 0; i < DB_BUCKETS; i++)
        if ((seen += h->counts[i]) * 2 >= h->total)
            return db_bucket_high(i);
    return 0;
}

/* What the harness itself takes for a sample: so much longer is a loop of empty samples than one that reads
 * the clock twice, in the fastest of many turns about. */
static int64_t sample_cost_ps(struct db_sampler *s)
{
    int64_t bare_ns = INT64_MAX, full_ns = INT64_MAX;
    volatile int64_t kept = 0;
    for (int turn = 0; turn < COST_TURNS; turn++) {
        int64_t began = port_now_ns();
        for (int i = 0; i < COST_SAMPLES; i++)
            kept = port_now_ns() - port_now_ns();
        int64_t between = port_now_ns();
        for (int i = 0; i < COST_SAMPLES; i++)
            DB_SAMPLE(s, __asm__ volatile(""));
        int64_t ended = port_now_ns();
        bare_ns = between - began < bare_ns ? between - began : bare_ns;
        full_ns = ended - between < full_ns ? ended - between : full_ns;
    }
    (void)kept;
    return (full_ns - bare_ns) * 1000 / COST_SAMPLES;
}

/* The shortest time that two readings can lie apart and differ. */
static int64_t resolution_ns(void)
{
    int64_t least = INT64_MAX, last = port_now_ns();
    for (int i = 0; i < 4 * COST_SAMPLES; i++) {
        int64_t now = port_now_ns();
        if (now > last && now - last < least)
            least = now - last;
        last = now;
    }
    return least;
}

static void prepare_sampler(struct db_sampler *s)
{
    s->batch = 1;
    s->watch_ns = INT64_MAX;
    s->left = UINT64_MAX;
    if (s->place == 0 && ((const struct sampled *)s->run)->stage == 0) {
        struct sampled *all = (struct sampled *)s->run;
        all->sample_cost_ps = sample_cost_ps(s);
        all->resolution_ns = resolution_ns();
    }
}

/* Runs the primitive with bounds of its own. */
static void run_for(struct db_sampler *s, const struct sampled *all, uint64_t count, int64_t watch_ns,
                    int64_t end_ns)
{
    empty(&s->times);
    empty(&s->gaps);
    s->batch = all->run.batch;
    s->left = count;
    s->watch_ns = watch_ns;
    s->end_ns = end_ns;
    s->last_ns = port_now_ns();
    all->primitive->run(s);
}

static void tell(struct sampled *all, atomic_uint *word)
{
    atomic_fetch_add(word, 1);
    atomic_fetch_add(&all->news, 1);
    port_wake(&all->news);
}

static void await(struct sampled *all, atomic_uint *word, unsigned wanted)
{
    for (;;) {
        unsigned seen = atomic_load(&all->news);
        if (atomic_load(word) >= wanted)
            return;
        port_wait(&all->news, seen, -1);
    }
}

static void measure(struct db_sampler *s, const struct sampled *all)
{
    int64_t warm_ns = all->run.start_ns - LEAD_NS;
    for (int pass = 0; pass < 2; pass++) /* what happens once lies in the first */
        run_for(s, all, WARM_UP, INT64_MAX, warm_ns);
    int64_t watch = WATCH_MEDIANS * median_of(&s->times);
    port_sleep_until_ns(all->run.start_ns);
    port_usage(s->usage, &s->seen, 1);
    s->began = s->seen;
    s->seen_cpu = port_current_cpu();
    s->kept = s->room;
    s->kept_end = s->room ? s->room + all->run.count : NULL;
    run_for(s, all, all->run.count, watch > WATCH_LEAST_NS ? watch : WATCH_LEAST_NS, all->run.end_ns);
    port_usage(s->usage, &s->ended, 1);
}

static void *sampler_main(void *argument)
{
    struct place *place = argument;
    struct sampled *all = place->all;
    struct db_sampler *s = place->sampler;
    name_thread("sample", s->place);
    s->error = port_usage_open(&s->usage);
    prepare_sampler(s);
    if (!s->error && all->primitive->begin)
        s->error = all->primitive->begin(s);
    if (s->error)
        fail_errno(&all->failure, "a thread could not prepare itself", s->error);
    tell(all, &all->placed);
    await(all, &all->go, 1);
    if (!has_failed(&all->failure))
        measure(s, all);
    if (all->primitive->end)
        all->primitive->end(s);
    int error = port_get_placement(&place->policy, &place->priority, &place->placed);
    s->error = s->error ? s->error : error;
    port_usage_close(s->usage);
    tell(all, &all->ended);
    return NULL;
}

/* --- all threads ------------------------------------------------------------------------------------------
 */

static int priority_of(const struct options *o, const struct sampled *all, uint32_t thread)
{
    uint32_t group = all->primitive->group;
    bool second = group == 2 && thread % 2 == 1;
    return (int)(second && o->sampling.second_priority ? o->sampling.second_priority : o->priority);
}

/* Threads of one CPU warm up one after the other. */
static int64_t warm_up_ns(const struct sampled *all)
{
    const struct options *o = all->options;
    uint32_t sharing = 1;
    for (uint32_t i = 0; i < all->run.threads; i++) {
        uint32_t same = 0;
        for (uint32_t k = 0; k < all->run.threads; k++)
            same += all->cpus[k] == all->cpus[i];
        sharing = same > sharing ? same : sharing;
    }
    int64_t most_ns = o->seconds_ns / 10 < WARM_UP_NS ? o->seconds_ns / 10 : WARM_UP_NS;
    return most_ns * sharing < WARM_UPS_NS ? most_ns * sharing : WARM_UPS_NS;
}

static bool run_threads(struct sampled *all, struct place *places)
{
    const struct options *o = all->options;
    uint32_t started = 0;
    all->placed = all->go = all->ended = 0;
    for (; started < all->run.threads; started++) {
        struct place *p = &places[started];
        *p = (struct place){.all = all, .sampler = &all->samplers[started], .cpu = all->cpus[started]};
        int error =
            port_start_thread(sampler_main, p, o->policy, priority_of(o, all, started), p->cpu, &p->handle);
        if (error) {
            fail_errno(&all->failure, "a thread could not be started", error);
            break;
        }
    }
    await(all, &all->placed, started);
    all->run.start_ns = port_now_ns() + warm_up_ns(all) + 2 * LEAD_NS;
    all->run.end_ns = all->run.start_ns + o->seconds_ns;
    tell(all, &all->go);
    await(all, &all->ended, started);
    for (uint32_t i = 0; i < started; i++)
        port_join_thread(places[i].handle);
    return !has_failed(&all->failure);
}

/* --- the result --------------------------------------------------------------------------------------------
 */

static void put_late(FILE *file, const char *name, const struct db_late_list *late)
{
    fprintf(file, ",\"%s\":[", name);
    for (uint32_t i = 0; i < late->count; i++)
        fprintf(file, "%s[%" PRId64 ",%" PRId64 ",%u]", i ? "," : "", late->list[i].moment_ns,
                late->list[i].value_ns, late->list[i].tags);
    fputs("]", file);
}

static void put_kept(FILE *file, const struct db_sampler *s)
{
    fputs(",\"samples\":[", file);
    for (const int64_t *each = s->room; each < s->kept; each++)
        fprintf(file, "%s%" PRId64, each > s->room ? "," : "", *each);
    fputs("]", file);
}

static void put_turns(FILE *file, const struct sampled *all, uint32_t place)
{
    uint32_t longest;
    const uint32_t *after = all->primitive->turns(&all->run, place, &longest);
    fprintf(file, ",\"longest_row\":%u,\"after\":[", longest);
    for (uint32_t i = 0; i < all->run.threads; i++)
        fprintf(file, "%s%u", i ? "," : "", after[i]);
    fputs("]", file);
}

/* Of the thread: of what it touched first, before its first sample that counts, and since. */
static void put_faults(FILE *file, const struct db_sampler *s)
{
    fprintf(file, ",\"first_faults\":%u,\"minor_faults\":%u,\"major_faults\":%u",
            s->began.minor_faults + s->began.major_faults, s->ended.minor_faults - s->began.minor_faults,
            s->ended.major_faults - s->began.major_faults);
}

static void put_thread(FILE *file, const struct place *p)
{
    const struct sampled *all = p->all;
    const struct db_sampler *s = p->sampler;
    uint32_t first = all->stage * all->run.threads;
    static const char *const words[] = {
        [DB_POLICY_OTHER] = "other", [DB_POLICY_FIFO] = "fifo", [DB_POLICY_RR] = "rr"};
    const char *policy = p->policy >= 0 && p->policy <= DB_POLICY_RR ? words[p->policy] : "unknown";
    fprintf(file,
            "{\"thread\":%u,\"cpu\":%d,\"policy\":\"%s\",\"priority\":%d,\"looked\":%" PRIu64
            ",\"preempted\":%" PRIu64 ",\"migrated\":%" PRIu64 ",\"waited\":%" PRIu64
            ",\"watch_ns\":%" PRId64,
            first + s->place, p->placed, policy, p->priority, s->looked, s->preempted, s->migrated, s->waited,
            s->watch_ns);
    put_faults(file, s);
    put_histogram(file, "times", &s->times);
    put_histogram(file, "gaps", &s->gaps);
    put_late(file, "late_times", &s->late_times);
    put_late(file, "late_gaps", &s->late_gaps);
    if (s->room)
        put_kept(file, s);
    if (all->primitive->group == 2)
        fprintf(file, ",\"partner\":%d", all->cpus[s->place ^ 1]);
    if (all->primitive->turns)
        put_turns(file, all, s->place);
    fputs("}", file);
}

/* With a number of samples: until the last of them. */
static int64_t measured_ns(const struct sampled *all)
{
    int64_t end_ns = all->run.start_ns;
    for (uint32_t i = 0; i < all->run.threads; i++)
        if (all->samplers[i].last_ns > end_ns)
            end_ns = all->samplers[i].last_ns;
    return (all->options->sampling.count && end_ns < all->run.end_ns ? end_ns : all->run.end_ns) -
           all->run.start_ns;
}

static void put_stage(FILE *file, const struct sampled *all, const struct place *places)
{
    for (uint32_t i = 0; i < all->run.threads; i++) {
        fputs(all->stage || i ? ",\n" : "", file);
        put_thread(file, &places[i]);
    }
}

static void put_numbers(FILE *file, const struct sampled *all)
{
    fprintf(file,
            "\n],\"version\":1,\"batch\":%u,\"clock_cost_ps\":%" PRId64 ",\"sample_cost_ps\":%" PRId64
            ",\"resolution_ns\":%" PRId64 ",\"measured_ns\":%" PRId64
            ",\"allocator\":\"%s\",\"memory_locked\":%s}\n",
            all->run.batch, clock_cost_ps(), all->sample_cost_ps, all->resolution_ns, all->measured_ns,
            allocator_name(), all->options->memory_locked ? "true" : "false");
}

/* --- the verb
 * ------------------------------------------------------------------------------------------------ */

const struct db_primitive *find_primitive(const char *name)
{
    for (uint32_t i = 0; name && i < db_primitive_count; i++)
        if (strcmp(db_primitives[i]->name, name) == 0)
            return db_primitives[i];
    return NULL;
}

bool find_variant(const struct db_primitive *primitive, const char *name, uint32_t *variant)
{
    if (!name)
        return true;
    for (*variant = 0; primitive->variants && primitive->variants[*variant]; ++*variant)
        if (strcmp(primitive->variants[*variant], name) == 0)
            return true;
    return false;
}

static const char *unfit(const struct sampled *all, const struct options *o)
{
    const struct db_primitive *primitive = all->primitive;
    if (!o->out || o->seconds_ns == 0)
        return "--out and --seconds-ns are needed";
    if (primitive->group && o->cpu_count % primitive->group)
        return "threads of this primitive come in pairs";
    if (o->sampling.paired && (!primitive->group || o->sampling.paired % 2))
        return "--pairs is for pairs";
    if (o->sampling.keep && (o->sampling.count == 0 || o->sampling.count > MAX_KEPT))
        return "--keep needs a --count that memory holds";
    return primitive->lacks ? primitive->lacks(all->run.variant) : NULL;
}

static const char *prepare(struct sampled *all, const struct options *o)
{
    const struct db_primitive *primitive = find_primitive(o->sampling.primitive);
    if (!primitive)
        return "there is no such primitive";
    if (!find_variant(primitive, o->sampling.variant, &all->run.variant))
        return "the primitive has no such variant";
    all->options = o;
    all->primitive = primitive;
    const char *why = unfit(all, o);
    if (why)
        return why;
    all->cpus = o->sampling.paired ? o->sampling.pairs : o->cpus;
    all->run.threads = o->sampling.paired ? primitive->group : o->cpu_count;
    all->stages = o->sampling.paired ? o->sampling.paired / primitive->group : 1;
    all->run.size = o->sampling.size;
    all->run.amount = o->sampling.amount;
    all->run.work = o->sampling.work;
    all->run.batch = o->sampling.batch;
    all->run.count = o->sampling.count ? (uint64_t)o->sampling.count : UINT64_MAX;
    all->run.period_ns = o->rounds.period_ns;
    all->shared_bytes = primitive->shared_bytes ? primitive->shared_bytes(&all->run) : 0;
    all->samplers = port_map(all->run.threads * sizeof *all->samplers, 0);
    all->run.shared = all->shared_bytes ? port_map(all->shared_bytes, 0) : NULL;
    return all->samplers && (all->run.shared || !all->shared_bytes) ? NULL : "there is not enough memory";
}

static const char *begin_stage(struct sampled *all)
{
    if (all->stage && all->shared_bytes)
        memset(all->run.shared, 0, all->shared_bytes);
    for (uint32_t i = 0; i < all->run.threads; i++) {
        struct db_sampler *s = &all->samplers[i];
        empty(&s->times);
        empty(&s->gaps);
        memset(&s->late_times, 0, sizeof *s - offsetof(struct db_sampler, late_times));
        s->place = i;
        s->run = &all->run;
        s->kept = s->kept_end = NULL;
        if (all->options->sampling.keep && !s->room &&
            !(s->room = port_map(all->run.count * sizeof *s->room, 0)))
            return "there is not enough memory";
    }
    int error = all->primitive->create ? all->primitive->create(&all->run) : 0;
    return error ? strerror(error) : NULL;
}

static const char *why_failed(struct sampled *all)
{
    for (uint32_t i = 0; i < all->run.threads; i++)
        if (all->samplers[i].why)
            return all->samplers[i].why;
    return all->primitive->check ? all->primitive->check(&all->run) : NULL;
}

static const char *run_stage(struct sampled *all, FILE *file)
{
    static struct place places[DB_MAX_CORES];
    const char *why = begin_stage(all);
    if (why)
        return why;
    if (!run_threads(all, places))
        return all->failure.reason;
    if ((why = why_failed(all)))
        return why;
    all->measured_ns += measured_ns(all);
    put_stage(file, all, places);
    all->cpus += all->run.threads;
    return NULL;
}

static const char *run_stages(struct sampled *all)
{
    struct part part;
    const char *why = NULL;
    FILE *file = part_open(&part, all->options->out);
    if (!file)
        return strerror(errno);
    fputs("{\"threads\":[\n", file);
    for (all->stage = 0; all->stage < all->stages && !why; all->stage++)
        why = run_stage(all, file);
    put_numbers(file, all);
    int error = part_close(&part);
    return why || !error ? why : strerror(error);
}

int measure_primitive(const struct options *o)
{
    static struct sampled all;
    int error = o->lock_memory ? port_lock_memory() : 0;
    if (!error && o->sampling.counter)
        error = port_use_counter();
    const char *why = error ? strerror(error) : prepare(&all, o);
    if (why)
        return refuse_verb("primitive", why);
    guard_allow(all.stages * (o->seconds_ns + STAGE_NS) + MARGIN_NS);
    if ((why = run_stages(&all)))
        return refuse_verb("primitive", why);
    return end_verb(all.measured_ns);
}
