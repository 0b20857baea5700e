/* A bounded queue made of a mutex and two condition variables, all process-shared. */
#ifndef DEADBEAT_SY_CONDVAR_QUEUE_H
#define DEADBEAT_SY_CONDVAR_QUEUE_H

#include "deadbeat/sy/message.h"

#include <pthread.h>

struct db_condvar_queue {
    alignas(DB_CACHE_LINE) pthread_mutex_t mutex;
    pthread_cond_t not_empty;
    pthread_cond_t not_full;
    uint32_t capacity;
    uint32_t head; /* index of the oldest message */
    uint32_t count;
    _Atomic uint32_t holder; /* of the mutex */
    struct db_message slots[];
};

static inline size_t db_condvar_queue_shared_bytes(uint32_t participants, uint32_t max_size)
{
    (void)max_size;
    return db_accounts_bytes(participants) + sizeof(struct db_condvar_queue) +
           participants * sizeof(struct db_message);
}

static inline int db_condvar_queue_init_conditions(struct db_condvar_queue *queue)
{
    pthread_condattr_t attributes;
    int error = pthread_condattr_init(&attributes);
    if (error) {
        return error;
    }
    error = pthread_condattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    if (!error) {
        error = pthread_cond_init(&queue->not_empty, &attributes);
    }
    if (!error) {
        error = pthread_cond_init(&queue->not_full, &attributes);
    }
    pthread_condattr_destroy(&attributes);
    return error;
}

static inline int db_condvar_queue_create(struct db_resource *resource, uint32_t capacity)
{
    struct db_condvar_queue *queue = db_object(resource);
    queue->capacity = capacity;
    pthread_mutexattr_t attributes;
    int error = pthread_mutexattr_init(&attributes);
    if (error) {
        return error;
    }
    error = pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    if (!error) {
        error = pthread_mutex_init(&queue->mutex, &attributes);
    }
    pthread_mutexattr_destroy(&attributes);
    return error ? error : db_condvar_queue_init_conditions(queue);
}

/* All waiters are woken, not one: glibc before 2.41 can lose the wake-up of pthread_cond_signal
 * (sourceware bug 25847), and a lost wake-up of a scarce token is a hang.
 * `holder`: who is counted as holding the mutex; NULL: nobody is. */
static inline int db_condvar_queue_send(struct db_condvar_queue *queue, const struct db_message *message,
                                        const struct db_context *holder)
{
    int error = pthread_mutex_lock(&queue->mutex);
    if (error) {
        return error;
    }
    while (queue->count == queue->capacity) {
        (void)pthread_cond_wait(&queue->not_full, &queue->mutex);
    }
    if (holder) {
        db_sy_holds(holder, &queue->holder);
    }
    queue->slots[(queue->head + queue->count) % queue->capacity] = *message;
    queue->count++;
    (void)pthread_cond_broadcast(&queue->not_empty);
    return pthread_mutex_unlock(&queue->mutex);
}

static inline int db_condvar_queue_receive(struct db_condvar_queue *queue, struct db_message *message,
                                           const struct db_context *holder)
{
    int error = pthread_mutex_lock(&queue->mutex);
    if (error) {
        return error;
    }
    while (queue->count == 0) {
        (void)pthread_cond_wait(&queue->not_empty, &queue->mutex);
    }
    if (holder) {
        db_sy_holds(holder, &queue->holder);
    }
    *message = queue->slots[queue->head];
    queue->head = (queue->head + 1) % queue->capacity;
    queue->count--;
    (void)pthread_cond_broadcast(&queue->not_full);
    return pthread_mutex_unlock(&queue->mutex);
}

static inline void db_condvar_queue_destroy(struct db_resource *resource)
{
    struct db_condvar_queue *queue = db_object(resource);
    /* pthread_cond_destroy waits for waiters, and a killed task waits for ever: both variables are
     * plain memory on Linux and go with it. */
    (void)pthread_mutex_destroy(&queue->mutex);
}

#endif
