/*
 * A control loop that misses deadlines though it has the highest priority: priority inversion.
 *
 *     cc -g -O2 -pthread inverted.c -o inverted
 *     sudo ./inverted                 5 seconds; some jobs of control are late
 *     sudo ./inverted --inherit       the same with a mutex that hands priority on: far fewer are
 *     sudo .venv/bin/deadbeat run -- ./inverted
 *
 * logger, an ordinary thread, holds map_lock when middle (FIFO 40) becomes ready and takes the CPU.
 * control (FIFO 80) then waits for logger, and so for middle, which never uses the lock.
 * Arguments: --inherit, seconds. Without the right to real-time priorities it runs, and says so.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#define MS 1000000LL
static pthread_mutex_t map_lock;
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

static void become(const char *name, int priority)
{
    struct sched_param param = {.sched_priority = priority};
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(sysconf(_SC_NPROCESSORS_ONLN) > 1, &cpus); /* all on the second CPU, if there is one */
    sched_setaffinity(0, sizeof cpus, &cpus);
    pthread_setname_np(pthread_self(), name);
    if (priority && pthread_setschedparam(pthread_self(), SCHED_FIFO, &param))
        fprintf(stderr, "%s: no right to FIFO %d; it runs as an ordinary thread\n", name, priority);
}

static void *control(void *unused)
{
    long long period = 5 * MS, worst = 0, jobs = 0, missed = 0;
    become("control", 80);
    for (long long release = start; release < start + length; release += period, jobs++) {
        until(release);
        work(0.4 * MS);
        pthread_mutex_lock(&map_lock);
        work(0.1 * MS);
        pthread_mutex_unlock(&map_lock);
        long long response = now(CLOCK_MONOTONIC) - release;
        worst = response > worst ? response : worst;
        missed += response > period;
    }
    printf("control: %lld of %lld jobs late, worst response %.1f ms\n", missed, jobs, (double)worst / MS);
    return unused;
}

static void *middle(void *unused)
{
    become("middle", 40);
    for (long long release = start; release < start + length; release += 250 * MS) {
        until(release);
        work(12 * MS);
    }
    return unused;
}

static void *logger(void *unused)
{
    become("logger", 0);
    for (long long release = start + 248 * MS; release < start + length; release += 250 * MS) {
        until(release); /* 2 ms before middle */
        pthread_mutex_lock(&map_lock);
        work(3 * MS);
        pthread_mutex_unlock(&map_lock);
    }
    return unused;
}

int main(int argc, char **argv)
{
    void *(*const bodies[])(void *) = {control, middle, logger};
    pthread_mutexattr_t attr;
    pthread_t threads[3];
    pthread_mutexattr_init(&attr);
    if (argc > 1 && !strcmp(argv[1], "--inherit") && argc--)
        pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT), argv++;
    if (argc > 1)
        length = (long long)(atof(argv[1]) * 1000 * MS);
    pthread_mutex_init(&map_lock, &attr);
    setrlimit(RLIMIT_RTTIME, &(struct rlimit){1000000, 1000000}); /* 1 s without a wait ends it */
    alarm(4 * (unsigned)(length / (1000 * MS)) + 20);
    long long began = now(CLOCK_THREAD_CPUTIME_ID);
    work(50 * MS);
    rounds_per_ns = 50.0 * MS / (double)(now(CLOCK_THREAD_CPUTIME_ID) - began);
    start = now(CLOCK_MONOTONIC) + 50 * MS;
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, bodies[i], NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
