/* Primitives in slots: the loop of a primitive, so many samples at a time, without its own harness. */
#include "repeated.h"

#include <errno.h>
#include <string.h>

/* A sample is at least so long where it may be many operations: readings of the clock would hide the rest. */
#define SAMPLE_NS 1000
#define BATCH_MAX 1000
#define TRIALS 16

struct repeated {
    struct db_sampling run;
    const struct db_primitive *primitive;
    struct db_sampler *samplers; /* one, or the two of a pair */
    bool batches, over;
    const char *why;
    uint64_t partner; /* the second thread of a pair */
    alignas(DB_CACHE_LINE) atomic_uint asked, done;
};

const char *repeated_find(struct repeated_kind *kind, const char *name, const char *variant)
{
    kind->primitive = find_primitive(name);
    if (!kind->primitive)
        return "there is no such primitive";
    if (!find_variant(kind->primitive, variant[0] == '-' ? NULL : variant, &kind->variant))
        return "the primitive has no such variant";
    return kind->primitive->lacks ? kind->primitive->lacks(kind->variant) : NULL;
}

static void prepare(struct db_sampler *s, uint32_t place, const struct db_sampling *run)
{
    s->place = place;
    s->run = run;
    s->batch = 1;
    s->watch_ns = INT64_MAX; /* no sample is looked at: a look takes time */
    db_histogram_begin(&s->times);
    db_histogram_begin(&s->gaps);
}

static void begin_samples(struct db_sampler *s, uint64_t most)
{
    s->left = most;
    __atomic_store_n(&s->end_ns, INT64_MAX, __ATOMIC_RELEASE);
    s->last_ns = port_now_ns();
}

static void *partner_main(void *argument)
{
    struct repeated *r = argument;
    struct db_sampler *s = &r->samplers[1];
    s->error = r->primitive->begin ? r->primitive->begin(s) : 0;
    for (unsigned seen = 0;; seen++) {
        atomic_store(&r->done, seen + 1);
        port_wake(&r->done);
        while (atomic_load(&r->asked) == seen)
            port_wait(&r->asked, seen, -1);
        if (r->over)
            break;
        r->primitive->run(s);
    }
    if (r->primitive->end)
        r->primitive->end(s);
    return NULL;
}

/* The partner has begun, or done what it was asked for. */
static void await_partner(struct repeated *r)
{
    unsigned wanted = atomic_load(&r->asked) + 1, seen;
    while ((seen = atomic_load(&r->done)) != wanted)
        port_wait(&r->done, seen, -1);
}

static void ask_partner(struct repeated *r)
{
    atomic_fetch_add(&r->asked, 1);
    port_wake(&r->asked);
}

struct repeated *repeated_new(const struct repeated_kind *kind, enum db_policy policy, int priority, int cpu,
                              const char **why)
{
    struct repeated *r = port_map(sizeof *r, 0);
    uint32_t threads = kind->primitive->group == 2 ? 2 : 1;
    *why = "there is not enough memory";
    if (!r)
        return NULL;
    r->primitive = kind->primitive;
    r->batches = kind->batches;
    r->run = (struct db_sampling){.threads = threads,
                                  .size = kind->size,
                                  .amount = kind->amount,
                                  .variant = kind->variant,
                                  .batch = 1,
                                  .count = UINT64_MAX};
    size_t bytes = r->primitive->shared_bytes ? r->primitive->shared_bytes(&r->run) : 0;
    r->samplers = port_map(threads * sizeof *r->samplers, 0);
    r->run.shared = bytes ? port_map(bytes, 0) : NULL;
    if (!r->samplers || (bytes && !r->run.shared))
        return NULL;
    for (uint32_t i = 0; i < threads; i++)
        prepare(&r->samplers[i], i, &r->run);
    int error = r->primitive->create ? r->primitive->create(&r->run) : 0;
    if (!error && threads == 2)
        error = port_start_thread(partner_main, r, policy, priority + !kind->equal, cpu, &r->partner);
    *why = error ? strerror(error) : NULL;
    return error ? NULL : r;
}

int repeated_begin(struct repeated *r)
{
    if (r->run.threads == 2)
        await_partner(r);
    int error = r->primitive->begin ? r->primitive->begin(&r->samplers[0]) : 0;
    error = error ? error : r->samplers[r->run.threads - 1].error;
    if (error || !r->batches)
        return error;
    uint32_t uses;
    repeated_run(r, TRIALS, &uses);
    int64_t took_ns = repeated_run(r, TRIALS, &uses) / TRIALS, batch = SAMPLE_NS / (took_ns + 1) + 1;
    r->samplers[0].batch = batch < BATCH_MAX ? (uint32_t)batch : BATCH_MAX;
    return 0;
}

int64_t repeated_run(struct repeated *r, uint32_t samples, uint32_t *uses)
{
    uint64_t took_ns = 0, count = 0;
    bool pair = r->run.threads == 2;
    for (uint32_t i = 0; i < r->run.threads; i++) {
        took_ns -= r->samplers[i].times.sum.low;
        count -= r->samplers[i].times.total;
        begin_samples(&r->samplers[i], i ? UINT64_MAX : samples);
    }
    if (pair)
        ask_partner(r);
    r->primitive->run(&r->samplers[0]);
    if (pair) { /* one that goes on until somebody answers ends too */
        __atomic_store_n(&r->samplers[1].end_ns, 0, __ATOMIC_RELEASE);
        await_partner(r);
    }
    for (uint32_t i = 0; i < r->run.threads; i++) {
        took_ns += r->samplers[i].times.sum.low;
        count += r->samplers[i].times.total;
    }
    *uses = (uint32_t)count * r->samplers[0].batch;
    return (int64_t)took_ns;
}

const char *repeated_end(struct repeated *r)
{
    if (r->run.threads == 2) {
        r->over = true;
        ask_partner(r);
        port_join_thread(r->partner);
    }
    if (r->primitive->end)
        r->primitive->end(&r->samplers[0]);
    for (uint32_t i = 0; i < r->run.threads; i++)
        if (r->samplers[i].why)
            return r->samplers[i].why;
    return r->primitive->check ? r->primitive->check(&r->run) : NULL;
}
