/* Works, then sleeps: no grid. */
#include "truth.h"

static void *worker(void *unused)
{
    struct task *task = be_task("worker", "relative", 0, 50, 0);
    struct timespec pause = spec_of(8 * MS);
    until(start_ns);
    for (long k = 0; now_ns() < start_ns + length_ns; k++) {
        released(task, now_ns() + 8 * MS);
        clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
        job_begins(task);
        work(k % 4 ? 1500 * US : 2500 * US);
        job_ends(task);
    }
    clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
    task_ends(task);
    return unused;
}

MAIN(worker)
