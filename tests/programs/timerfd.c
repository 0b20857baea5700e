/* A timerfd behind epoll. */
#include "truth.h"

#include <sys/epoll.h>
#include <sys/timerfd.h>

static void *poller(void *unused)
{
    struct task *task = be_task("poller", "periodic", 8 * MS, 50, 1);
    struct itimerspec every = {spec_of(task->period), spec_of(start_ns)};
    struct epoll_event event = {.events = EPOLLIN};
    int timer = timerfd_create(CLOCK_MONOTONIC, 0), set = epoll_create1(0);
    uint64_t expired = 0;
    if (timer < 0 || set < 0 || epoll_ctl(set, EPOLL_CTL_ADD, timer, &event))
        abort();
    timerfd_settime(timer, TFD_TIMER_ABSTIME, &every, NULL);
    for (int64_t k = 0; k < length_ns / task->period; k += (int64_t)expired) {
        while (epoll_wait(set, &event, 1, -1) != 1)
            ;
        job_begins(task);
        if (read(timer, &expired, sizeof expired) != sizeof expired)
            abort();
        task->skipped += (long)expired - 1;
        work(1200 * US);
        job_ends(task);
    }
    epoll_wait(set, &event, 1, -1);
    task_ends(task);
    return unused;
}

MAIN(poller)
