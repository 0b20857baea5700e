/*
 * The result file of one run of one task set, version 1. Little-endian, fixed sizes, defined here
 * once and once as numpy dtypes (src/deadbeat/model/jobs.py); tests/golden ties the two.
 *
 *   struct db_file_header
 *   struct db_task_row    [task_count]
 *   struct db_window_row  [window_count]
 *   struct db_probe_row   [probe_count]
 *   struct db_job_record  [job_count]
 *   uint32_t crc32 of everything before it (the polynomial of zlib)
 *
 * Times are nanoseconds of CLOCK_MONOTONIC after header.epoch_ns unless a name says otherwise.
 */
#ifndef DEADBEAT_RECORDS_H
#define DEADBEAT_RECORDS_H

#include <stdint.h>

#define DB_RECORDS_MAGIC "DBJOBS\r\n"
#define DB_RECORDS_VERSION 1
#define DB_NEVER INT64_MIN

/* header.flags */
#define DB_RUN_REALTIME 1u /* SCHED_FIFO was set and read back for every task */
#define DB_RUN_SPLIT 2u    /* cpu_ns, run_delay_* and switches were recorded */
#define DB_RUN_LATE 4u     /* overrun policy late; otherwise skip */
#define DB_RUN_PRIVATE_IPC 8u
#define DB_RUN_LOCKED 16u      /* memory locked */
#define DB_RUN_ONE_PROCESS 32u /* all tasks in one address space */

struct db_file_header {
    char magic[8];
    uint32_t version;
    uint32_t header_bytes;
    uint32_t task_bytes;
    uint32_t window_bytes;
    uint32_t probe_bytes;
    uint32_t record_bytes;
    uint32_t task_count;
    uint32_t window_count;
    uint32_t probe_count;
    uint32_t flags;
    uint64_t job_count;
    int64_t epoch_ns;          /* CLOCK_MONOTONIC at the origin of all times below */
    int64_t epoch_realtime_ns; /* CLOCK_REALTIME at the same moment */
    int64_t clock_cost_ps;     /* one clock read, minimum of many */
    uint64_t measured_ns;      /* sum of the lengths of all windows */
    uint64_t setup_ns;         /* from the start of the set to the first window */
    char set_id[64];
    int64_t waited_ns; /* between windows, for the host to be quiet */
    uint8_t reserved[88];
};

struct db_task_row {
    uint16_t task;
    uint16_t core;
    int32_t cpu;      /* read back */
    int32_t policy;   /* read back: SCHED_FIFO 1, SCHED_OTHER 0 */
    int32_t priority; /* read back */
    uint64_t wcet_ns;
    uint64_t period_ns;
    uint64_t deadline_ns;
    uint64_t offset_ns;
    uint64_t first_job; /* index of its first record */
    uint64_t job_count;
};

enum db_window_kind { DB_WINDOW_TOGETHER = 0, DB_WINDOW_SOLO = 1 };

/* window.flags */
#define DB_WINDOW_OFF 1u /* a yardstick beside it was off the quiet mode; it may have been repeated */

struct db_window_row {
    uint16_t window;
    uint16_t kind;
    uint16_t task; /* solo: the task that ran; together: UINT16_MAX */
    uint16_t flags;
    int64_t start_ns; /* first counted release is at or after this */
    int64_t end_ns;   /* last counted deadline is at or before this */
};

enum db_probe_kind {
    DB_PROBE_YARDSTICK = 0,  /* median of a few throughput-bound loops on core a, picoseconds */
    DB_PROBE_CACHE_LINE = 1, /* one round trip of a cache line between cores a and b, picoseconds;
                              * 0: the other core did not answer in time */
    DB_PROBE_WITNESS = 2     /* median of short loops inside window `boundary`, after some of the jobs of
                              * task b on core a: DB_WITNESS_PART of a yardstick and one clock read, ps */
};

/* A witness is a yardstick divided by this. */
#define DB_WITNESS_PART 16

/* Host state beside a window: probes with boundary w were taken after window w-1 and before window
 * w. A boundary has a second set of probes when the runtime waited there for the quiet mode: the
 * first tells of the window before it, the last of the window after it. */
struct db_probe_row {
    uint16_t boundary;
    uint16_t kind;
    uint16_t core_a;
    uint16_t core_b;
    int64_t at_ns;
    uint64_t value_ps;
};

/* job.flags */
#define DB_JOB_COUNTED 1u   /* released and due inside a window after its warm-up */
#define DB_JOB_SOLO 2u      /* in a solo window */
#define DB_JOB_SKIPPED 4u   /* released while its predecessor still ran, and not started: a miss */
#define DB_JOB_STARTED 8u   /* start_ns is valid */
#define DB_JOB_FINISHED 16u /* finish_ns is valid */
#define DB_JOB_SPLIT 32u    /* cpu_ns, run_delay_* and switches are valid */

struct db_job_record {
    int64_t release_ns;
    int64_t start_ns;            /* DB_NEVER if not started */
    int64_t finish_ns;           /* DB_NEVER if not finished */
    int64_t cpu_ns;              /* thread CPU time between start and finish */
    int64_t run_delay_before_ns; /* ready but not running, between release and start */
    int64_t run_delay_within_ns; /* ready but not running, between start and finish */
    uint32_t voluntary_switches;
    uint32_t involuntary_switches;
    uint16_t task;
    uint16_t window;
    uint32_t flags;
};

_Static_assert(sizeof(struct db_file_header) == 256, "file header is 256 bytes");
_Static_assert(sizeof(struct db_task_row) == 64, "task row is 64 bytes");
_Static_assert(sizeof(struct db_window_row) == 24, "window row is 24 bytes");
_Static_assert(sizeof(struct db_probe_row) == 24, "probe row is 24 bytes");
_Static_assert(sizeof(struct db_job_record) == 64, "job record is 64 bytes");

#endif
