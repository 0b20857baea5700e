/*
 * A primitive is a file under runtime/primitives: an operation that threads of one process repeat, each time
 * between two readings of the clock. The harness (runtime/src/host/primitive.c) starts the threads, keeps
 * every sample, and writes the result; a primitive says what is done and what is timed.
 */
#ifndef DEADBEAT_PRIMITIVE_H
#define DEADBEAT_PRIMITIVE_H

#include "deadbeat/fragment.h"
#include "deadbeat/histogram.h"
#include "deadbeat/port_host.h"

#include <stdalign.h>

/* What was wrong with a sample; it counts all the same. */
enum db_sample_tag { DB_SAMPLE_PREEMPTED = 1, DB_SAMPLE_MIGRATED = 2, DB_SAMPLE_WAITED = 4 };

/* One of the longest samples, or gaps. */
struct db_late_sample {
    int64_t moment_ns, value_ns; /* moment: since the start of the run */
    uint32_t tags;
};

#define DB_LATE_SAMPLES 20

struct db_late_list {
    struct db_late_sample list[DB_LATE_SAMPLES]; /* the longest first */
    uint32_t count;
};

/* What all threads of a run share. */
struct db_sampling {
    uint32_t threads;
    int64_t size;     /* bytes of an operation, where it has any */
    int64_t amount;   /* a second number of the primitive's own: objects that live, ... */
    uint32_t variant; /* index into its variants */
    uint32_t batch;   /* operations between two readings of the clock */
    int64_t work;     /* rounds of work between two samples */
    int64_t period_ns;
    uint64_t count; /* samples of each thread, at most */
    int64_t start_ns, end_ns;
    void *shared; /* shared_bytes() of it, touched, on pages of its own */
};

/* A thread of a run. What every sample needs comes first. */
struct db_sampler {
    alignas(DB_CACHE_LINE) int64_t last_ns; /* end of the last sample */
    int64_t end_ns, watch_ns;               /* what takes longer is looked at */
    uint64_t left;                          /* samples that it may still take */
    int64_t *kept, *kept_end;               /* where the next one is kept, with --keep; the same: nowhere */
    int64_t *room;                          /* where the first was */
    uint32_t place, batch;
    const struct db_sampling *run;
    void *own; /* the primitive's */
    struct db_histogram times, gaps;
    /* for the harness */
    struct db_late_list late_times, late_gaps;
    struct db_usage seen, began, ended; /* at the last look; at the ends of what counts */
    int usage, cpu, seen_cpu;
    uint64_t looked, preempted, migrated, waited;
    int error;
    const char *why;
};

struct db_primitive {
    const char *name;
    const char *const *variants;            /* ends with NULL; NULL: it has none */
    uint32_t group;                         /* threads that only work together; others come in any number */
    const char *(*lacks)(uint32_t variant); /* why it was built without it; NULL: it was not */
    size_t (*shared_bytes)(const struct db_sampling *run);
    int (*create)(struct db_sampling *run); /* before the threads start; 0 or an errno value */
    int (*begin)(struct db_sampler *s);     /* in the thread, on its CPU; 0 or an errno value */
    void (*run)(struct db_sampler *s);      /* until !db_goes_on(s) */
    void (*end)(struct db_sampler *s);
    const char *(*check)(const struct db_sampling *run); /* after: NULL, or what was not done */
    /* Where all want one thing: how often a thread got it right after each of run->threads, and how often in
     * a row at most; NULL: they do not. */
    const uint32_t *(*turns)(const struct db_sampling *run, uint32_t place, uint32_t *longest_row);
};

extern const struct db_primitive *const db_primitives[];
extern const uint32_t db_primitive_count;

/* Counts a sample that took longer than watch_ns, with what happened to the thread meanwhile. */
void db_sample_late(struct db_sampler *s, int64_t begin_ns, int64_t took_ns, int64_t gap_ns);

static inline bool db_goes_on(struct db_sampler *s)
{
    return s->left && s->last_ns < s->end_ns;
}

static inline void db_sample(struct db_sampler *s, int64_t begin_ns, int64_t end_ns)
{
    int64_t took = end_ns - begin_ns, gap = begin_ns - s->last_ns;
    db_histogram_add(&s->times, took);
    db_histogram_add(&s->gaps, gap);
    s->last_ns = end_ns;
    s->left--;
    if (s->kept < s->kept_end)
        *s->kept++ = took;
    if (__builtin_expect(took > s->watch_ns || gap > s->watch_ns, 0))
        db_sample_late(s, begin_ns, took, gap);
}

/* The operation, --batch times, as one sample. */
#define DB_SAMPLE(s, operation)                                                                              \
    do {                                                                                                     \
        int64_t begin_ns_ = port_now_ns();                                                                   \
        for (uint32_t i_ = 0; i_ < (s)->batch; i_++) {                                                       \
            operation;                                                                                       \
        }                                                                                                    \
        db_sample((s), begin_ns_, port_now_ns());                                                            \
    } while (0)

/* The compiler must believe that the memory is read and written here. */
#define DB_TOUCHED(pointer) __asm__ volatile("" : : "r"(pointer) : "memory")

/* Fake work between samples, as the seed's instr_load. */
static inline void db_work(const struct db_sampling *run)
{
    for (int64_t i = 0; i < run->work; i++)
        __asm__ volatile("");
}

#endif
