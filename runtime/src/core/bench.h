/* What the coordinator of a calibration and its cores share; on deadbeat/port_core.h alone. */
#ifndef DEADBEAT_BENCH_H
#define DEADBEAT_BENCH_H

#include "run.h"

#include "deadbeat/samples.h"

/* How costs are measured. */
struct bench_options {
    const int *cpus; /* [cpu_count] */
    uint32_t cpu_count;
    enum db_policy policy;
    int64_t seconds_ns;
    uint64_t seed;
    bool cold;
    size_t scrub_bytes; /* cold: how much memory is read to empty the caches */
    int32_t owner_pid;
    void (*thread_began)(void);           /* in every calibrating thread, or NULL */
    void (*progress)(int64_t thousandth); /* about once a second, or NULL */
};

#define BENCH_ENTRIES_MAX 1024

struct entry {
    const struct db_fragment *fragment;
    uint32_t size;
    uint32_t resource;   /* SY: index into a core's resources */
    bool first_of_class; /* the smallest entry of its fragment */
};

/* A block is of the entry, then one of pure computation: what the host does. */
enum bench_phase { PHASE_ENTRY, PHASE_CONTROL, PHASES };

/* One block: timed from begin to end, with the same work before and after it. */
struct bench_span {
    int64_t from_ns, begin_ns, end_ns, until_ns;
};

/* Blocks that run at once: each works until all have arrived, and on until all have finished. */
struct bench_crowd {
    alignas(DB_CACHE_LINE) atomic_uint arrived[PHASES];
    alignas(DB_CACHE_LINE) atomic_uint finished[PHASES];
    uint32_t expected;
};

/* The entries in random order, which the cores of a kind go through together: as long as on one core. */
struct bench_pass {
    uint32_t position;
    uint32_t count; /* of passes, the one begun included */
    uint16_t order[];
};

/* What one core's process owns and does. */
struct bench_core {
    alignas(DB_CACHE_LINE) atomic_uint generation;
    uint32_t command;
    uint32_t entry;                  /* of a parallel block */
    struct bench_span spans[PHASES]; /* its result */
    uint64_t trip_ps;                /* of a ping */
    uint32_t rounds;                 /* how often the core was visited */
    uint32_t kind;
    /* all below, its objects included, in memory that the other cores' processes let go of */
    unsigned char *memory;
    size_t memory_bytes;
    size_t memory_used;
    struct db_resource *resources;
    struct db_entry_row *state;    /* [entry_count] */
    struct db_sample_row *samples; /* [sample_capacity] */
    uint64_t sample_count;
    uint64_t sample_capacity;
};

enum bench_command { BENCH_STOP, BENCH_VISIT, BENCH_BLOCK, BENCH_PING, BENCH_PONG };

struct bench {
    struct bench_options options;
    struct rendezvous *meeting;
    struct bench_crowd *crowd;
    struct bench_core *cores;
    const int *visited; /* cores in the order of their visits, again and again; their kinds take turns */
    uint32_t visited_count;
    uint32_t kind_count;
    struct bench_pass **passes; /* [kind_count] */
    struct entry *entries;
    uint32_t entry_count;
    uint32_t resource_count;
    uint64_t random;
    int64_t clock_ps;
    int64_t bound_ns;
};

/* Whether costs are measured on the core; on the others only blocks beside other cores are. */
bool is_visited(const struct bench *b, uint32_t core);

/* The entries: SY ones get the numbers of their objects. */
bool bench_add_entry(struct bench *b, const char *name, uint32_t size);
void bench_number_objects(struct bench *b);
/* Memory of all that cores share and own; false without it. */
bool bench_lay_out(struct bench *b);
void bench_make_objects(struct bench *b);
void bench_destroy_objects(struct bench *b);

/* Starts the calibrating thread of a core, which says that it is done once it is set up; false after
 * writing the failure. It ends at BENCH_STOP. */
bool bench_start(struct bench *b, uint32_t core, uint64_t *thread);
void bench_tell(struct bench *b, uint32_t core, enum bench_command command);
/* Visits all entries for the time asked; false where a party died. */
bool bench_visits(struct bench *b);
/* The samples file; the caller ends the sink. */
void bench_put(const struct bench *b, const struct db_parallel_row *rows, uint64_t parallel_count,
               struct sink *sink);

#endif
