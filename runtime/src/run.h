/* One run of one task set: what coordinator, cores and tasks share. */
#ifndef DEADBEAT_RUN_H
#define DEADBEAT_RUN_H

#include "runtime.h"

#define STOP_WINDOW UINT32_MAX

struct window {
    enum db_window_kind kind;
    uint32_t task; /* solo: who */
    bool off;      /* the host was not quiet beside it */
    int64_t length_ns;
    int64_t warmup_ns;
    /* set by the coordinator just before it starts, absolute monotonic time */
    int64_t base_ns;
    int64_t start_ns;
    int64_t end_ns;
};

struct task_state {
    alignas(DB_CACHE_LINE) atomic_uint generation;
    uint32_t window; /* what to do at this generation: a window, or STOP_WINDOW */
    int policy;      /* read back */
    int priority;
    int cpu;
    uint64_t witness_ps; /* of the last window; 0: none was taken */
    uint64_t record_count;
    uint64_t record_capacity;
    struct db_job_record *records;
    uint32_t *participants; /* [context_count]: number among its resource's users */
};

struct run {
    const struct db_task_set *set;
    const struct options *options;
    struct rendezvous *meeting;
    struct agent *agents;
    struct task_state *tasks;
    struct db_resource *resources;
    struct window *plan;
    struct window *windows; /* as they were done; some of the plan more than once */
    struct db_probe_row *probes;
    uint32_t plan_count;
    uint32_t window_count;
    uint32_t probe_count;
    uint32_t resources_made;
    int64_t longest_deadline_ns;
    int64_t epoch_ns;
    int64_t epoch_realtime_ns;
    int64_t setup_ns;
    int64_t bound_ns;
    int64_t waited_ns;
    int64_t clock_cost_ps;
    uint64_t yardsticks_ps[DB_MAX_CORES]; /* the last ones */
    void *arena;
    size_t arena_bytes;
};

/* A task as one thread of its core's process. */
struct task_thread {
    struct run *run;
    const struct db_task *task;
    uint32_t index;
    unsigned char *memory; /* its contexts' memory, private to the process */
    uint64_t thread;
};

size_t task_memory_bytes(const struct db_task *task);
void *task_main(void *argument);

/* Lays out windows and arena; false: no memory. */
bool run_prepare(struct run *run, const struct db_task_set *set, const struct options *options);
void run_release(struct run *run);
int run_write(const struct run *run, const char *path, uint64_t *measured_ns);

#endif
