/* 150 jobs every 2 ms, each with more memory of its own than malloc keeps; says how many page faults the last
 * 100 had, and the slack of its timers in ns. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>

enum { JOBS = 150, USUAL = 50, PERIOD_NS = 2000000, BYTES = 40 << 20, USED = 1 << 18 };

static long faults(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return used.ru_minflt;
}

int main(void)
{
    struct timespec next;
    long before = 0;
    clock_gettime(CLOCK_MONOTONIC, &next);
    for (int job = 0; job < JOBS; job++) {
        if (job == USUAL)
            before = faults();
        next.tv_nsec += PERIOD_NS;
        next.tv_sec += next.tv_nsec / 1000000000;
        next.tv_nsec %= 1000000000;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
        char *mine = malloc(BYTES);
        memset(mine, job, USED);
        __asm__ volatile("" : : "r"(mine) : "memory");
        free(mine);
    }
    printf("faults %ld slack %d\n", faults() - before, prctl(PR_GET_TIMERSLACK));
}
