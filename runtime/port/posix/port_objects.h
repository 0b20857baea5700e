/* The objects of deadbeat/port_sync.h by POSIX, shared between processes. */
#ifndef DEADBEAT_PORT_OBJECTS_H
#define DEADBEAT_PORT_OBJECTS_H

#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>

struct port_mutex {
    pthread_mutex_t mutex;
};

static inline int port_mutex_init(struct port_mutex *mutex)
{
    pthread_mutexattr_t attributes;
    int error = pthread_mutexattr_init(&attributes);
    if (error)
        return error;
    error = pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    if (!error)
        error = pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    if (!error)
        error = pthread_mutex_init(&mutex->mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
    return error;
}

static inline int port_mutex_lock(struct port_mutex *mutex)
{
    return pthread_mutex_lock(&mutex->mutex);
}

static inline int port_mutex_unlock(struct port_mutex *mutex)
{
    return pthread_mutex_unlock(&mutex->mutex);
}

static inline bool port_mutex_is_free(struct port_mutex *mutex)
{
    return pthread_mutex_trylock(&mutex->mutex) == 0 && pthread_mutex_unlock(&mutex->mutex) == 0;
}

static inline void port_mutex_destroy(struct port_mutex *mutex)
{
    (void)pthread_mutex_destroy(&mutex->mutex); /* one held by a killed task goes with its memory */
}

struct port_semaphore {
    sem_t semaphore;
};

static inline int port_semaphore_init(struct port_semaphore *semaphore, uint32_t tokens)
{
    return sem_init(&semaphore->semaphore, 1, tokens) ? errno : 0;
}

static inline int port_semaphore_take(struct port_semaphore *semaphore)
{
    int result;
    do {
        result = sem_wait(&semaphore->semaphore);
    } while (result != 0 && errno == EINTR);
    return result ? errno : 0;
}

static inline int port_semaphore_give(struct port_semaphore *semaphore)
{
    return sem_post(&semaphore->semaphore) ? errno : 0;
}

static inline int64_t port_semaphore_tokens(struct port_semaphore *semaphore)
{
    int value = -1;
    (void)sem_getvalue(&semaphore->semaphore, &value);
    return value;
}

static inline void port_semaphore_destroy(struct port_semaphore *semaphore)
{
    (void)sem_destroy(&semaphore->semaphore);
}

/* Without a name: the descriptor is inherited by processes forked later. */
struct port_queue {
    mqd_t queue;
    size_t message_bytes;
};

static inline size_t port_queue_bytes(uint32_t capacity, size_t message_bytes)
{
    (void)capacity;
    (void)message_bytes;
    return sizeof(struct port_queue);
}

/* More than ten messages need CAP_SYS_RESOURCE on Linux (/proc/sys/fs/mqueue/msg_max); EINVAL otherwise. */
static inline int port_queue_init(struct port_queue *queue, uint32_t capacity, size_t message_bytes)
{
    struct mq_attr attributes = {.mq_maxmsg = (long)capacity, .mq_msgsize = (long)message_bytes};
    queue->message_bytes = message_bytes;
    for (unsigned attempt = 0; attempt < 100; attempt++) {
        char name[64];
        snprintf(name, sizeof name, "/deadbeat-%ld-%u", (long)getpid(), attempt);
        queue->queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &attributes);
        if (queue->queue != (mqd_t)-1)
            return mq_unlink(name) ? errno : 0;
        if (errno != EEXIST)
            return errno;
    }
    return EEXIST;
}

static inline int port_queue_send(struct port_queue *queue, const void *message)
{
    int result;
    do {
        result = mq_send(queue->queue, message, queue->message_bytes, 0);
    } while (result != 0 && errno == EINTR);
    return result ? errno : 0;
}

static inline int port_queue_receive(struct port_queue *queue, void *message)
{
    ssize_t bytes;
    do {
        bytes = mq_receive(queue->queue, message, queue->message_bytes, NULL);
    } while (bytes < 0 && errno == EINTR);
    if (bytes < 0)
        return errno;
    return (size_t)bytes == queue->message_bytes ? 0 : EMSGSIZE;
}

static inline int64_t port_queue_count(struct port_queue *queue)
{
    struct mq_attr attributes;
    return mq_getattr(queue->queue, &attributes) ? -1 : attributes.mq_curmsgs;
}

static inline void port_queue_destroy(struct port_queue *queue)
{
    (void)mq_close(queue->queue);
}

#endif
