/*
 * A chain of three threads: sensor -> filter -> actuator, joined by pipes, over two CPUs.
 *
 *     cc -g -O2 -pthread pipeline.c -o pipeline
 *     sudo ./pipeline                 5 seconds
 *     sudo .venv/bin/deadbeat run -- ./pipeline
 *
 * sensor runs every 10 ms; the others run when a sample comes. Each 25th sample takes filter
 * 14 ms instead of 3, so that the next one waits: actuator is late too, though its own work is short.
 * One argument: seconds. Without the right to real-time priorities it runs, and says so.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#define MS 1000000LL
struct sample {
    long long taken, number;
};

static int raw[2], smooth[2]; /* pipes: read end, write end */
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

static void become(const char *name, int priority, int cpu)
{
    struct sched_param param = {.sched_priority = priority};
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(sysconf(_SC_NPROCESSORS_ONLN) > cpu ? cpu : 0, &cpus);
    sched_setaffinity(0, sizeof cpus, &cpus);
    pthread_setname_np(pthread_self(), name);
    if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &param))
        fprintf(stderr, "%s: no right to FIFO %d; it runs as an ordinary thread\n", name, priority);
}

static void put(int pipe, const struct sample *sample)
{
    if (write(pipe, sample, sizeof *sample) != sizeof *sample)
        abort();
}

static void *sensor(void *unused)
{
    become("sensor", 60, 0);
    for (long long k = 0; k < length / (10 * MS); k++) {
        long long release = start + k * 10 * MS;
        struct timespec at = {release / (1000 * MS), release % (1000 * MS)};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
        work(0.5 * MS);
        struct sample sample = {release, k};
        put(raw[1], &sample);
    }
    close(raw[1]);
    return unused;
}

static void *filter(void *unused)
{
    struct sample sample;
    become("filter", 55, 1);
    while (read(raw[0], &sample, sizeof sample) == sizeof sample) {
        work(sample.number % 25 == 24 ? 14 * MS : 3 * MS);
        put(smooth[1], &sample);
    }
    close(smooth[1]);
    return unused;
}

static void *actuator(void *unused)
{
    long long worst = 0, count = 0;
    struct sample sample;
    become("actuator", 50, 0);
    for (; read(smooth[0], &sample, sizeof sample) == sizeof sample; count++) {
        work(0.3 * MS);
        long long age = now(CLOCK_MONOTONIC) - sample.taken;
        worst = age > worst ? age : worst;
    }
    printf("actuator: %lld samples, the oldest was %.1f ms old\n", count, (double)worst / MS);
    return unused;
}

int main(int argc, char **argv)
{
    void *(*const bodies[])(void *) = {sensor, filter, actuator};
    pthread_t threads[3];
    if (argc > 1)
        length = (long long)(atof(argv[1]) * 1000 * MS);
    if (pipe(raw) || pipe(smooth))
        return 1;
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
