/* Periodic threads by the command line, NAME:PERIOD_MS:WORK_US:FIFO_PRIORITY:CPU each (priority 0: ordinary;
 * CPU -1: 0 and 1), for so many seconds; each says its jobs and misses. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

struct load {
    char name[16];
    long period_ms, work_us, jobs, misses, worst_ns;
    int priority, cpu;
    pthread_t thread;
};

static double seconds;
static long begin;

static long now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}

static void *run(void *argument)
{
    struct load *my = argument;
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    for (int cpu = 0; cpu < 2; cpu++)
        if (my->cpu < 0 || my->cpu == cpu)
            CPU_SET((size_t)cpu, &cpus);
    pthread_setname_np(pthread_self(), my->name);
    pthread_setaffinity_np(pthread_self(), sizeof cpus, &cpus);
    if (my->priority)
        pthread_setschedparam(pthread_self(), SCHED_FIFO, &(struct sched_param){my->priority});
    for (long at = begin; at < begin + (long)(seconds * 1e9); at += my->period_ms * 1000000) {
        struct timespec release = {at / 1000000000, at % 1000000000};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &release, NULL);
        long spent = now(CLOCK_THREAD_CPUTIME_ID);
        while (now(CLOCK_THREAD_CPUTIME_ID) - spent < my->work_us * 1000)
            for (volatile int i = 0; i < 2000; i++)
                ;
        long response = now(CLOCK_MONOTONIC) - at;
        my->jobs++;
        my->misses += response > my->period_ms * 1000000;
        my->worst_ns = response > my->worst_ns ? response : my->worst_ns;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    static struct load loads[16];
    mlockall(MCL_CURRENT | MCL_FUTURE);
    seconds = atof(argv[1]);
    begin = now(CLOCK_MONOTONIC) + 50000000;
    for (int i = 2; i < argc; i++) {
        struct load *my = &loads[i - 2];
        sscanf(argv[i], "%15[^:]:%ld:%ld:%d:%d", my->name, &my->period_ms, &my->work_us, &my->priority,
               &my->cpu);
        pthread_create(&my->thread, NULL, run, my);
    }
    for (int i = 2; i < argc; i++) {
        struct load *my = &loads[i - 2];
        pthread_join(my->thread, NULL);
        printf("%s: %ld jobs, %ld late, worst %.1f ms\n", my->name, my->jobs, my->misses, my->worst_ns / 1e6);
    }
}
