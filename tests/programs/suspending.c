/* Waits for a device, as it were, in the middle of each job. */
#include "truth.h"

static void *requester(void *unused)
{
    struct task *task = be_task("requester", "periodic", 20 * MS, 50, 1);
    int64_t release = start_ns;
    for (; release < start_ns + length_ns; release += task->period) {
        until(release);
        job_begins(task);
        work(MS);
        suspend(task, 3 * MS);
        work(2 * MS);
        job_ends(task);
    }
    until(release);
    task_ends(task);
    return unused;
}

MAIN(requester)
