/* Every 15th job is longer than its period: one thread then skips releases, the other catches up. */
#include "truth.h"

static int64_t work_of(int64_t k)
{
    return k % 15 == 14 ? 23 * MS : 2 * MS;
}

static void *skipper(void *unused)
{
    struct task *task = be_task("skipper", "periodic", 10 * MS, 50, 0);
    int64_t release = start_ns;
    for (int64_t k = 0; release < start_ns + length_ns; k++) {
        until(release);
        job_begins(task);
        work(work_of(k));
        for (release += task->period; release < now_ns(); release += task->period)
            task->skipped++;
        job_ends(task);
    }
    until(release);
    task_ends(task);
    return unused;
}

static void *catcher(void *unused)
{
    struct task *task = be_task("catcher", "periodic", 10 * MS, 50, 1);
    int64_t release = start_ns;
    for (int64_t k = 0; release < start_ns + length_ns; k++, release += task->period) {
        until(release);
        job_begins(task);
        work(work_of(k));
        job_ends(task);
    }
    until(release);
    task_ends(task);
    return unused;
}

MAIN(skipper, catcher)
