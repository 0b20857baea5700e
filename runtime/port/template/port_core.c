/*
 * A core port to copy: every function of deadbeat/port_core.h, doing nothing and saying so. Each returns
 * ENOSYS, or stops where it cannot return an error, so that nothing half ported can pass for a measurement.
 * Replace the bodies; the contract of each (what holds before, what holds after) is in deadbeat/port_core.h,
 * and runtime/port/posix shows one that is complete. The objects of fragments are in port_objects.h.
 */
#include "deadbeat/port_core.h"

#include <errno.h>
#include <stdlib.h>

int64_t port_now_ns(void)
{
    abort();
}

void port_sleep_until_ns(int64_t at)
{
    (void)at;
    abort();
}

int port_start_thread(void *(*body)(void *), void *argument, enum db_policy policy, int priority, int cpu,
                      uint64_t *thread)
{
    (void)body;
    (void)argument;
    (void)policy;
    (void)priority;
    (void)cpu;
    (void)thread;
    return ENOSYS;
}

int port_join_thread(uint64_t thread)
{
    (void)thread;
    return ENOSYS;
}

int port_get_placement(int *policy, int *priority, int *cpu)
{
    (void)policy;
    (void)priority;
    (void)cpu;
    return ENOSYS;
}

int port_usable_cpus(int *cpus, int most)
{
    (void)cpus;
    (void)most;
    return 0;
}

void *port_map(size_t bytes, int shared)
{
    (void)bytes;
    (void)shared;
    return NULL;
}

void port_unmap(void *memory, size_t bytes)
{
    (void)memory;
    (void)bytes;
}

int port_lock_memory(void)
{
    return ENOSYS;
}

int port_wait(atomic_uint *word, unsigned seen, int64_t timeout_ns)
{
    (void)word;
    (void)seen;
    (void)timeout_ns;
    return ENOSYS;
}

void port_wake(atomic_uint *word)
{
    (void)word;
    abort();
}

_Noreturn void port_exit(int status)
{
    (void)status;
    abort();
}

void port_wake_one(atomic_uint *word)
{
    (void)word;
    abort();
}

int port_put(const void *data, size_t bytes)
{
    (void)data;
    (void)bytes;
    return ENOSYS;
}

void port_say(const char *text)
{
    (void)text;
}

const char *port_error_text(int error)
{
    (void)error;
    return "an error";
}
