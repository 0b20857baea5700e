/* Objects to copy: deadbeat/port_sync.h says what each does. None of them works: a set whose fragments need
 * one ends with ENOSYS. */
#ifndef DEADBEAT_PORT_OBJECTS_H
#define DEADBEAT_PORT_OBJECTS_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct port_mutex {
    int unused;
};

static inline int port_mutex_init(struct port_mutex *mutex)
{
    (void)mutex;
    return ENOSYS;
}

static inline int port_mutex_lock(struct port_mutex *mutex)
{
    (void)mutex;
    return ENOSYS;
}

static inline int port_mutex_unlock(struct port_mutex *mutex)
{
    (void)mutex;
    return ENOSYS;
}

static inline bool port_mutex_is_free(struct port_mutex *mutex)
{
    (void)mutex;
    return false;
}

static inline void port_mutex_destroy(struct port_mutex *mutex)
{
    (void)mutex;
}

struct port_semaphore {
    int unused;
};

static inline int port_semaphore_init(struct port_semaphore *semaphore, uint32_t tokens)
{
    (void)semaphore;
    (void)tokens;
    return ENOSYS;
}

static inline int port_semaphore_take(struct port_semaphore *semaphore)
{
    (void)semaphore;
    return ENOSYS;
}

static inline int port_semaphore_give(struct port_semaphore *semaphore)
{
    (void)semaphore;
    return ENOSYS;
}

static inline int64_t port_semaphore_tokens(struct port_semaphore *semaphore)
{
    (void)semaphore;
    return -1;
}

static inline void port_semaphore_destroy(struct port_semaphore *semaphore)
{
    (void)semaphore;
}

struct port_queue {
    int unused;
};

static inline size_t port_queue_bytes(uint32_t capacity, size_t message_bytes)
{
    return sizeof(struct port_queue) + capacity * message_bytes;
}

static inline int port_queue_init(struct port_queue *queue, uint32_t capacity, size_t message_bytes)
{
    (void)queue;
    (void)capacity;
    (void)message_bytes;
    return ENOSYS;
}

static inline int port_queue_send(struct port_queue *queue, const void *message)
{
    (void)queue;
    (void)message;
    return ENOSYS;
}

static inline int port_queue_receive(struct port_queue *queue, void *message)
{
    (void)queue;
    (void)message;
    return ENOSYS;
}

static inline int64_t port_queue_count(struct port_queue *queue)
{
    (void)queue;
    return -1;
}

static inline void port_queue_destroy(struct port_queue *queue)
{
    (void)queue;
}

#endif
