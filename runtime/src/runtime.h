/* Shared by the files of the runtime; nothing here is seen by fragments or generated tables. */
#ifndef DEADBEAT_RUNTIME_H
#define DEADBEAT_RUNTIME_H

#include "deadbeat/port.h"
#include "deadbeat/records.h"
#include "deadbeat/tables.h"

#include <stdalign.h>
#include <stdbool.h>
#include <stdio.h>

#define DB_MAX_CORES 1024
#define DB_REASON_BYTES 200
#define DB_MAX_WORST 1024
#define DB_MILLISECOND INT64_C(1000000)
/* Eleven days: no time of a run is longer, nor a run itself. What is computed from times cannot overflow. */
#define DB_LONGEST_NS (INT64_C(1000000000) * DB_MILLISECOND)

/* Positive controls: what is done to the tasks on purpose, in slots together only. */
struct injection {
    int64_t delay_ns; /* extra work in every delay_every-th job of delay_task */
    int32_t delay_task;
    uint32_t delay_every;
    int32_t hog_core; /* -1: none; a thread above all tasks spins there ... */
    int64_t hog_start_ns, hog_length_ns, hog_period_ns;
    int32_t move_task; /* -1: none; it is moved to another CPU for half of every period */
    int64_t move_period_ns;
    int32_t fair_core; /* -1: none; a best-effort thread spins there */
};

/* A real-time thread in rounds, among ordinary ones. */
struct rounds_options {
    int normal_cpus[DB_MAX_CORES]; /* where the ordinary ones may run; none: on all of --cpus */
    uint32_t normal_cpu_count;
    uint32_t normal;   /* ordinary threads */
    bool real_time;    /* false: without it, for what the ordinary ones do then */
    int32_t pin;       /* CPU it is bound to; -1: any of --cpus */
    int64_t units;     /* work of a round, in thousands of additions */
    int64_t unit_ps;   /* what one takes when nobody disturbs it */
    int64_t gap_ns;    /* so much longer than it should is worth a note */
    int64_t period_ns; /* 0: back to back */
};

struct options {
    int cpus[DB_MAX_CORES];
    uint32_t cpu_count;
    enum db_policy policy;
    bool lock_memory;   /* false only under sanitizers, whose shadow memory cannot be locked */
    bool private_ipc;   /* set by main once it has one */
    bool memory_locked; /* set by main */
    int64_t lock_wait_ns;
    int64_t bound_ns;      /* the guardian ends what takes longer, whatever it asked for */
    int64_t seconds_ns;    /* length of the timetable of a set */
    uint32_t slot_periods; /* length of a slot in periods of its slowest task; 0: by the rule */
    uint32_t warmup;       /* periods at the start of a slot that are not counted */
    bool solo;             /* tasks also run alone */
    bool late;             /* overrun policy late instead of skip */
    bool split;            /* record where the time went */
    bool one_process;      /* the labelled mode: the tasks of all cores share one address space */
    bool causes;           /* record how long every use took; implies split */
    bool counters;         /* count perf events of every task in every slot */
    struct injection inject;
    uint32_t set_index; /* once: which task set */
    struct rounds_options rounds;
    /* calibration and noise */
    const char *entries; /* file with one "name size" a line */
    const char *out;
    uint64_t seed;
    int visit[DB_MAX_CORES]; /* calibration: cores whose costs are measured, by turns; none: all */
    uint32_t visit_count;
    uint32_t kinds;        /* calibration: of cores, which take turns in --visit */
    uint32_t participants; /* try: of the largest object there will be */
    bool cold;
    size_t scrub_bytes; /* cold: how much memory is read to empty the caches */
    /* probe */
    int64_t interval_ns;
    int64_t break_ns;       /* above it, break_file gets a "0"; 0: never */
    const char *break_file; /* tracing_on of an instance of event tracing, or NULL */
    const char *mark_file;  /* gets a line for every wake-up: trace_marker of such an instance, or NULL */
    uint32_t priority;      /* of the measuring threads, or of the one in rounds */
    uint32_t worst;         /* so many of the latest wake-ups are kept */
    bool hold_latency;      /* keep CPUs from idling deeply, as cyclictest does */
    bool until_eof;         /* the end of standard input ends it early */
    int32_t owner_pid;      /* set by main: the process that makes all objects */
};

/* What the guardian enforces; moved on by whoever starts bounded work. ns < 0: no bound. */
extern struct port_bound guard_bound;
/* It allows no longer than this: --bound-ns. */
extern int64_t guard_most_ns;
void guard_allow(int64_t ns);

/* --- failure: the first reason wins, from any process ---------------------------------------- */

struct failure {
    atomic_uint claimed;
    atomic_uint written;
    char reason[DB_REASON_BYTES];
};
void fail_with(struct failure *failure, const char *what, const char *detail);
void fail_errno(struct failure *failure, const char *what, int error);
bool has_failed(const struct failure *failure);

/* --- meeting: how coordinator, cores and tasks wait for one another -------------------------- */

struct rendezvous {
    alignas(DB_CACHE_LINE) atomic_uint done;   /* bumped by whoever finished what it was told */
    alignas(DB_CACHE_LINE) atomic_uint ball;   /* the cache line of the ping-pong probe */
    alignas(DB_CACHE_LINE) atomic_uint signal; /* what all tasks of a set do: run.h */
    alignas(DB_CACHE_LINE) struct failure failure;
};

/* Processes that `cores` cores take: one each, or one for all. */
uint32_t process_count(const struct options *options, uint32_t cores);
/* Waits until `expected` parties are done; false when a child died or a failure was written. */
bool wait_done(struct rendezvous *meeting, unsigned expected);
void say_done(struct rendezvous *meeting);
/* Called in the process that forks the cores: a child that ends makes wait_done() return. */
void watch_children(struct rendezvous *meeting);

/* --- probes ---------------------------------------------------------------------------------- */

/* The median of `loops` loops, in ps. */
uint64_t yardstick_ps(int loops);
/* Makes loop and witness as long as the clock's resolution needs them; called before a process forks.
 * Without it they are as long as on a clock of nanoseconds. A loop's time is given for its usual length. */
void probes_fit_clock(void);
/* A short computation, once, in ns, with the clock read it takes: compared within one run only. */
int64_t witness_ns(void);
/* Computes what takes so long when nobody disturbs it. */
void compute_for(int64_t ns);
/* Time of so many loops together, in ns. */
int64_t yardstick_block_ns(int loops);
int64_t clock_cost_ps(void);
/* Fastest batch of round trips of one line, ps a trip; 0 when the peer does not pong. */
uint64_t ping(atomic_uint *ball);
void pong(atomic_uint *ball);

/* --- contexts --------------------------------------------------------------------------------- */

/* The only loop around fragments, at one address for calibration and runs: after a locked
 * instruction a few cycles of loop overhead are a third of the cheapest fragments. */
void repeat(void (*run)(struct db_context *), struct db_context *context, uint32_t times);
size_t context_bytes(const struct db_fragment *fragment, uint32_t size);
/* Runs setup of one context in `memory`; returns 0 or an errno. */
int context_setup(struct db_context *context, void *memory, uint32_t size, uint64_t seed,
                  struct db_resource *resource, uint32_t participant, const struct db_fragment *fragment);
int resource_create(struct db_resource *resource, const struct db_fragment *fragment, void *shared,
                    const struct options *options);

static inline size_t round_up(size_t bytes, size_t grain)
{
    return (bytes + grain - 1) / grain * grain;
}

/* The caller's name in the system's lists: what, and its number. */
void name_thread(const char *what, uint32_t number);
/* In a core's process: binds it, limits it, locks it; false after writing the failure. */
bool place_agent(const struct options *options, int cpu, struct failure *failure, int64_t bound_ns);

/* --- the verbs of the program ------------------------------------------------------------------ */

int serve_sets(const struct options *options);
int calibrate(const struct options *options);
int measure_noise(const struct options *options);
int try_fragments(const struct options *options);
int measure_instrumentation(const struct options *options);
int run_once(const struct options *options);
int measure_wake_ups(const struct options *options);
/* The verb `guard`, from the words after it. */
int run_guarded(int count, char **words);
int measure_rounds(const struct options *options);
int measure_unit(const struct options *options);
/* What `once` takes where no option says otherwise. */
void once_defaults(struct options *options);
bool once_possible(const struct options *options);
const struct db_fragment *find_fragment(const char *name);

/* Runs one task set of the program with its periods multiplied by period_ppm millionths, and writes
 * its result file; path NULL: a text for a reader instead. Returns true, or false with a reason. */
bool run_set(uint32_t index, uint32_t period_ppm, const struct options *options, const char *path,
             char *reason, uint64_t *measured_ns);

/* From the words after the verb; false when one is not known, or cannot be used. */
bool parse_options(struct options *options, int count, char **words);

/* --- result file --------------------------------------------------------------------------------- */

struct writer {
    FILE *file;
    int error;
    uint32_t crc;
};
int writer_open(struct writer *writer, const char *path);
void writer_put(struct writer *writer, const void *data, size_t bytes);
/* Appends the checksum and renames `part` to `path`; 0 or an errno, leaving no file on failure. */
int writer_close(struct writer *writer, const char *part, const char *path);

#endif
