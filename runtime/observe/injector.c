/* A loop with jobs that are late: what observes it has to find these, and no others (doctor --prove).
 *
 * 500 jobs, 2 ms apart; each 50th computes for 5 ms, the others for 0.1 ms. A line for each job: its number,
 * and from its release until its end by this program's clock, ns.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>

enum { JOBS = 500, EACH = 50, PERIOD_NS = 2000000, USUAL_NS = 100000, LATE_NS = 5000000 };

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

int main(void)
{
    static int64_t took[JOBS];
    mlockall(MCL_CURRENT | MCL_FUTURE);
    prctl(PR_SET_NAME, "injected");
    sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){.sched_priority = 80});
    int64_t release = now_ns() + 10 * PERIOD_NS;
    for (int job = 0; job <= JOBS; job++) { /* after the last one it sleeps once more */
        struct timespec at = {release / 1000000000, release % 1000000000};
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
            ;
        if (job == JOBS)
            break;
        for (int64_t end = now_ns() + (job % EACH == EACH - 1 ? LATE_NS : USUAL_NS); now_ns() < end;)
            ;
        took[job] = now_ns() - release;
        release += PERIOD_NS;
    }
    for (int job = 0; job < JOBS; job++)
        printf("%d %lld\n", job, (long long)took[job]);
    return 0;
}
