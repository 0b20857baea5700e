/* The host part of the runtime: processes, guardian, the program's verbs, and what a host can tell of a task.
 */
#ifndef DEADBEAT_RUNTIME_H
#define DEADBEAT_RUNTIME_H

#include "deadbeat/port_host.h"

#include "../core/run.h"

#include <stdio.h>

#define DB_MAX_CORES 1024
#define DB_MAX_WORST 1024
#define DB_MAX_PAIRS 2016 /* all of 64 CPUs */

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

/* Real-time threads in rounds, among ordinary ones. */
struct rounds_options {
    int normal_cpus[DB_MAX_CORES]; /* where the ordinary ones may run; none: on all of --cpus */
    uint32_t normal_cpu_count;
    uint32_t normal;    /* ordinary threads */
    uint32_t real_time; /* threads that are; 0: for what the ordinary ones do then */
    int32_t pin;        /* CPU it is bound to; -1: any of --cpus */
    int64_t units;      /* work of a round, in thousands of additions */
    int64_t unit_ps;    /* what one takes when nobody disturbs it */
    int64_t gap_ns;     /* so much longer than it should is worth a note */
    int64_t period_ns;  /* 0: back to back */
};

/* A primitive and what it is asked for; --cpus has an entry for each thread. */
struct sampling_options {
    const char *primitive, *variant;
    int64_t size, amount, work, count;
    int pairs[2 * DB_MAX_PAIRS]; /* CPUs of pairs that run one after the other, in place of --cpus */
    uint32_t paired, batch;
    uint32_t second_priority; /* of the second of a pair; 0: as the first */
    bool keep;                /* every sample, in order: needs a count */
    bool counter;             /* the clock is the processor's counter */
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
    uint32_t jobs;         /* of each task at least, counted and together, however long that takes */
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
    struct sampling_options sampling;
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
    bool hpet;              /* a device's interrupt wakes the thread, not a timer of the kernel's */
    bool until_eof;         /* the end of standard input ends it early */
    int32_t owner_pid;      /* set by main: the process that makes all objects */
};

/* What the guardian enforces; moved on by whoever starts bounded work. ns < 0: no bound. */
extern struct port_bound guard_bound;
/* It allows no longer than this: --bound-ns. */
extern int64_t guard_most_ns;
void guard_allow(int64_t ns);

/* --- processes ---------------------------------------------------------------------------------- */

/* Processes that `cores` cores take: one each, or one for all. */
uint32_t process_count(const struct options *options, uint32_t cores);
/* Called in the process that forks the cores: a child that ends makes wait_done() return. */
void watch_children(struct rendezvous *meeting);

/* The caller's name in the system's lists: what, and its number. */
void name_thread(const char *what, uint32_t number);
/* In a core's process: binds it, limits it, locks it; false after writing the failure. */
bool place_agent(const struct options *options, int cpu, struct failure *failure, int64_t bound_ns);

#define AGENT_PRIORITY 70
/* In a forked process of a core: runs `work` in a thread on it and ends, after it or without it. `prepare` is
 * called before the thread starts, which inherits what it sets; NULL: nothing. */
_Noreturn void agent_process(const struct options *options, struct rendezvous *meeting, uint32_t core,
                             int64_t bound_ns, void (*prepare)(void *), void *(*work)(void *),
                             void *argument);

/* --- objects of the verbs that repeat fragments ------------------------------------------------- */

/* Maps and creates one; 0, or why there is none: then `shared` is NULL. */
int object_make(struct db_resource *resource, const struct db_fragment *fragment, uint32_t users,
                uint32_t size, const struct options *options);
/* Guarded work is counted: an object that is not whole has let two in at once, which is a failure
 * unless `failure` is NULL. Unmaps it. */
void object_end(struct db_resource *resource, const struct db_fragment *fragment, struct failure *failure);
/* Into random order: `count` items of `bytes` each, 64 at most. */
void shuffle(void *items, uint32_t count, size_t bytes, uint64_t *random);

/* --- the verbs of the program ------------------------------------------------------------------ */

/* Says why there is no result; the exit status. */
int refuse_verb(const char *verb, const char *why);
/* Says that it is done, or refuses what stood still meanwhile; the exit status. */
int end_verb(int64_t value);
int serve_sets(const struct options *options);
int calibrate(const struct options *options);
int measure_noise(const struct options *options);
int try_fragments(const struct options *options);
int measure_instrumentation(const struct options *options);
int run_once(const struct options *options);
int measure_wake_ups(const struct options *options);
/* The verb `guard`, from the words after it. */
int run_guarded(int count, char **words);
/* The verb `load`, from all words of the program: it writes over them. */
int run_load(int count, char **words);
int measure_rounds(const struct options *options);
int measure_unit(const struct options *options);
const char *allocator_name(void);
int measure_primitive(const struct options *options);
int measure_interference(const struct options *options);
int measure_prices(const struct options *options);
/* What `once` takes where no option says otherwise. */
void once_defaults(struct options *options);
bool once_possible(const struct options *options);

/* Runs one task set of the program with its periods multiplied by period_ppm millionths, and writes
 * its result file; path NULL: a text for a reader instead. Returns true, or false with a reason. */
bool run_set(uint32_t index, uint32_t period_ppm, const struct options *options, const char *path,
             char *reason, uint64_t *measured_ns);

/* Numbers of CPUs, separated by commas. */
bool parse_cpus(int *cpus, uint32_t *count, const char *text);
/* From the words after the verb; false when one is not known, or cannot be used. */
bool parse_options(struct options *options, int count, char **words);

/* --- result file --------------------------------------------------------------------------------- */

struct writer {
    struct sink sink;
    FILE *file;
};
int writer_open(struct writer *writer, const char *path);
/* Appends the checksum and renames `part` to `path`; 0 or an errno, leaving no file on failure. */
int writer_close(struct writer *writer, const char *part, const char *path);

/* A text that is written beside `path` and renamed to it. */
struct part {
    const char *path;
    char name[4200];
    FILE *file;
};
/* NULL: errno says why. */
FILE *part_open(struct part *part, const char *path);
/* 0 or an errno value, leaving no file on failure. */
int part_close(struct part *part);
struct db_primitive;
/* NULL: there is none. */
const struct db_primitive *find_primitive(const char *name);
/* NULL names the first; false: it has none of that name. */
bool find_variant(const struct db_primitive *primitive, const char *name, uint32_t *variant);
struct db_histogram;
/* ,"NAME":{...} as src/deadbeat/base/model/histogram.py reads it. */
void put_histogram(FILE *file, const char *name, const struct db_histogram *histogram);

#endif
