/*
 * The contract between a fragment and whoever runs it (runtime, calibration, tests).
 *
 * A fragment is one file under fragments/ns or fragments/sy: front matter in its leading comment
 * (what the generator must know) and exactly one `const struct db_fragment db_fragment_<name>`
 * (what the runtime calls). The build finds files by globbing and writes the index itself: adding
 * a fragment touches no list.
 *
 * Rules that every fragment keeps
 *  - No static mutable state: everything mutable lives in the context (a task's own) or in the
 *    resource (shared). Two tasks, on two cores or one, may run the same fragment at once.
 *  - run() allocates nothing, prints nothing, opens nothing, and ends: its work is bounded by size.
 *  - run() works on fresh data at every call (deterministic from context->seed and the call count),
 *    so that no branch predictor or cache learns one input by heart.
 *  - setup() touches all memory that run() will use.
 *  - check() proves, after the last run(), that the work was really done and right, against a known
 *    answer, a slow reference or an invariant; a kernel that the optimiser emptied must fail it.
 *  - SY: run() takes exactly one token and puts one back, returns holding nothing, accepts a payload
 *    that another participant wrote, and works with 1 to n participants of equal or mixed priority.
 *    The same code serves contended (CON) and core-local (PAR) access: only context->resource differs.
 */
#ifndef DEADBEAT_FRAGMENT_H
#define DEADBEAT_FRAGMENT_H

#include "deadbeat/cpu.h"

#include <stddef.h>
#include <stdint.h>

#define DB_RESOURCE_FDS 8

enum db_kind { DB_NS = 0, DB_SY = 1 };

/* One synchronisation object: contended by all tasks of a set, or local to one core. */
struct db_resource {
    void *shared; /* shared_bytes() bytes of process-shared memory, zeroed, aligned to DB_CACHE_LINE */
    uint32_t participants;    /* tasks that will use this object, >= 1 */
    uint32_t cores;           /* cores from which it will be used, >= 1 */
    uint32_t max_size;        /* the largest size with which any participant will use it */
    int32_t ceiling;          /* priority ceiling for this run's band; 0: no real-time policy */
    int32_t owner_pid;        /* process that called create() */
    int fds[DB_RESOURCE_FDS]; /* for create(): descriptors, inherited by fork; -1 when unused */
    uint64_t words[4];        /* for create(): identifiers (System V ids and the like) */
};

/* One task's private view of one fragment at one size. */
struct db_context {
    void *memory; /* context_bytes(size) bytes, zeroed, aligned to DB_CACHE_LINE, private to the task */
    uint32_t size;
    uint32_t participant;         /* SY: 0 .. participants-1, unique among the resource's users */
    uint64_t seed;                /* differs between contexts; fresh data derive from it */
    struct db_resource *resource; /* SY only, NULL for NS */
};

struct db_fragment {
    const char *name; /* as in the front matter and the file name */
    enum db_kind kind;

    /* Bytes of private memory a context of this size needs (0 is allowed). */
    size_t (*context_bytes)(uint32_t size);
    /* Prepares a context in the thread that will run it (before any deadline counts).
     * Returns 0 or an errno value. */
    int (*setup)(struct db_context *context);
    /* The work, once. */
    void (*run)(struct db_context *context);
    /* After the last run: 0 if the context's work is proven right; otherwise non-zero with a
     * reason of one line in why[0..why_bytes). Called only when run() was called at least once. */
    int (*check)(const struct db_context *context, char *why, size_t why_bytes);
    /* Undoes setup(); may be NULL. */
    void (*teardown)(struct db_context *context);

    /* SY only; all NULL for NS. */
    size_t (*shared_bytes)(uint32_t participants, uint32_t max_size);
    /* Makes the object, in the parent process before any task process is forked; descriptors made
     * here are inherited. Returns 0 or an errno value, leaving nothing behind on failure. */
    int (*create)(struct db_resource *resource);
    /* After all participants are done: 0 if the object is intact (all tokens back, count of
     * guarded operations equals the operations performed), else non-zero and a reason. */
    int (*check_resource)(const struct db_resource *resource, char *why, size_t why_bytes);
    /* Removes the object from the machine. Also called after a failed run. */
    void (*destroy)(struct db_resource *resource);
};

/* xorshift64*: one word of state, never zero. Fresh data without a call or a table. */
static inline uint64_t db_random(uint64_t *state)
{
    uint64_t x = *state;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *state = x;
    return x * UINT64_C(0x2545F4914F6CDD1D);
}

/* splitmix64: turns any seed, zero included, into a good non-zero state for db_random. */
static inline uint64_t db_seed_state(uint64_t seed)
{
    uint64_t z = seed + UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    z ^= z >> 31;
    return z ? z : UINT64_C(0x9E3779B97F4A7C15);
}

/* Makes the compiler believe that memory behind p is read here: results survive optimisation. */
static inline void db_keep(const void *p)
{
    __asm__ volatile("" : : "r"(p) : "memory");
}

#endif
