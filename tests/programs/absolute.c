/* Two threads with absolute sleeps and a mutex with inheritance. */
#include "truth.h"

static pthread_mutex_t map_lock;

static void *fast(void *unused)
{
    struct task *task = be_task("fast", "periodic", 5 * MS, 60, 0);
    int64_t release = start_ns;
    for (; release < start_ns + length_ns; release += task->period) {
        until(release);
        job_begins(task);
        work(600 * US);
        LOCKED(task, map_lock, 200 * US);
        job_ends(task);
    }
    until(release);
    task_ends(task);
    return unused;
}

static void *slow(void *unused)
{
    struct task *task = be_task("slow", "periodic", 20 * MS, 40, 0);
    int64_t release = start_ns + MS;
    for (; release < start_ns + length_ns; release += task->period) {
        until(release);
        job_begins(task);
        work(2 * MS);
        LOCKED(task, map_lock, MS);
        job_ends(task);
    }
    until(release);
    task_ends(task);
    return unused;
}

int main(int argc, char **argv)
{
    setup(argc, argv);
    inheriting(&map_lock);
    run_threads(2, (void *(*const[])(void *)){fast, slow});
    return print_truth();
}
