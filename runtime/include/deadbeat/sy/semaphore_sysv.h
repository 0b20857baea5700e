/* A System V semaphore set of one: plenty of tokens and scarce tokens differ only in the number. */
#ifndef DEADBEAT_SY_SEMAPHORE_SYSV_H
#define DEADBEAT_SY_SEMAPHORE_SYSV_H

#include "deadbeat/sy/common.h"

#include <stdatomic.h>
#include <sys/ipc.h>
#include <sys/sem.h>

union db_semun { /* POSIX leaves the definition of semctl's argument to the caller */
    int val;
    struct semid_ds *buf;
    unsigned short *array;
};

struct db_semaphore_sysv {
    alignas(DB_CACHE_LINE) _Atomic uint32_t holders;
    _Atomic uint64_t taken;
    _Atomic uint32_t holder;
};

static inline size_t db_semaphore_sysv_shared_bytes(uint32_t participants, uint32_t max_size)
{
    (void)max_size;
    return db_accounts_bytes(participants) + sizeof(struct db_semaphore_sysv);
}

static inline int db_semaphore_sysv_create(struct db_resource *resource, uint32_t tokens)
{
    const int id = semget(IPC_PRIVATE, 1, 0600);
    if (id < 0) {
        return errno;
    }
    if (semctl(id, 0, SETVAL, (union db_semun){.val = (int)tokens})) {
        const int error = errno;
        (void)semctl(id, 0, IPC_RMID);
        return error;
    }
    resource->words[0] = (uint64_t)id;
    resource->words[1] = tokens;
    return 0;
}

static inline int db_semaphore_sysv_change(const struct db_resource *resource, short by)
{
    struct sembuf change = {.sem_num = 0, .sem_op = by, .sem_flg = 0};
    int result;
    do {
        result = semop((int)resource->words[0], &change, 1);
    } while (result != 0 && errno == EINTR);
    return result ? errno : 0;
}

static inline void db_semaphore_sysv_run(struct db_context *context)
{
    const struct db_resource *resource = context->resource;
    struct db_semaphore_sysv *object = db_object(resource);
    for (uint32_t i = 0; i < context->size; i++) {
        int error = db_semaphore_sysv_change(resource, -1);
        if (error) {
            db_sy_fault(context, "semop(-1) failed", error);
            return;
        }
        const uint32_t before = atomic_fetch_add(&object->holders, 1);
        atomic_fetch_add(&object->taken, 1);
        if (resource->words[1] < resource->participants) {
            db_sy_holds(context, &object->holder);
        }
        atomic_fetch_sub(&object->holders, 1);
        error = db_semaphore_sysv_change(resource, 1);
        if (error || before >= resource->words[1]) {
            db_sy_fault(context, error ? "semop(+1) failed" : "more holders than tokens", error);
            return;
        }
    }
    db_sy_done(context, context->size);
}

static inline int db_semaphore_sysv_check(const struct db_resource *resource, char *why, size_t why_bytes)
{
    struct db_semaphore_sysv *object = db_object(resource);
    const int value = semctl((int)resource->words[0], 0, GETVAL);
    if (db_sy_tokens_back(value, (int64_t)resource->words[1], why, why_bytes)) {
        return 1;
    }
    return db_sy_conserved(resource, atomic_load(&object->taken), why, why_bytes);
}

static inline void db_semaphore_sysv_destroy(struct db_resource *resource)
{
    (void)semctl((int)resource->words[0], 0, IPC_RMID);
}

#endif
