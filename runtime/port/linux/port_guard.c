/* What ends whatever does not end by itself: from above, and without a thread of the kernel's. */
#include "deadbeat/port.h"

#include "linux.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* For ending others; it then pauses, so that not even an endless loop of ours has a CPU for long. */
#define BUDGET_NS 5000000
#define BUDGET_PERIOD_NS 100000000

int policy_get(int pid, struct policy *policy)
{
    return syscall(SYS_sched_getattr, pid, policy, sizeof *policy, 0) == 0 ? 0 : errno;
}

int policy_set(int pid, const struct policy *policy)
{
    return syscall(SYS_sched_setattr, pid, policy, 0) == 0 ? 0 : errno;
}

int port_stand_above(int pid, int priority)
{
    struct policy fixed = {
        .size = sizeof fixed,
        .policy = SCHED_FIFO,
        .flags = RESET_ON_FORK,
        .priority = (uint32_t)priority,
    };
    struct policy deadline = {
        .size = sizeof deadline,
        .policy = SCHED_DEADLINE,
        .flags = RESET_ON_FORK,
        .runtime_ns = BUDGET_NS,
        .deadline_ns = BUDGET_PERIOD_NS,
        .period_ns = BUDGET_PERIOD_NS,
    };
    int error = policy_set(pid, &fixed);
    if (!error)
        (void)policy_set(pid, &deadline); /* refused: it stays above all but its equals */
    return error;
}

int await_any(struct pollfd *watched, nfds_t count, int64_t until_ns)
{
    int64_t left = until_ns - port_now_ns();
    left = left > 0 ? left : 0;
    struct timespec t = {.tv_sec = left / 1000000000, .tv_nsec = left % 1000000000};
    return ppoll(watched, count, until_ns == INT64_MAX ? NULL : &t, NULL);
}

int port_bound_open(struct port_bound *bound)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0 || fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0)
        return errno;
    *bound = (struct port_bound){.told = ends[0], .tell = ends[1], .until_ns = INT64_MAX};
    return 0;
}

void port_bound_set(const struct port_bound *bound, int64_t ns)
{
    int64_t until = ns < 0 ? INT64_MAX : port_now_ns() + ns;
    ssize_t written = write(bound->tell, &until, sizeof until);
    (void)written; /* there is always room: it is read at once */
}

static bool has_passed(struct port_bound *bound)
{
    for (int64_t until; read(bound->told, &until, sizeof until) == (ssize_t)sizeof until;)
        bound->until_ns = until;
    return port_now_ns() >= bound->until_ns;
}

/* It may have been reaped already where whoever started us ignores the ends of children. */
static bool has_ended(int pid)
{
    siginfo_t info = {0};
    int result = waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT);
    return (result < 0 && errno == ECHILD) || info.si_pid == pid;
}

/* By its signal: a pidfd needs Linux 5.3. */
int port_guard(int pid, struct port_bound *bound, int *status)
{
    struct signalfd_siginfo said;
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGCHLD);
    signal(SIGCHLD, SIG_DFL);
    sigprocmask(SIG_BLOCK, &ends, NULL);
    struct pollfd watched[2] = {{.fd = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK), .events = POLLIN},
                                {.fd = bound->told, .events = POLLIN}};
    if (watched[0].fd < 0)
        return errno;
    while (!has_ended(pid) && !has_passed(bound)) {
        await_any(watched, 2, bound->until_ns);
        while (read(watched[0].fd, &said, sizeof said) > 0)
            ;
    }
    close(watched[0].fd);
    if (!has_ended(pid))
        return ETIMEDOUT;
    *status = port_reap(pid);
    return 0;
}
