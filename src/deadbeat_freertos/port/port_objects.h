/* The objects of deadbeat/port_sync.h by the kernel's own, in memory of the fragments. */
#ifndef DEADBEAT_PORT_OBJECTS_H
#define DEADBEAT_PORT_OBJECTS_H

#include "FreeRTOS.h"
#include "queue.h"
#include "semphr.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct port_mutex {
    StaticSemaphore_t memory;
    SemaphoreHandle_t handle;
};

static inline int port_mutex_init(struct port_mutex *mutex)
{
    mutex->handle = xSemaphoreCreateMutexStatic(&mutex->memory);
    return mutex->handle ? 0 : ENOMEM;
}

static inline int port_mutex_lock(struct port_mutex *mutex)
{
    return xSemaphoreTake(mutex->handle, portMAX_DELAY) == pdTRUE ? 0 : EAGAIN;
}

static inline int port_mutex_unlock(struct port_mutex *mutex)
{
    return xSemaphoreGive(mutex->handle) == pdTRUE ? 0 : EPERM;
}

static inline bool port_mutex_is_free(struct port_mutex *mutex)
{
    return uxSemaphoreGetCount(mutex->handle) == 1;
}

static inline void port_mutex_destroy(struct port_mutex *mutex)
{
    vSemaphoreDelete(mutex->handle);
}

struct port_semaphore {
    StaticSemaphore_t memory;
    SemaphoreHandle_t handle;
};

static inline int port_semaphore_init(struct port_semaphore *semaphore, uint32_t tokens)
{
    semaphore->handle = xSemaphoreCreateCountingStatic(tokens, tokens, &semaphore->memory);
    return semaphore->handle ? 0 : ENOMEM;
}

static inline int port_semaphore_take(struct port_semaphore *semaphore)
{
    return xSemaphoreTake(semaphore->handle, portMAX_DELAY) == pdTRUE ? 0 : EAGAIN;
}

static inline int port_semaphore_give(struct port_semaphore *semaphore)
{
    return xSemaphoreGive(semaphore->handle) == pdTRUE ? 0 : EOVERFLOW;
}

static inline int64_t port_semaphore_tokens(struct port_semaphore *semaphore)
{
    return (int64_t)uxSemaphoreGetCount(semaphore->handle);
}

static inline void port_semaphore_destroy(struct port_semaphore *semaphore)
{
    vSemaphoreDelete(semaphore->handle);
}

struct port_queue {
    StaticQueue_t memory;
    QueueHandle_t handle;
    uint8_t messages[];
};

static inline size_t port_queue_bytes(uint32_t capacity, size_t message_bytes)
{
    return sizeof(struct port_queue) + capacity * message_bytes;
}

static inline int port_queue_init(struct port_queue *queue, uint32_t capacity, size_t message_bytes)
{
    queue->handle = xQueueCreateStatic(capacity, message_bytes, queue->messages, &queue->memory);
    return queue->handle ? 0 : ENOMEM;
}

static inline int port_queue_send(struct port_queue *queue, const void *message)
{
    return xQueueSend(queue->handle, message, portMAX_DELAY) == pdTRUE ? 0 : EAGAIN;
}

static inline int port_queue_receive(struct port_queue *queue, void *message)
{
    return xQueueReceive(queue->handle, message, portMAX_DELAY) == pdTRUE ? 0 : EAGAIN;
}

static inline int64_t port_queue_count(struct port_queue *queue)
{
    return (int64_t)uxQueueMessagesWaiting(queue->handle);
}

static inline void port_queue_destroy(struct port_queue *queue)
{
    vQueueDelete(queue->handle);
}

#endif
