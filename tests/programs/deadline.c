/* SCHED_DEADLINE with sched_yield; where it is refused, an absolute sleep of the same period. */
#include "truth.h"

static void *server(void *unused)
{
    struct task *task = be_task("server", "periodic", 20 * MS, 0, 0);
    struct dl_attr attr;
    cpu_set_t all;
    memset(&all, 0xff, sizeof all); /* it may not be bound to less than the root domain */
    sched_setaffinity(0, sizeof all, &all);
    memset(&attr, 0, sizeof attr);
    attr.size = sizeof attr;
    attr.policy = 6;
    attr.runtime = 5 * MS;
    attr.deadline = 15 * MS;
    attr.period = 20 * MS;
    until(start_ns);
    int got = !syscall(SYS_sched_setattr, 0, &attr, 0);
    for (int64_t k = 0; k < length_ns / task->period; k++) {
        got ? (void)sched_yield() : until(start_ns + k * task->period);
        job_begins(task);
        work(k % 3 ? 2 * MS : 3 * MS);
        job_ends(task);
    }
    got ? (void)sched_yield() : until(start_ns + length_ns);
    task_ends(task);
    return unused;
}

int main(int argc, char **argv)
{
    setup(argc, argv);
    run_threads(1, (void *(*const[])(void *)){server});
    return print_truth();
}
