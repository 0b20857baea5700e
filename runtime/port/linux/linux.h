/* Shared by the files of this port. */
#ifndef DEADBEAT_PORT_LINUX_H
#define DEADBEAT_PORT_LINUX_H

#include <poll.h>
#include <stdint.h>

/* What is started is ordinary: SCHED_FLAG_RESET_ON_FORK, which not all headers have. */
#define RESET_ON_FORK 1

/* A scheduling policy with all its parameters, as sched_setattr(2) takes it. */
struct policy {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime_ns, deadline_ns, period_ns;
};

/* Of the process `pid`, 0: the caller. */
int policy_get(int pid, struct policy *policy);
int policy_set(int pid, const struct policy *policy);

/* A process that was stopped goes on. */
void note_continued(void);

/* Until one of them has something, or it is `until_ns` by port_now_ns() (INT64_MAX: without end).
 * Returns as poll(). The timer of whoever has a real-time policy expires in hard interrupt context on
 * PREEMPT_RT too, as the timers of all sleepers of such policies do and no timerfd, itimer or POSIX timer
 * does (kernel/time/hrtimer.c, __hrtimer_setup_sleeper): no thread has to run for it. */
int await_any(struct pollfd *watched, nfds_t count, int64_t until_ns);

#endif
