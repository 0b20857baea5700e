/*
 * The core of the runtime: one run of one task set, on deadbeat/port_core.h alone, in one address space or
 * in processes that share the run's arena. Nothing here is seen by fragments or generated tables. It uses
 * string.h and nothing else of a C library, and allocates by port_map() before the first release.
 */
#ifndef DEADBEAT_RUN_H
#define DEADBEAT_RUN_H

#include "deadbeat/port_core.h"
#include "deadbeat/records.h"
#include "deadbeat/tables.h"
#include "deadbeat/text.h"

#include <stdalign.h>
#include <stdbool.h>

#define DB_REASON_BYTES 200
#define DB_MILLISECOND INT64_C(1000000)
/* Eleven days: no time of a run is longer, nor a run itself. What is computed from times cannot overflow. */
#define DB_LONGEST_NS (INT64_C(1000000000) * DB_MILLISECOND)
/* Periods are counted in these: a millionth part. */
#define UNSCALED_PPM UINT32_C(1000000)

/* How one set is run. */
struct run_options {
    const int *cpus; /* of the set's cores */
    enum db_policy policy;
    int64_t seconds_ns;    /* length of the timetable */
    uint32_t jobs;         /* of each task at least, counted and together, however long that takes */
    uint32_t slot_periods; /* length of a slot in periods of its slowest task; 0: by the rule */
    uint32_t warmup;       /* periods at the start of a slot that are not counted */
    bool solo;             /* tasks also run alone */
    bool late;             /* overrun policy late instead of skip */
    bool details;          /* there is a detail for every record ... */
    bool counters;         /* ... and rows of events for every slot: filled by the host's extras */
    bool pairs;            /* there is room for round trips between cores: filled by the host */
    uint64_t seed;
    uint32_t period_ppm; /* periods, deadlines and offsets are multiplied by so many millionths */
    uint32_t flags;      /* of the record file, beside those that follow from the above */
    int32_t owner_pid;   /* the process that makes all objects */
};

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
    alignas(DB_CACHE_LINE) atomic_uint signal; /* what all tasks of a set do: enum signal */
    alignas(DB_CACHE_LINE) struct failure failure;
};

/* Whoever learns that a party died adds this to the count, so that no wait can be slept through. */
#define PARTY_DIED 0x10000u

/* Waits until `expected` parties are done; false when one died or a failure was written. */
bool wait_done(struct rendezvous *meeting, unsigned expected);
void say_done(struct rendezvous *meeting);

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
/* The same, over soon after `until`. Exchanges that follow on one ball have other turns: the next one does
 * not take what a broken one left for its own. */
uint64_t ping_until(atomic_uint *ball, uint32_t turn, int64_t until);
void pong_until(atomic_uint *ball, uint32_t turn, int64_t until);

/* --- contexts --------------------------------------------------------------------------------- */

/* The only loop around fragments, at one address for calibration and runs: after a locked
 * instruction a few cycles of loop overhead are a third of the cheapest fragments. */
void repeat(void (*run)(struct db_context *), struct db_context *context, uint32_t times);
const struct db_fragment *find_fragment(const char *name);
size_t context_bytes(const struct db_fragment *fragment, uint32_t size);
/* Runs setup of one context in `memory`; returns 0 or an errno. */
int context_setup(struct db_context *context, void *memory, uint32_t size, uint64_t seed,
                  struct db_resource *resource, uint32_t participant, const struct db_fragment *fragment);
int resource_create(struct db_resource *resource, const struct db_fragment *fragment, void *shared,
                    enum db_policy policy, int32_t owner_pid);

static inline uint64_t round_up(uint64_t bytes, uint64_t grain)
{
    return (bytes + grain - 1) / grain * grain;
}

/* Sums of what a run needs may be more than a 32-bit machine can address. */
static inline void *map_shared(uint64_t bytes)
{
    return bytes <= SIZE_MAX / 2 ? port_map((size_t)bytes, 1) : NULL;
}

/* --- a run -------------------------------------------------------------------------------------- */

/* A line of the timetable. Times count from run.base_ns, where the one grid of releases begins. */
struct slot {
    enum db_slot_kind kind;
    uint32_t task; /* solo: who */
    uint32_t round;
    int64_t begin_ns; /* warm-up */
    int64_t start_ns;
    int64_t end_ns;
};

struct task_state {
    alignas(DB_CACHE_LINE) int policy; /* read back */
    int priority;
    int cpu;
    int32_t thread; /* its number on a host */
    int64_t period_ns, deadline_ns, offset_ns;
    uint64_t record_count;
    uint64_t record_capacity;
    struct db_job_record *records;
    struct db_job_detail *details;   /* one a record, or NULL */
    struct db_counter_row *counters; /* DB_COUNT_EVENTS for each slot it was in, or NULL */
    uint32_t counter_count;
    uint64_t *witness_ps;   /* one a slot; 0: none was taken */
    uint32_t *participants; /* [context_count]: number among its resource's users */
};

/* Core 0 and another one: how long a word takes to and fro, at each boundary between slots. */
struct pair {
    alignas(DB_CACHE_LINE) atomic_uint ball;
    uint64_t *trip_ps; /* [slot_count + 1]: where each slot begins, and where the last ends; 0: not known */
};

/* What the coordinator tells all tasks at once. */
enum signal { SIGNAL_WAIT = 0, SIGNAL_RUN, SIGNAL_STOP, SIGNAL_END };

struct task_extras;

struct run {
    const struct db_task_set *set;
    struct run_options options;
    const struct task_extras *extras;
    struct rendezvous *meeting;
    struct task_state *tasks;
    struct db_resource *resources;
    struct slot *slots; /* the timetable */
    uint32_t slot_count;
    struct pair *pairs; /* core 0 and core 1 + its index */
    uint32_t pair_count;
    uint32_t resources_made;
    uint64_t seed;
    int64_t longest_deadline_ns;
    int64_t *base_ns; /* shared: when the timetable begins; set before the tasks are told */
    int64_t epoch_ns;
    int64_t epoch_realtime_ns; /* 0: not known */
    int64_t setup_ns;
    int64_t bound_ns;
    int64_t wall_ns;
    int64_t clock_cost_ps;
    uint64_t measured_ns; /* of all slots, warm-up left out */
    void *arena;
    size_t arena_bytes;
    void *objects; /* the resources' shared memory */
    size_t objects_bytes;
};

/* A task as one thread. */
struct task_thread {
    struct run *run;
    const struct db_task *task;
    uint32_t index;
    unsigned char *memory; /* its contexts' memory, private to the process */
    void *extra;           /* the extras' own */
    uint64_t thread;
};

struct resolved_use {
    void (*run)(struct db_context *context);
    struct db_context *context;
    uint32_t repeats;
};

/* What the job loop touches, in one place, private to the task. */
struct worker {
    struct run *run;
    const struct db_task *task;
    struct task_state *state;
    uint32_t index;
    struct db_context *contexts;
    struct resolved_use *uses;
    int64_t finish_ns;  /* of the last job */
    int64_t witness_ns; /* sum of the slot's */
    uint32_t witnesses;
    void *extra;
};

/* What a host adds to a task's life: accounts, events, times of uses, causes of lateness. Each but `start`
 * may be NULL; all are called in the task's thread, `start` before it. */
struct task_extras {
    /* Makes task_thread.extra; false without memory. */
    bool (*start)(struct task_thread *thread);
    /* Before the first release; false after writing the failure. */
    bool (*open)(struct worker *w);
    void (*begin_slot)(struct worker *w, const struct slot *slot);
    /* In place of task_run_job(). */
    int64_t (*run_job)(struct worker *w, struct db_job_record *record);
    void (*end_slot)(struct worker *w, uint32_t slot);
    void (*close)(struct worker *w);
};

/* plan.c: makes the timetable and the arena; false with a reason. */
bool run_prepare(struct run *run, const struct db_task_set *set, const struct run_options *options,
                 char *reason);
void run_release(struct run *run);
int64_t table_end_ns(const struct run *run);
/* Where the slot begins; slot_count: where the last one ends. */
int64_t boundary_ns(const struct run *run, uint32_t slot);
static inline bool takes_part(const struct slot *slot, uint32_t task)
{
    return slot->kind == DB_SLOT_TOGETHER || slot->task == task;
}

/* set.c: objects, threads, start and end; false after writing the failure. */
bool make_resources(struct run *run);
void check_resources(struct run *run);
void destroy_resources(struct run *run);
/* Starts the tasks of one core into threads[0 .. *count). */
bool start_tasks(struct run *run, uint32_t core, struct task_thread *threads, uint32_t *count);
void tell_all(struct run *run, enum signal signal);
/* Lets the timetable begin and waits for so many parties to have ended it. Nobody else does anything
 * meanwhile. */
bool run_table(struct run *run, unsigned parties);

/* task.c */
size_t task_memory_bytes(const struct db_task *task);
void *task_main(void *argument);
struct db_job_record *task_new_record(struct worker *w, const struct slot *slot, int64_t release);
/* The uses of a job, in their order. */
void task_work(const struct worker *w);
/* One job; returns its finishing time. */
int64_t task_run_job(struct worker *w, struct db_job_record *record);
void note_job(const struct worker *w, struct db_job_record *record, int64_t start, int64_t finish);

/* --- records ------------------------------------------------------------------------------------- */

/* Where bytes of a result go, with the checksum of all so far. The first error stays. */
struct sink {
    int (*put)(struct sink *sink, const void *data, size_t bytes);
    int error;
    uint32_t crc;
};
void sink_put(struct sink *sink, const void *data, size_t bytes);
/* Appends the checksum. */
int sink_end(struct sink *sink);
/* The record file of a run that ended, without its checksum. */
void put_records(const struct run *run, struct sink *sink);
/* The same in short, as lines for a reader. */
void print_run(const struct run *run, uint32_t index, void (*say)(const char *line));

#endif
