/* On one CPU "heavy" works for 97 of 100 ms and "spins" for the rest; "timed" waits by the time of day.
 * cc -O2 -pthread load.c -o load && ./load: how many jobs there were. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

enum { PERIOD_NS = 10000000, WORK_NS = 9700000, JOBS = 60, SEC = 1000000000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static volatile bool over;

static struct timespec later(struct timespec at)
{
    at.tv_nsec += PERIOD_NS;
    at.tv_sec += at.tv_nsec / SEC;
    at.tv_nsec %= SEC;
    return at;
}

static long now_ns(clockid_t clock)
{
    struct timespec at;
    clock_gettime(clock, &at);
    return at.tv_sec * SEC + at.tv_nsec;
}

static void *heavy(void *argument)
{
    struct timespec next;
    clock_gettime(CLOCK_MONOTONIC, &next);
    for (int job = 0; job < JOBS; job++) {
        next = later(next);
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
        for (long end = now_ns(CLOCK_THREAD_CPUTIME_ID) + WORK_NS; now_ns(CLOCK_THREAD_CPUTIME_ID) < end;)
            ;
    }
    over = true;
    return argument;
}

static void *spins(void *argument)
{
    while (!over)
        ;
    return argument;
}

static void *timed(void *argument)
{
    struct timespec next;
    clock_gettime(CLOCK_REALTIME, &next);
    for (int job = 0; job < JOBS; job++) {
        next = later(next);
        pthread_mutex_lock(&lock);
        while (pthread_cond_timedwait(&never, &lock, &next) == 0)
            ;
        pthread_mutex_unlock(&lock);
    }
    return argument;
}

static pthread_t begin(const char *name, void *(*loop)(void *), int priority, int cpu)
{
    struct sched_param how = {priority};
    pthread_t made;
    cpu_set_t cpus;
    pthread_attr_t attr;
    CPU_ZERO(&cpus);
    CPU_SET(cpu, &cpus);
    pthread_attr_init(&attr);
    pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&attr, SCHED_FIFO);
    pthread_attr_setschedparam(&attr, &how);
    pthread_attr_setaffinity_np(&attr, sizeof cpus, &cpus);
    if (pthread_create(&made, &attr, loop, NULL) != 0)
        abort();
    pthread_setname_np(made, name);
    return made;
}

int main(void)
{
    if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
        return 1;
    pthread_t made[] = {
        begin("timed", timed, 70, 0),
        begin("heavy", heavy, 60, 1),
        begin("spins", spins, 50, 1),
    };
    for (int i = 0; i < 3; i++)
        pthread_join(made[i], NULL);
    return printf("%d jobs\n", JOBS) < 0;
}
