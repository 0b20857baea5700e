/*
 * A busy neighbour for benchmarks: on and off for exponential times of one mean, so half of the time
 * each. While on it takes its CPU from every task for 50 us of each 200 us, as a busy hyper-thread
 * sibling of another tenant does (research: 20 to 29 %), as `stall` all of it, as a host that takes the
 * CPU away, or, as an ordinary process, computes.
 *
 *   neighbour CPU MEAN_MS fifo|stall|other SECONDS SEED
 *
 * It ends by itself after SECONDS, and with its parent.
 */
#define _GNU_SOURCE
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define PRIORITY 95
#define TAKEN_NS 50000
#define CYCLE_NS 200000

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void sleep_until(int64_t at)
{
    struct timespec t = {at / 1000000000, at % 1000000000};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

static void spin_until(int64_t at)
{
    while (now_ns() < at)
        ;
}

int main(int count, char **words)
{
    if (count != 6)
        return 2;
    double mean_ns = atof(words[2]) * 1e6;
    int stall = strcmp(words[3], "stall") == 0, fifo = stall || strcmp(words[3], "fifo") == 0;
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(atoi(words[1]), &cpus);
    alarm((unsigned)atoi(words[4]));
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    srand48(atol(words[5]) * 1000 + atoi(words[1]));
    if (sched_setaffinity(0, sizeof cpus, &cpus) != 0)
        return perror("affinity"), 1;
    if (fifo && sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){.sched_priority = PRIORITY}) != 0)
        return perror("SCHED_FIFO"), 1;
    for (int64_t at = now_ns();;) {
        int64_t off = at + (int64_t)(-mean_ns * log(1 - drand48()));
        for (; at < off && (stall || !fifo); at = off)
            spin_until(off);
        for (; at < off; at += CYCLE_NS) {
            sleep_until(at);
            spin_until(at + TAKEN_NS);
        }
        at = off + (int64_t)(-mean_ns * log(1 - drand48()));
        sleep_until(at);
    }
}
