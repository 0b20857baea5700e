/* Every 10 ms, then every 20 ms, by turns of an eighth of the run. */
#include "truth.h"

static void *governor(void *unused)
{
    struct task *task = be_task("governor", "periodic", 10 * MS, 50, 1);
    int64_t turn = length_ns / 8, release = start_ns;
    task->second_period = 20 * MS;
    while (release < start_ns + length_ns) {
        until(release);
        job_begins(task);
        work(1500 * US);
        job_ends(task);
        release += (release - start_ns) / turn % 2 ? task->second_period : task->period;
    }
    until(release);
    task_ends(task);
    return unused;
}

MAIN(governor)
