/* A process-shared POSIX mutex of any protocol around a guarded counter: one code for all of them. */
#ifndef DEADBEAT_SY_MUTEX_H
#define DEADBEAT_SY_MUTEX_H

#include "deadbeat/sy/common.h"

#include <pthread.h>
#include <unistd.h> /* _POSIX_THREAD_PRIO_PROTECT */

struct db_mutex_object {
    alignas(DB_CACHE_LINE) pthread_mutex_t mutex;
    struct db_guard guard;
};

static inline size_t db_mutex_shared_bytes(uint32_t participants, uint32_t max_size)
{
    (void)max_size;
    return db_accounts_bytes(participants) + sizeof(struct db_mutex_object);
}

/* protocol: PTHREAD_PRIO_NONE, PTHREAD_PRIO_INHERIT or PTHREAD_PRIO_PROTECT;
 * robustness: PTHREAD_MUTEX_STALLED or PTHREAD_MUTEX_ROBUST. */
static inline int db_mutex_create(struct db_resource *resource, int protocol, int robustness)
{
    struct db_mutex_object *object = db_object(resource);
    pthread_mutexattr_t attributes;
    int error = pthread_mutexattr_init(&attributes);
    if (error) {
        return error;
    }
    error = pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    if (!error) {
        error = pthread_mutexattr_setprotocol(&attributes, protocol);
    }
#ifdef _POSIX_THREAD_PRIO_PROTECT /* musl has neither the function nor the protocol */
    if (!error && protocol == PTHREAD_PRIO_PROTECT) {
        error = pthread_mutexattr_setprioceiling(&attributes, resource->ceiling);
    }
#endif
    if (!error) {
        error = pthread_mutexattr_setrobust(&attributes, robustness);
    }
    if (!error) {
        error = pthread_mutex_init(&object->mutex, &attributes);
    }
    pthread_mutexattr_destroy(&attributes);
    return error;
}

static inline void db_mutex_run(struct db_context *context)
{
    struct db_mutex_object *object = db_object(context->resource);
    for (uint32_t i = 0; i < context->size; i++) {
        int error = pthread_mutex_lock(&object->mutex);
        if (error == EOWNERDEAD) {
            (void)pthread_mutex_consistent(&object->mutex);
            (void)pthread_mutex_unlock(&object->mutex);
        }
        if (error) {
            db_sy_fault(context, "pthread_mutex_lock failed", error);
            return;
        }
        const bool intact = db_guard_update(context, &object->guard);
        error = pthread_mutex_unlock(&object->mutex);
        if (error || !intact) {
            db_sy_fault(context, error ? "pthread_mutex_unlock failed" : "two holders at once", error);
            return;
        }
    }
    db_sy_done(context, context->size);
}

static inline int db_mutex_check_guard(const struct db_resource *resource, char *why, size_t why_bytes)
{
    const struct db_mutex_object *object = db_object(resource);
    return db_guard_conserved(resource, &object->guard, why, why_bytes);
}

static inline int db_mutex_check_free(const struct db_resource *resource, char *why, size_t why_bytes)
{
    struct db_mutex_object *object = db_object(resource);
    const int error = pthread_mutex_trylock(&object->mutex);
    if (error) {
        snprintf(why, why_bytes, "the mutex is not free after the last operation: %s", strerror(error));
        return 1;
    }
    (void)pthread_mutex_unlock(&object->mutex);
    return db_mutex_check_guard(resource, why, why_bytes);
}

static inline void db_mutex_destroy(struct db_resource *resource)
{
    struct db_mutex_object *object = db_object(resource);
    (void)pthread_mutex_destroy(&object->mutex); /* a mutex held by a killed task goes with its memory */
}

#endif
