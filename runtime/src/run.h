/* One run of one task set: what coordinator, cores and tasks share. */
#ifndef DEADBEAT_RUN_H
#define DEADBEAT_RUN_H

#include "runtime.h"

#define MAX_INJECTORS 3

/* Periods are counted in these: a millionth part. */
#define UNSCALED_PPM UINT32_C(1000000)

/* A line of the timetable. Times count from run.base_ns, where the one grid of releases begins. */
struct slot {
    enum db_slot_kind kind;
    uint32_t task; /* solo: who */
    uint32_t round;
    int64_t begin_ns; /* warm-up */
    int64_t start_ns;
    int64_t end_ns;
};

/* Events of one task in one slot, statuses as in records.h. */
struct slot_counts {
    struct db_count counts[DB_COUNT_EVENTS];
    uint16_t status[DB_COUNT_EVENTS];
    bool taken;
};

struct task_state {
    alignas(DB_CACHE_LINE) int policy; /* read back */
    int priority;
    int cpu;
    int32_t thread; /* its number on the machine */
    int64_t period_ns, deadline_ns, offset_ns;
    uint64_t record_count;
    uint64_t record_capacity;
    struct db_job_record *records;
    struct db_job_detail *details; /* one a record, or NULL */
    struct slot_counts *counts;    /* one a slot, or NULL */
    uint64_t *witness_ps;          /* one a slot; 0: none was taken */
    uint32_t *participants;        /* [context_count]: number among its resource's users */
};

/* What the coordinator tells all tasks at once. */
enum signal { SIGNAL_WAIT = 0, SIGNAL_RUN, SIGNAL_STOP };

struct run {
    const struct db_task_set *set;
    const struct options *options;
    struct rendezvous *meeting;
    struct task_state *tasks;
    struct db_resource *resources;
    struct slot *slots; /* the timetable */
    uint32_t slot_count;
    uint32_t resources_made;
    uint32_t period_ppm;
    uint64_t seed;
    int64_t longest_deadline_ns;
    int64_t *base_ns; /* shared: when the timetable begins; set before the tasks are told */
    int64_t began_ns;
    int64_t epoch_ns;
    int64_t epoch_realtime_ns;
    int64_t setup_ns;
    int64_t bound_ns;
    int64_t wall_ns;
    int64_t clock_cost_ps;
    int injectors[MAX_INJECTORS]; /* processes */
    uint32_t injector_count;
    void *arena;
    size_t arena_bytes;
    void *objects; /* the resources' shared memory */
    size_t objects_bytes;
};

/* A task as one thread of its core's process. */
struct task_thread {
    struct run *run;
    const struct db_task *task;
    uint32_t index;
    unsigned char *memory;     /* its contexts' memory, private to the process */
    struct use_clock *clock;   /* NULL: its uses are not timed */
    struct counters *counters; /* NULL: no events are counted */
    uint64_t thread;
};

/* What one use usually takes, and from where on an excess cannot be put down to memory. */
struct use_time {
    int64_t usual_ns;  /* running median */
    int64_t refill_ns; /* fetching all of its memory again, line by line */
    int64_t factor;    /* an excess of so many times the usual is still memory or a sibling */
    uint32_t seen;
    int64_t step_ns; /* of the median, and where it went last */
    bool up;
    bool synchronises;
};

/* The clock as it was read between the uses of one job. */
struct use_clock {
    uint32_t count;
    bool has_solo;          /* there will be slots without anybody else to learn from */
    bool alone;             /* it learns from them */
    struct use_time *times; /* [count] */
    int64_t *at_ns;         /* [count + 1]: before the first use, after each */
};

struct use_clock *use_clock_new(const struct db_task *task, bool has_solo);
/* After a job: what was longer than usual, into its detail; then learns from it. */
void use_clock_judge(struct use_clock *clock, const struct db_job_record *record,
                     struct db_job_detail *detail, int64_t epoch_ns);

/* Perf events of the calling thread; what cannot be counted has a status that says why. */
struct counters {
    int handles[DB_COUNT_EVENTS]; /* not counted: the errno, negative */
    uint16_t status[DB_COUNT_EVENTS];
    struct db_count before[DB_COUNT_EVENTS];
};
void counters_open(struct counters *counters);
void counters_begin(struct counters *counters);
void counters_end(const struct counters *counters, struct slot_counts *slot);
void counters_close(struct counters *counters);

/* Helpers that disturb a run on purpose, each a process of its own; see options.inject. */
bool injectors_start(struct run *run);
void injectors_stop(struct run *run);

size_t task_memory_bytes(const struct db_task *task);
void *task_main(void *argument);

/* Makes the timetable and the arena; false with a reason. */
bool run_prepare(struct run *run, const struct db_task_set *set, const struct options *options,
                 uint32_t period_ppm, char *reason);
int64_t table_end_ns(const struct run *run);
static inline bool takes_part(const struct slot *slot, uint32_t task)
{
    return slot->kind == DB_SLOT_TOGETHER || slot->task == task;
}
void run_release(struct run *run);
/* The result as a text for a reader, on standard output. */
void run_print(const struct run *run, uint32_t index);
int run_write(const struct run *run, const char *path, uint64_t *measured_ns);

#endif
