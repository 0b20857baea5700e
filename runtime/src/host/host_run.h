/* What a host adds to one run of one task set (core/run.h). */
#ifndef DEADBEAT_HOST_RUN_H
#define DEADBEAT_HOST_RUN_H

#include "runtime.h"

#define MAX_INJECTORS 3

struct host_run {
    struct run run; /* first: host_of() */
    const struct options *options;
    int injectors[MAX_INJECTORS]; /* processes */
    uint32_t injector_count;
};

static inline struct host_run *host_of(struct run *run)
{
    return (struct host_run *)run;
}

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
/* Fills the rows of one slot. */
void counters_end(const struct counters *counters, uint32_t task, uint32_t slot,
                  struct db_counter_row rows[DB_COUNT_EVENTS]);
void counters_close(struct counters *counters);

/* extras.c: a task's accounts and disturbances, in memory of their own: the tasks' memory stays as it is. */
struct host_task {
    int usage; /* -1: none */
    struct db_usage before, after;
    int64_t inject_ns;         /* extra work of the slot's jobs: of every delay_every-th */
    uint32_t jobs;             /* run so far */
    struct use_clock *clock;   /* NULL: its uses are not timed */
    struct counters *counters; /* NULL: no events are counted */
};
/* Names and numbers alone, or with all that the options ask for. */
const struct task_extras *extras_for(const struct options *options);
int64_t run_accounted_job(struct worker *w, struct db_job_record *record);
int64_t run_timed_job(struct worker *w, struct db_job_record *record);

/* pairs.c: a core's thread for the round trips between cores. */
struct pair_thread {
    struct run *run;
    uint32_t core;
    uint64_t thread;
};
/* Whether the core has one: where tasks share a process, or there are no other cores, none has. */
bool has_pairs(const struct run *run, uint32_t core);
/* Starts it; false after writing the failure. It ends by itself, soon after the timetable. */
bool pairs_start(struct pair_thread *thread, struct run *run, uint32_t core);

/* Helpers that disturb a run on purpose, each a process of its own; see options.inject. */
bool injectors_start(struct host_run *host);
void injectors_stop(struct host_run *host);

#endif
