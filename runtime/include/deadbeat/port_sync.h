/*
 * Four objects of a real-time kernel, for the fragments that every port can run: a mutex with priority
 * inheritance, a counting semaphore, a queue of messages, and the C11 atomics. (Waiting on a word, with which
 * event flags and pools are made, is in deadbeat/port_core.h.) The port's folder has port_objects.h, which
 * defines the types, each at most of a few hundred bytes and with no pointer into itself that copying would
 * need to mend, and the functions, inline where that is what the system's own programs get.
 *
 * All functions return 0 or a number of <errno.h> unless they say otherwise. init and destroy are called
 * while no task runs, in the memory that the object then lives in: zeroed, aligned to DB_CACHE_LINE, and
 * shared between processes where there are any. The others are called by tasks, allocate nothing, and
 * suspend the caller and nobody else while they wait; of several waiters the one of the highest priority
 * goes on first where the system's own object does so.
 *
 * struct port_mutex       the holder inherits the highest priority of those who wait
 *   int  port_mutex_init(struct port_mutex *)
 *   int  port_mutex_lock(struct port_mutex *)       before: the caller does not hold it; after: it does
 *   int  port_mutex_unlock(struct port_mutex *)     before: the caller holds it; after: it does not
 *   bool port_mutex_is_free(struct port_mutex *)    while no task runs: nobody holds it
 *   void port_mutex_destroy(struct port_mutex *)    also of one that a task which was killed held
 *
 * struct port_semaphore   tokens; anybody may give what another took
 *   int  port_semaphore_init(struct port_semaphore *, uint32_t tokens)   there are never more than `tokens`
 *   int  port_semaphore_take(struct port_semaphore *)                    after: one token fewer
 *   int  port_semaphore_give(struct port_semaphore *)                    after: one token more; never waits
 *   int64_t port_semaphore_tokens(struct port_semaphore *)               while no task runs; < 0: not known
 *   void port_semaphore_destroy(struct port_semaphore *)
 *
 * struct port_queue       messages of one size, first in, first out, copied in and out
 *   size_t port_queue_bytes(uint32_t capacity, size_t message_bytes)     of the object with all it holds
 *   int  port_queue_init(struct port_queue *, uint32_t capacity, size_t message_bytes)
 *   int  port_queue_send(struct port_queue *, const void *message)       waits while it is full
 *   int  port_queue_receive(struct port_queue *, void *message)          waits while it is empty
 *   int64_t port_queue_count(struct port_queue *)                        while no task runs; < 0: not known
 *   void port_queue_destroy(struct port_queue *)
 */
#ifndef DEADBEAT_PORT_SYNC_H
#define DEADBEAT_PORT_SYNC_H

#include "deadbeat/port_core.h"

#include "port_objects.h"

/* Refuses a port whose functions are of another type. */
#define DB_PORT_IS(function, type)                                                                           \
    _Static_assert(_Generic(&(function), type: 1, default: 0), #function " is not as port_sync.h says")

DB_PORT_IS(port_mutex_init, int (*)(struct port_mutex *));
DB_PORT_IS(port_mutex_lock, int (*)(struct port_mutex *));
DB_PORT_IS(port_mutex_unlock, int (*)(struct port_mutex *));
DB_PORT_IS(port_mutex_is_free, bool (*)(struct port_mutex *));
DB_PORT_IS(port_mutex_destroy, void (*)(struct port_mutex *));
DB_PORT_IS(port_semaphore_init, int (*)(struct port_semaphore *, uint32_t));
DB_PORT_IS(port_semaphore_take, int (*)(struct port_semaphore *));
DB_PORT_IS(port_semaphore_give, int (*)(struct port_semaphore *));
DB_PORT_IS(port_semaphore_tokens, int64_t (*)(struct port_semaphore *));
DB_PORT_IS(port_semaphore_destroy, void (*)(struct port_semaphore *));
DB_PORT_IS(port_queue_bytes, size_t (*)(uint32_t, size_t));
DB_PORT_IS(port_queue_init, int (*)(struct port_queue *, uint32_t, size_t));
DB_PORT_IS(port_queue_send, int (*)(struct port_queue *, const void *));
DB_PORT_IS(port_queue_receive, int (*)(struct port_queue *, void *));
DB_PORT_IS(port_queue_count, int64_t (*)(struct port_queue *));
DB_PORT_IS(port_queue_destroy, void (*)(struct port_queue *));

#endif
