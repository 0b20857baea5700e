/* One lock, two sections: 500 us at one line, 50 us at another; and a second user of the lock. */
#include "truth.h"

static pthread_mutex_t state_lock;

static void *writer(void *unused)
{
    struct task *task = be_task("writer", "periodic", 10 * MS, 50, 0);
    int64_t release = start_ns;
    for (; release < start_ns + length_ns; release += task->period) {
        until(release);
        job_begins(task);
        LOCKED(task, state_lock, 500 * US);
        work(400 * US);
        LOCKED(task, state_lock, 50 * US);
        job_ends(task);
    }
    until(release);
    task_ends(task);
    return unused;
}

static void *reader(void *unused)
{
    struct task *task = be_task("reader", "periodic", 40 * MS, 45, 1);
    int64_t release = start_ns;
    for (; release < start_ns + length_ns; release += task->period) {
        until(release);
        job_begins(task);
        work(2 * MS);
        LOCKED(task, state_lock, 100 * US);
        job_ends(task);
    }
    until(release);
    task_ends(task);
    return unused;
}

int main(int argc, char **argv)
{
    setup(argc, argv);
    inheriting(&state_lock);
    run_threads(2, (void *(*const[])(void *)){writer, reader});
    return print_truth();
}
