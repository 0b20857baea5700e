/*
 * The result file of one run of one task set, version 3. Little-endian, fixed sizes, defined here
 * once and once as numpy dtypes (src/deadbeat/base/model/jobs.py); tests/golden ties the two.
 *
 *   struct db_file_header
 *   struct db_task_row    [task_count]
 *   struct db_slot_row    [slot_count]
 *   struct db_probe_row   [probe_count]
 *   struct db_job_record  [job_count]
 *   struct db_job_detail  [detail_count]   0 or job_count
 *   struct db_counter_row [counter_count]
 *   uint32_t crc32 of everything before it (the polynomial of zlib)
 *
 * Times are nanoseconds of CLOCK_MONOTONIC after header.epoch_ns unless a name says otherwise.
 */
#ifndef DEADBEAT_RECORDS_H
#define DEADBEAT_RECORDS_H

#include <stdint.h>

#define DB_RECORDS_MAGIC "DBJOBS\r\n"
#define DB_RECORDS_VERSION 3
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
    uint32_t slot_bytes;
    uint32_t probe_bytes;
    uint32_t record_bytes;
    uint32_t task_count;
    uint32_t slot_count;
    uint32_t probe_count;
    uint32_t flags;
    uint64_t job_count;
    int64_t epoch_ns;          /* CLOCK_MONOTONIC at the origin of all times below */
    int64_t epoch_realtime_ns; /* CLOCK_REALTIME at the same moment */
    int64_t clock_cost_ps;     /* one clock read, minimum of many */
    uint64_t measured_ns;      /* sum of the lengths of all slots, warm-up left out */
    uint64_t setup_ns;         /* from the start of the set to the first slot */
    char set_id[64];
    int64_t wall_ns; /* from the start of the set until its processes have ended */
    uint32_t detail_bytes;
    uint32_t counter_bytes;
    uint64_t detail_count;
    uint32_t counter_count;
    uint32_t period_ppm; /* what periods, deadlines and offsets were multiplied by, in millionths */
    uint64_t seed;       /* of the order of the slots */
    uint8_t reserved[56];
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

enum db_slot_kind { DB_SLOT_TOGETHER = 0, DB_SLOT_SOLO = 1 };

/* A round is one slot together and one alone for each sampled task, in random order. */
struct db_slot_row {
    uint16_t slot;
    uint16_t kind;
    uint16_t task; /* solo: the task that runs; together: UINT16_MAX */
    uint16_t round;
    int64_t begin_ns; /* of the warm-up: first release */
    int64_t start_ns; /* first counted release is at or after this */
    int64_t end_ns;   /* no release at or after it; last counted deadline at or before it, or
                       * before the end of the last slot in a run without slots alone */
};

enum db_probe_kind {
    DB_PROBE_WITNESS = 2,   /* mean of the short loops after the counted jobs of task b on core a, ps */
    DB_PROBE_ROUND_TRIP = 3 /* fastest trip of a word from core a to b and back, ps, at the beginning of the
                             * slot; the one after the last slot has the number slot_count */
};

struct db_probe_row {
    uint16_t slot;
    uint16_t kind;
    uint16_t core_a;
    uint16_t core_b; /* witness: the task */
    int64_t at_ns;
    uint64_t value_ps;
};

/* job.flags */
#define DB_JOB_COUNTED 1u   /* released and due inside a slot after its warm-up */
#define DB_JOB_SOLO 2u      /* in a solo slot */
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
    uint16_t slot;
    uint32_t flags;
};

/* No use of the job took longer than usual. */
#define DB_NO_USE UINT16_MAX

/* detail.flags */
#define DB_DETAIL_SY 1u /* the worst use is of a synchronisation fragment */

/* Of the job of the same index; all zero, and worst_use DB_NO_USE, where it did not run. */
struct db_job_detail {
    int64_t stall_ns;           /* suspected: computing uses beyond the usual, less run_delay_within */
    int64_t worst_use_ns;       /* longest excess of one use over its usual time */
    int64_t worst_use_start_ns; /* when that use began */
    uint16_t worst_use;         /* index among the task's uses, or DB_NO_USE */
    uint16_t start_cpu;
    uint16_t finish_cpu;
    uint16_t flags;
};

enum db_counter_event {
    DB_COUNT_CONTEXT_SWITCHES = 0,
    DB_COUNT_CPU_MIGRATIONS,
    DB_COUNT_PAGE_FAULTS,
    DB_COUNT_MINOR_FAULTS,
    DB_COUNT_MAJOR_FAULTS,
    DB_COUNT_TASK_CLOCK, /* ns; the last that the kernel counts */
    DB_COUNT_CYCLES,
    DB_COUNT_INSTRUCTIONS,
    DB_COUNT_CACHE_REFERENCES,
    DB_COUNT_CACHE_MISSES,
    DB_COUNT_BRANCHES,
    DB_COUNT_BRANCH_MISSES,
    DB_COUNT_EVENTS
};

enum db_counter_status {
    DB_COUNTED = 0,
    DB_COUNT_UNSUPPORTED = 1, /* there is no such event here */
    DB_COUNT_REFUSED = 2,     /* no permission: perf_event_paranoid, a seccomp filter */
    DB_COUNT_SCALED = 3,      /* counted during running_ns of enabled_ns; the value is scaled up */
    DB_COUNT_FAILED = 4       /* it could not be opened though it may exist; value is the errno */
};

/* One event of one task in one slot, from the task's first release of it to its last finish.
 * Rows lie in the order of task, slot, event. */
struct db_counter_row {
    uint16_t task;
    uint16_t slot;
    uint16_t event;
    uint16_t status;
    int64_t value; /* 0 where it was not counted, the errno where that failed */
    int64_t enabled_ns;
    int64_t running_ns;
};

_Static_assert(sizeof(struct db_file_header) == 256, "file header is 256 bytes");
_Static_assert(sizeof(struct db_task_row) == 64, "task row is 64 bytes");
_Static_assert(sizeof(struct db_slot_row) == 32, "slot row is 32 bytes");
_Static_assert(sizeof(struct db_probe_row) == 24, "probe row is 24 bytes");
_Static_assert(sizeof(struct db_job_record) == 64, "job record is 64 bytes");
_Static_assert(sizeof(struct db_job_detail) == 32, "job detail is 32 bytes");
_Static_assert(sizeof(struct db_counter_row) == 32, "counter row is 32 bytes");

#endif
