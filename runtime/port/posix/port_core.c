/*
 * deadbeat/port_core.h by POSIX threads: a program for any system that has them, and the shortest port to
 * learn from. POSIX has no word for binding a thread to a CPU: done where it is known how, below; elsewhere
 * only a machine with one CPU can be measured.
 */
#include "deadbeat/port_core.h"

#include "posix.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* The body's 32 KiB, and what thread start-up and signal frames need. */
#define STACK_BYTES (256 * 1024)
#define PAGE_BYTES 4096

FILE *port_records;

/* --- time ----------------------------------------------------------------------------------- */

int64_t port_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void port_sleep_until_ns(int64_t at)
{
    struct timespec t = {.tv_sec = at / 1000000000, .tv_nsec = at % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
        ;
}

/* --- CPUs ----------------------------------------------------------------------------------- */

#ifdef __linux__

static int bind_to(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)cpu, &set);
    return sched_setaffinity(0, sizeof set, &set) == 0 ? 0 : errno;
}

int port_usable_cpus(int *cpus, int most)
{
    cpu_set_t set;
    int count = 0;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 0;
    for (int i = 0; i < CPU_SETSIZE && count < most; i++)
        if (CPU_ISSET((size_t)i, &set))
            cpus[count++] = i;
    return count;
}

static int bound_to(void)
{
    int cpus[2];
    return port_usable_cpus(cpus, 2) == 1 ? cpus[0] : -1;
}

#else

static int bind_to(int cpu)
{
    (void)cpu;
    return 0;
}

static int bound_to(void)
{
    return sysconf(_SC_NPROCESSORS_ONLN) == 1 ? 0 : -1;
}

int port_usable_cpus(int *cpus, int most)
{
    if (most > 0)
        cpus[0] = 0;
    return most > 0;
}

#endif

/* --- threads -------------------------------------------------------------------------------- */

/* Lives until the thread has bound itself: the starter waits for that. */
struct birth {
    void *(*body)(void *);
    void *argument;
    int cpu, error;
    atomic_uint bound;
};

static void *born(void *argument)
{
    struct birth *birth = argument;
    void *(*body)(void *) = birth->body;
    void *own = birth->argument;
    int error = birth->error = bind_to(birth->cpu);
    atomic_store(&birth->bound, 1);
    port_wake(&birth->bound);
    return error ? NULL : body(own);
}

int port_start_thread(void *(*body)(void *), void *argument, enum db_policy policy, int priority, int cpu,
                      uint64_t *thread)
{
    struct birth birth = {.body = body, .argument = argument, .cpu = cpu};
    static const int kinds[] = {
        [DB_POLICY_OTHER] = SCHED_OTHER, [DB_POLICY_FIFO] = SCHED_FIFO, [DB_POLICY_RR] = SCHED_RR};
    struct sched_param p = {.sched_priority = policy == DB_POLICY_OTHER ? 0 : priority};
    pthread_attr_t attributes;
    pthread_t id;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&attributes, kinds[policy]);
    pthread_attr_setschedparam(&attributes, &p);
    int error = pthread_create(&id, &attributes, born, &birth);
    pthread_attr_destroy(&attributes);
    if (error)
        return error;
    while (atomic_load(&birth.bound) == 0)
        port_wait(&birth.bound, 0, -1);
    if (birth.error) {
        pthread_join(id, NULL);
        return birth.error;
    }
    memcpy(thread, &id, sizeof id < sizeof *thread ? sizeof id : sizeof *thread);
    return 0;
}

int port_join_thread(uint64_t thread)
{
    pthread_t id;
    memcpy(&id, &thread, sizeof id);
    return pthread_join(id, NULL);
}

int port_get_placement(int *policy, int *priority, int *cpu)
{
    struct sched_param p;
    int kind, error = pthread_getschedparam(pthread_self(), &kind, &p);
    if (error)
        return error;
    *policy = kind == SCHED_FIFO ? DB_POLICY_FIFO : kind == SCHED_RR ? DB_POLICY_RR : DB_POLICY_OTHER;
    *priority = *policy == DB_POLICY_OTHER ? 0 : p.sched_priority;
    *cpu = bound_to();
    return 0;
}

/* --- memory --------------------------------------------------------------------------------- */

void *port_map(size_t bytes, int shared)
{
    void *memory;
    (void)shared;
    return posix_memalign(&memory, PAGE_BYTES, bytes ? bytes : 1) ? NULL : memset(memory, 0, bytes);
}

void port_unmap(void *memory, size_t bytes)
{
    (void)bytes;
    free(memory);
}

int port_lock_memory(void)
{
    return mlockall(MCL_CURRENT | MCL_FUTURE) == 0 ? 0 : errno;
}

/* --- waiting: on one of a few rooms, by the word's address ------------------------------------ */

#define ROOMS 64

static struct room {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
} rooms[ROOMS];
static pthread_once_t built = PTHREAD_ONCE_INIT;

static void build(void)
{
    pthread_mutexattr_t inherit;
    pthread_condattr_t monotonic;
    pthread_mutexattr_init(&inherit);
    pthread_mutexattr_setprotocol(&inherit, PTHREAD_PRIO_INHERIT);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    for (int i = 0; i < ROOMS; i++) {
        pthread_mutex_init(&rooms[i].mutex, &inherit);
        pthread_cond_init(&rooms[i].changed, &monotonic);
    }
}

static struct room *room_of(const atomic_uint *word)
{
    pthread_once(&built, build);
    return &rooms[(uintptr_t)word / sizeof *word % ROOMS];
}

int port_wait(atomic_uint *word, unsigned seen, int64_t timeout_ns)
{
    struct room *room = room_of(word);
    int64_t until = port_now_ns() + timeout_ns;
    struct timespec t = {.tv_sec = until / 1000000000, .tv_nsec = until % 1000000000};
    int error = 0;
    pthread_mutex_lock(&room->mutex);
    if (atomic_load(word) == seen)
        error = timeout_ns < 0 ? pthread_cond_wait(&room->changed, &room->mutex)
                               : pthread_cond_timedwait(&room->changed, &room->mutex, &t);
    pthread_mutex_unlock(&room->mutex);
    return error;
}

/* Under the mutex: whoever compared and found the word unchanged sleeps by now. */
void port_wake(atomic_uint *word)
{
    struct room *room = room_of(word);
    pthread_mutex_lock(&room->mutex);
    pthread_cond_broadcast(&room->changed);
    pthread_mutex_unlock(&room->mutex);
}

/* Others may wait in the room, on other words: all are woken, and look. */
void port_wake_one(atomic_uint *word)
{
    port_wake(word);
}

/* --- the end, and what is handed over ---------------------------------------------------------- */

_Noreturn void port_exit(int status)
{
    exit(status);
}

int port_put(const void *data, size_t bytes)
{
    errno = 0;
    return fwrite(data, 1, bytes, port_records) == bytes ? 0 : errno ? errno : EIO;
}

void port_say(const char *text)
{
    printf("%s\n", text);
}

const char *port_error_text(int error)
{
    return strerror(error);
}
