/* SCHED_DEADLINE with sched_yield; where it is refused, an absolute sleep of the same period. */
#include "truth.h"

static void serve(const char *name, int64_t runtime, int64_t usual, int64_t seldom)
{
    struct task *task = be_task(name, "periodic", 20 * MS, 0, 0);
    struct dl_attr attr;
    cpu_set_t all;
    memset(&all, 0xff, sizeof all); /* it may not be bound to less than the root domain */
    sched_setaffinity(0, sizeof all, &all);
    memset(&attr, 0, sizeof attr);
    attr.size = sizeof attr;
    attr.policy = 6;
    attr.runtime = (uint64_t)runtime;
    attr.deadline = 15 * MS;
    attr.period = 20 * MS;
    until(start_ns);
    int got = !syscall(SYS_sched_setattr, 0, &attr, 0);
    for (int64_t k = 0; now_ns() < start_ns + length_ns; k++) {
        got ? (void)sched_yield() : until(start_ns + k * task->period);
        job_begins(task);
        work(k % 5 == 4 ? seldom : usual);
        job_ends(task);
    }
    got ? (void)sched_yield() : until(now_ns() + task->period);
    task_ends(task);
}

static void *server(void *unused)
{
    serve("server", 5 * MS, 2 * MS, 3 * MS);
    return unused;
}

static void *greedy(void *unused) /* each fifth job is throttled, and ends in the next period */
{
    serve("greedy", 2 * MS, MS, 3 * MS);
    return unused;
}

MAIN(server, greedy)
