/*+++
 * name = "rwlock"
 * kind = "SY"
 * summary = "Process-shared POSIX reader-writer lock: three reads, then a write, on one object"
 * resource_class = "rwlock"
 * sizes = [8, 64, 512]
 * size_unit = "operations"
 * quick = []
 * requires = ["rwlock"]
 * modes = ["default"]
 * blocking = true
 * hold = "readers compare, writers update a guarded counter"
 * parallel = true
 * mixed_priorities = false
 * origin = "own; POSIX threads, writers preferred where the C library can"
 * tacle = ""
 * licence = "Apache-2.0"
 * tsan = true
 +++*/
#include "deadbeat/sy/common.h"

#include <pthread.h>

#define WRITE_EVERY 4

/* sent counts a participant's writes: only they move the guard. */
struct object {
    alignas(DB_CACHE_LINE) pthread_rwlock_t lock;
    struct db_guard guard;
};

static size_t shared_bytes(uint32_t participants, uint32_t max_size)
{
    (void)max_size;
    return db_accounts_bytes(participants) + sizeof(struct object);
}

static int create(struct db_resource *resource)
{
    struct object *object = db_object(resource);
    pthread_rwlockattr_t attributes;
    int error = pthread_rwlockattr_init(&attributes);
    if (error) {
        return error;
    }
    error = pthread_rwlockattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
#ifdef PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP
    if (!error) { /* overlapping readers must not starve a writer of higher priority */
        error = pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    }
#endif
    if (!error) {
        error = pthread_rwlock_init(&object->lock, &attributes);
    }
    pthread_rwlockattr_destroy(&attributes);
    return error;
}

static void run(struct db_context *context)
{
    const struct db_sy_task *task = context->memory;
    struct object *object = db_object(context->resource);
    uint64_t writes = 0;
    for (uint32_t i = 0; i < context->size; i++) {
        const bool writer = (task->operations + i) % WRITE_EVERY == WRITE_EVERY - 1;
        int error = writer ? pthread_rwlock_wrlock(&object->lock) : pthread_rwlock_rdlock(&object->lock);
        if (error) {
            db_sy_fault(context, "pthread_rwlock_rdlock or wrlock failed", error);
            return;
        }
        const bool intact = writer ? db_guard_update(NULL, &object->guard) : db_guard_intact(&object->guard);
        error = pthread_rwlock_unlock(&object->lock);
        if (error || !intact) {
            db_sy_fault(context, error ? "pthread_rwlock_unlock failed" : "a writer was not alone", error);
            return;
        }
        writes += writer;
    }
    db_account(context)->sent += writes;
    db_sy_done(context, context->size);
}

static int check_resource(const struct db_resource *resource, char *why, size_t why_bytes)
{
    struct object *object = db_object(resource);
    const struct db_account *accounts = resource->shared;
    const int error = pthread_rwlock_trywrlock(&object->lock);
    if (error) {
        snprintf(why, why_bytes, "the lock is not free after the last operation: %s", strerror(error));
        return 1;
    }
    (void)pthread_rwlock_unlock(&object->lock);
    uint64_t writes = 0;
    for (uint32_t i = 0; i < resource->participants; i++) {
        writes += accounts[i].sent;
    }
    if (!db_guard_intact(&object->guard) || object->guard.first != writes) {
        snprintf(why, why_bytes, "%" PRIu64 " writes, but the guarded words are %" PRIu64 " and %" PRIu64,
                 writes, object->guard.first, object->guard.second);
        return 1;
    }
    return 0;
}

static void destroy(struct db_resource *resource)
{
    struct object *object = db_object(resource);
    (void)pthread_rwlock_destroy(&object->lock);
}

extern const struct db_fragment db_fragment_rwlock;
const struct db_fragment db_fragment_rwlock = {
    .name = "rwlock",
    .kind = DB_SY,
    .context_bytes = db_sy_context_bytes,
    .setup = db_sy_setup,
    .run = run,
    .check = db_sy_check,
    .shared_bytes = shared_bytes,
    .create = create,
    .check_resource = check_resource,
    .destroy = destroy,
};
