/*
 * The file a calibration writes, version 2: header, entries, samples, parallel rows, crc32.
 * Its numpy twin is in src/deadbeat/tasksets/executors/calibration.py.
 */
#ifndef DEADBEAT_SAMPLES_H
#define DEADBEAT_SAMPLES_H

#include <stdint.h>

#define DB_SAMPLES_MAGIC "DBCALS\r\n"
#define DB_SAMPLES_VERSION 2

struct db_samples_header {
    char magic[8];
    uint32_t version;
    uint32_t entry_count;
    uint64_t sample_count;
    uint64_t parallel_count;
    int64_t clock_cost_ps;
    uint64_t reserved[3];
};

/* State of one entry on one core; rows ordered by core, then entry. */
struct db_entry_row {
    uint16_t entry;
    uint16_t core;
    int32_t error; /* errno of its set-up; 0: it can be used here */
    int32_t wrong; /* non-zero: its check failed */
    uint32_t reserved;
    uint64_t estimate_ps;
};

/* One visit to one entry. */
struct db_sample_row {
    uint32_t visit;
    uint16_t entry;
    uint16_t core;
    uint32_t position; /* in its visit: 0 is the first after idle */
    uint32_t repeats;  /* further repeats timed together after the first */
    uint64_t yardstick_before_ps;
    uint64_t yardstick_after_ps;
    int64_t first_ns; /* first use in this job */
    int64_t rest_ns;  /* the further repeats */
    int64_t again_ns; /* one more use in the same job, after all others of the visit */
};

/* The same block of one entry alone, or on all cores at once, each core on its own object. */
struct db_parallel_row {
    uint16_t entry;
    uint16_t core;
    uint16_t round;
    uint16_t together;  /* 0: alone; of a cache-line row: the other core */
    int64_t block_ns;   /* of a cache-line row: one round trip, ps */
    int64_t control_ns; /* pure computation right after it, the same way: what the host does */
    uint32_t
        overlap_ppm; /* together: share of either block in which the other cores worked, mean over them */
    uint32_t reserved;
};

/* Parallel rows with this entry are round trips of a cache line between two cores. */
#define DB_CACHE_LINE_ENTRY UINT16_MAX

_Static_assert(sizeof(struct db_samples_header) == 64, "samples header is 64 bytes");
_Static_assert(sizeof(struct db_entry_row) == 24, "entry row is 24 bytes");
_Static_assert(sizeof(struct db_sample_row) == 56, "sample row is 56 bytes");
_Static_assert(sizeof(struct db_parallel_row) == 32, "parallel row is 32 bytes");

#endif
