/* A POSIX timer behind sigwait. */
#include "truth.h"

static void *handler(void *unused)
{
    struct task *task = be_task("handler", "periodic", 10 * MS, 50, 1);
    struct itimerspec every = {spec_of(task->period), spec_of(start_ns)};
    struct sigevent event;
    timer_t timer;
    sigset_t set;
    int signal;
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGRTMIN;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    if (timer_create(CLOCK_MONOTONIC, &event, &timer))
        abort();
    timer_settime(timer, TIMER_ABSTIME, &every, NULL);
    for (int64_t k = 0; k < length_ns / task->period; k++) {
        sigwait(&set, &signal);
        job_begins(task);
        int lost = timer_getoverrun(timer);
        task->skipped += lost;
        k += lost;
        work(1800 * US);
        job_ends(task);
    }
    sigwait(&set, &signal);
    timer_delete(timer);
    task_ends(task);
    return unused;
}

int main(int argc, char **argv)
{
    sigset_t set;
    setup(argc, argv);
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    run_threads(1, (void *(*const[])(void *)){handler});
    return print_truth();
}
