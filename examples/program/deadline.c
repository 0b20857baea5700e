/*
 * Two SCHED_DEADLINE threads; one now and then wants more than it has reserved, and is throttled.
 *
 *     cc -g -O2 -pthread deadline.c -o deadline
 *     sudo ./deadline                 5 seconds
 *     sudo .venv/bin/deadbeat run -- ./deadline
 *
 * control reserves 3 ms every 10 ms, and works 1 ms. video reserves 8 ms every 40 ms, works 5 ms, and each
 * 10th frame 12 ms: the kernel takes the CPU from it until its next period, so that this frame is late,
 * and control is not.
 * One argument: seconds. Without the right to SCHED_DEADLINE it runs with ordinary sleeps, and says so.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MS 1000000LL
#define POLICY_DEADLINE 6

struct attr { /* as sched_setattr(2) wants it; not every C library has it */
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
};

struct server {
    const char *name;
    long long runtime, period, usual, seldom; /* seldom: work of each 10th job */
};

static struct server servers[] = {
    {"control", 3 * MS, 10 * MS, 1 * MS, 1 * MS},
    {"video", 8 * MS, 40 * MS, 5 * MS, 12 * MS},
};
static long long start, length = 5000 * MS;
static double rounds_per_ns = 1;

static long long now(clockid_t clock)
{
    struct timespec at;
    clock_gettime(clock, &at);
    return at.tv_sec * 1000 * MS + at.tv_nsec;
}

static void work(double ns) /* of CPU time */
{
    for (volatile long left = (long)(ns * rounds_per_ns); left > 0; left--)
        ;
}

static void until(long long ns)
{
    struct timespec at = {ns / (1000 * MS), ns % (1000 * MS)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

static void *serve(void *argument)
{
    const struct server *own = argument;
    struct attr attr = {.size = sizeof attr, .policy = POLICY_DEADLINE};
    long long jobs, late = 0, worst = 0;
    attr.runtime = (uint64_t)own->runtime;
    attr.deadline = attr.period = (uint64_t)own->period;
    pthread_setname_np(pthread_self(), own->name);
    until(start);
    int reserved = !syscall(SYS_sched_setattr, 0, &attr, 0);
    if (!reserved)
        fprintf(stderr, "%s: no right to SCHED_DEADLINE; it sleeps instead\n", own->name);
    long long first = now(CLOCK_MONOTONIC), release = first; /* the reservation begins here */
    for (jobs = 0; release < start + length; jobs++) {
        if (reserved)
            sched_yield(); /* the job is done: waits for the next period */
        else
            until(release + own->period);
        release = first + (now(CLOCK_MONOTONIC) - first + own->period / 2) / own->period * own->period;
        work((double)(jobs % 10 == 9 ? own->seldom : own->usual));
        long long response = now(CLOCK_MONOTONIC) - release;
        worst = response > worst ? response : worst;
        late += response > own->period;
    }
    printf("%s: %lld of %lld jobs late, worst response %.1f ms\n", own->name, late, jobs, (double)worst / MS);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[2];
    if (argc > 1)
        length = (long long)(atof(argv[1]) * 1000 * MS);
    alarm(4 * (unsigned)(length / (1000 * MS)) + 20);
    long long began = now(CLOCK_THREAD_CPUTIME_ID);
    work(50 * MS);
    rounds_per_ns = 50.0 * MS / (double)(now(CLOCK_THREAD_CPUTIME_ID) - began);
    start = now(CLOCK_MONOTONIC) + 50 * MS;
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, serve, &servers[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
