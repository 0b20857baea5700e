/* What the coordinator of a calibration and its cores share. */
#ifndef DEADBEAT_BENCH_H
#define DEADBEAT_BENCH_H

#include "runtime.h"

#include "deadbeat/samples.h"

struct entry {
    const struct db_fragment *fragment;
    uint32_t size;
    uint32_t resource;   /* SY: index into a core's resources */
    bool first_of_class; /* the smallest entry of its fragment */
};

/* What one core's process owns and does. */
struct bench_core {
    alignas(DB_CACHE_LINE) atomic_uint generation;
    uint32_t command;
    uint32_t entry;   /* of a parallel block */
    uint32_t rounds;  /* how often the core was visited */
    int64_t start_ns; /* of a parallel block */
    int64_t control_ns;
    int64_t block_ns; /* its result */
    struct db_resource *resources;
    struct db_entry_row *state;    /* [entry_count] */
    struct db_sample_row *samples; /* [sample_capacity] */
    uint64_t sample_count;
    uint64_t sample_capacity;
};

enum bench_command { BENCH_STOP, BENCH_VISIT, BENCH_BLOCK, BENCH_PING, BENCH_PONG };

struct bench {
    const struct options *options;
    struct rendezvous *meeting;
    struct bench_core *cores;
    struct entry *entries;
    uint32_t entry_count;
    uint32_t resource_count;
    int64_t clock_ps;
    int64_t bound_ns;
};

/* The life of one core's process; does not return. */
void bench_core_main(struct bench *b, uint32_t index);

#endif
