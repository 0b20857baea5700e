/*
 * What every SY fragment needs besides its primitive: the account of each participant, the private
 * part of a context, the guarded counter that proves mutual exclusion, and the two checks.
 *
 * Shared memory of an object: struct db_account [participants], then the object itself. A
 * participant's account has one writer (the task's thread) and a cache line of its own, so that
 * counting adds no contention. Several contexts of one task (a fragment at several sizes) share one
 * participant number and thereby one account.
 *
 * An *operation* takes one token and puts one back. size is either operations per call or the
 * length of the hold; the front matter says which.
 */
#ifndef DEADBEAT_SY_COMMON_H
#define DEADBEAT_SY_COMMON_H

#include "deadbeat/fragment.h"
#include "deadbeat/port_core.h"

#include <errno.h>
#include <inttypes.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct db_account {
    alignas(DB_CACHE_LINE) uint64_t operations;
    uint64_t sent;     /* sum of the values sent, modulo 2^64 */
    uint64_t received; /* sum of the values received */
    int64_t process;   /* of whoever set it up, where that matters */
};

/* First in every SY context. */
struct db_sy_task {
    uint64_t calls;
    uint64_t operations;
    uint64_t random;    /* state of db_random */
    uint64_t handovers; /* times that the object came from another participant */
    uint64_t faults;
    const char *fault; /* what the first fault was */
    int32_t fault_errno;
    int32_t unused;
};

static inline struct db_account *db_account(const struct db_context *context)
{
    return (struct db_account *)context->resource->shared + context->participant;
}

static inline size_t db_accounts_bytes(uint32_t participants)
{
    return (size_t)participants * sizeof(struct db_account);
}

/* The object behind the accounts; aligned to a cache line because an account fills whole lines. */
static inline void *db_object(const struct db_resource *resource)
{
    return (unsigned char *)resource->shared + db_accounts_bytes(resource->participants);
}

static inline uint64_t db_operations(const struct db_resource *resource)
{
    const struct db_account *accounts = resource->shared;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < resource->participants; i++) {
        sum += accounts[i].operations;
    }
    return sum;
}

/* Tokens of a scarce form: half as many as participants, so that tasks of all cores that arrive
 * together must wait, and at least one. One participant alone never waits. */
static inline uint32_t db_scarce_tokens(const struct db_resource *resource)
{
    return resource->participants < 4 ? 1 : resource->participants / 2;
}

static inline size_t db_sy_context_bytes(uint32_t size)
{
    (void)size;
    return sizeof(struct db_sy_task);
}

static inline int db_sy_setup(struct db_context *context)
{
    struct db_sy_task *task = context->memory;
    memset(task, 0, sizeof *task);
    task->random = db_seed_state(context->seed);
    return 0;
}

/* The first fault is kept: those after it mostly follow from it. */
static inline void db_sy_fault(const struct db_context *context, const char *what, int error)
{
    struct db_sy_task *task = context->memory;
    if (task->faults++ == 0) {
        task->fault = what;
        task->fault_errno = error;
    }
}

/* Ends a call of run() that performed `operations`. */
static inline void db_sy_done(const struct db_context *context, uint64_t operations)
{
    struct db_sy_task *task = context->memory;
    task->calls++;
    task->operations += operations;
    db_account(context)->operations += operations;
}

static inline int db_sy_check_calls(const struct db_context *context, uint64_t operations_per_call, char *why,
                                    size_t why_bytes)
{
    const struct db_sy_task *task = context->memory;
    if (task->faults > 0) {
        snprintf(why, why_bytes, "%s (%s), %" PRIu64 " faults in all", task->fault,
                 task->fault_errno ? port_error_text(task->fault_errno) : "no error number", task->faults);
        return 1;
    }
    if (task->calls == 0 || task->operations != task->calls * operations_per_call) {
        snprintf(why, why_bytes, "%" PRIu64 " operations in %" PRIu64 " calls, expected %" PRIu64 " a call",
                 task->operations, task->calls, operations_per_call);
        return 1;
    }
    if (db_account(context)->operations < task->operations) {
        snprintf(why, why_bytes, "the account shows %" PRIu64 " operations, the task did %" PRIu64,
                 db_account(context)->operations, task->operations);
        return 1;
    }
    return 0;
}

/* check() of fragments whose size is operations per call. */
static inline int db_sy_check(const struct db_context *context, char *why, size_t why_bytes)
{
    return db_sy_check_calls(context, context->size, why, why_bytes);
}

/* check() of fragments whose size is the length of the hold. */
static inline int db_sy_check_hold(const struct db_context *context, char *why, size_t why_bytes)
{
    return db_sy_check_calls(context, 1, why, why_bytes);
}

/* Part of check_resource(): what the object counted is what its participants did. */
static inline int db_sy_conserved(const struct db_resource *resource, uint64_t counted, char *why,
                                  size_t why_bytes)
{
    const uint64_t operations = db_operations(resource);
    if (counted == operations) {
        return 0;
    }
    snprintf(why, why_bytes, "the object counted %" PRIu64 " operations, its participants %" PRIu64, counted,
             operations);
    return 1;
}

/* Part of check_resource(): all values that were sent were received, none twice. */
static inline int db_sy_delivered(const struct db_resource *resource, char *why, size_t why_bytes)
{
    const struct db_account *accounts = resource->shared;
    uint64_t sent = 0;
    uint64_t received = 0;
    for (uint32_t i = 0; i < resource->participants; i++) {
        sent += accounts[i].sent;
        received += accounts[i].received;
    }
    if (sent == received) {
        return 0;
    }
    snprintf(why, why_bytes, "the values received do not add up to the values sent");
    return 1;
}

/* Part of check_resource(): all tokens are back. */
static inline int db_sy_tokens_back(int64_t tokens, int64_t expected, char *why, size_t why_bytes)
{
    if (tokens == expected) {
        return 0;
    }
    snprintf(why, why_bytes, "%" PRId64 " tokens in the object after the last operation, expected %" PRId64,
             tokens, expected);
    return 1;
}

/* Called by whoever holds the object; `holder` lies in a line that only holders write. Where several hold it
 * at once, counts may be lost. */
static inline void db_sy_holds(const struct db_context *context, _Atomic uint32_t *holder)
{
    struct db_sy_task *task = context->memory;
    const uint32_t me = context->participant + 1;
    if (atomic_load_explicit(holder, memory_order_relaxed) != me) {
        atomic_store_explicit(holder, me, memory_order_relaxed);
        task->handovers++;
    }
}

/* Two plain words that every holder increments and that are equal whenever nobody holds the lock:
 * a lock that does not lock loses updates or is seen with unequal words. `context`: of the holder, whose
 * hand-overs are counted; NULL: they are not. */
struct db_guard {
    alignas(DB_CACHE_LINE) uint64_t first;
    uint64_t second;
    _Atomic uint32_t holder;
};

static inline bool db_guard_intact(const struct db_guard *guard)
{
    return guard->first == guard->second;
}

static inline bool db_guard_update(const struct db_context *context, struct db_guard *guard)
{
    if (context) {
        db_sy_holds(context, &guard->holder);
    }
    const uint64_t value = guard->first;
    const bool intact = guard->second == value;
    guard->first = value + 1;
    db_keep(guard); /* two stores, in this order, at every call */
    guard->second = value + 1;
    return intact;
}

static inline int db_guard_conserved(const struct db_resource *resource, const struct db_guard *guard,
                                     char *why, size_t why_bytes)
{
    if (!db_guard_intact(guard)) {
        snprintf(why, why_bytes, "the two guarded words differ: %" PRIu64 " and %" PRIu64, guard->first,
                 guard->second);
        return 1;
    }
    return db_sy_conserved(resource, guard->first, why, why_bytes);
}

#endif
