/* Processes on Linux. */
#include "deadbeat/port.h"

#include "linux.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int port_fork(void)
{
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid == 0)
        port_die_with(parent);
    return pid;
}

_Noreturn void port_exit(int status)
{
    _exit(status);
}

void port_kill(int pid)
{
    kill(pid, SIGKILL);
}

/* Reaping removes the child's /proc entries, and the kernel (d_invalidate) spins while somebody
 * still holds one of them. At a real-time priority it would keep that somebody, a kernel worker that
 * closes a file of the child, from ever running on this CPU: seen to last for seconds. */
int port_reap(int pid)
{
    struct policy own = {0}, ordinary = {.size = sizeof ordinary, .policy = SCHED_OTHER};
    int status = 0, result;
    bool lowered = policy_get(0, &own) == 0 && own.policy != SCHED_OTHER;
    ordinary.flags = own.flags & RESET_ON_FORK; /* not everybody may drop that */
    if (lowered)
        (void)policy_set(0, &ordinary);
    do
        result = waitpid(pid, &status, 0);
    while (result < 0 && errno == EINTR);
    if (lowered)
        (void)policy_set(0, &own);
    if (result < 0)
        return -1;
    return WIFSIGNALED(status) ? 256 + WTERMSIG(status) : WEXITSTATUS(status);
}

static atomic_uint *watched_word;
static unsigned watched_amount;

static void on_child(int signal_number)
{
    int saved = errno;
    (void)signal_number;
    if (watched_word) {
        atomic_fetch_add(watched_word, watched_amount);
        port_wake(watched_word);
    }
    errno = saved;
}

void port_watch_children(atomic_uint *word, unsigned amount)
{
    struct sigaction action = {.sa_handler = word ? on_child : SIG_DFL, .sa_flags = SA_NOCLDSTOP};
    watched_word = word;
    watched_amount = amount;
    sigemptyset(&action.sa_mask);
    sigaction(SIGCHLD, &action, NULL);
}

/* --- what stood still ------------------------------------------------------------------------------ */

/* Longer than the two clocks are read apart. */
#define SUSPENDED_NS 10000000

/* Shared by all processes that are forked after it is made. A stopped process runs its handler when it
 * goes on (SIGCONT), whoever stopped it; one that is frozen, or whose machine is paused, gets no signal. */
struct stops {
    atomic_uint continued;
    _Atomic int64_t last_ns, gap_ns;
    int64_t begun_ns, suspended_ns;
};

/* Of the process that only sleeps: its pause, and how much longer that may take without waiting for a CPU.
 * A CPU that a busy host takes away for a moment comes back sooner. */
#define PAUSE_NS 250000000
#define GAP_NS 500000000

static struct stops *stops;

static int64_t suspended_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec - port_now_ns();
}

void note_continued(void)
{
    if (!stops)
        return;
    atomic_store(&stops->last_ns, port_now_ns());
    atomic_fetch_add(&stops->continued, 1);
}

static void on_continued(int signal_number)
{
    (void)signal_number;
    note_continued();
}

/* How long the caller has waited for a CPU in its life, -1: the kernel does not count that. */
static int64_t waited_ns(int schedstat)
{
    char text[96];
    long long waited;
    ssize_t length = pread(schedstat, text, sizeof text - 1, 0);
    text[length > 0 ? length : 0] = 0;
    return sscanf(text, "%*d %lld", &waited) == 1 ? waited : -1;
}

/* Sleeps, and notes when that took long although a CPU was free for it. Of the lowest real-time priority,
 * where it may be: on PREEMPT_RT the timers of others wait for a thread. */
static _Noreturn void watch_gaps(void)
{
    struct policy lowest = {.size = sizeof lowest, .policy = SCHED_FIFO, .priority = 1};
    port_name_thread("db-stops");
    (void)policy_set(0, &lowest);
    for (int file = 0; file < 1024; file++)
        close(file);
    int schedstat = open("/proc/self/schedstat", O_RDONLY | O_CLOEXEC);
    for (int64_t waited = waited_ns(schedstat), due; waited >= 0;) {
        due = port_now_ns() + PAUSE_NS;
        port_sleep_until_ns(due);
        int64_t late = port_now_ns() - due, before = waited;
        waited = waited_ns(schedstat);
        if (waited >= 0 && late - (waited - before) > GAP_NS)
            atomic_store(&stops->gap_ns, late);
    }
    _exit(0);
}

void port_watch_stops(void)
{
    struct sigaction action = {.sa_handler = on_continued, .sa_flags = SA_RESTART};
    if (!stops && (stops = port_map(sizeof *stops, 1)) && port_fork() == 0)
        watch_gaps();
    if (!stops)
        return;
    atomic_store(&stops->continued, 0);
    atomic_store(&stops->gap_ns, 0);
    stops->begun_ns = port_now_ns();
    stops->suspended_ns = suspended_ns();
    sigemptyset(&action.sa_mask);
    sigaction(SIGCONT, &action, NULL);
}

int port_stood(char *why, size_t bytes)
{
    int64_t slept = stops ? suspended_ns() - stops->suspended_ns : 0;
    if (slept > SUSPENDED_NS)
        snprintf(why, bytes, "the machine was suspended for %.1f s: no figure of it is the machine's",
                 (double)slept / 1e9);
    else if (stops && atomic_load(&stops->gap_ns))
        snprintf(why, bytes,
                 "it did not run for %.1f s (stopped, frozen, or its machine paused): no figure of it is the"
                 " machine's",
                 (double)atomic_load(&stops->gap_ns) / 1e9);
    else if (stops && atomic_load(&stops->continued))
        snprintf(why, bytes,
                 "it was stopped (SIGCONT came %.1f s after its start): no figure of it is the machine's",
                 (double)(atomic_load(&stops->last_ns) - stops->begun_ns) / 1e9);
    else
        return 0;
    return 1;
}

void port_lead_group(void)
{
    setpgid(0, 0);
}

void port_kill_group(int pid)
{
    kill(-pid, SIGKILL);
    kill(pid, SIGKILL);
}

void port_allow_files(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit); /* refused: who runs out of them says so */
}

static atomic_uint *asked_word;
static int asked_pid;

static void on_end_asked(int signal_number)
{
    int saved = errno;
    if (asked_word) {
        atomic_store(asked_word, 1);
        port_wake(asked_word);
    }
    if (asked_pid > 0)
        kill(asked_pid, signal_number);
    errno = saved;
}

void port_on_end_asked(atomic_uint *word, int pid)
{
    struct sigaction action = {.sa_handler = word || pid ? on_end_asked : SIG_DFL, .sa_flags = SA_RESTART};
    asked_word = word;
    asked_pid = pid;
    sigemptyset(&action.sa_mask);
    sigaction(SIGTERM, &action, NULL);
}

void port_await_input_end(void)
{
    char bytes[1024];
    ssize_t length;
    do
        length = read(STDIN_FILENO, bytes, sizeof bytes);
    while (length > 0 || (length < 0 && errno == EINTR));
}

int port_control_open(const char *path, int *handle)
{
    *handle = open(path, O_WRONLY | O_CLOEXEC);
    return *handle < 0 ? errno : 0;
}

void port_control_write(int handle, const char *text)
{
    ssize_t done = write(handle, text, strlen(text));
    (void)done; /* there is nobody to tell, and no time to */
}

/* Documentation/power/pm_qos_interface.rst: held while the file is open. */
int port_hold_wake_up_latency(void)
{
    const int32_t none_us = 0;
    int fd = open("/dev/cpu_dma_latency", O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return errno;
    return write(fd, &none_us, sizeof none_us) == sizeof none_us ? 0 : errno;
}

/* The default action of SIGALRM ends the process; the kernel's timer sends it, no thread of ours. On
 * PREEMPT_RT such a timer expires in a soft interrupt, a thread of low priority: a process that keeps
 * its CPU from others may keep it from that one too (kernel/time/hrtimer.c, HRTIMER_MODE_HARD). */
int port_die_after(int64_t ns)
{
    struct itimerval at = {.it_value = {.tv_sec = ns / 1000000000, .tv_usec = ns % 1000000000 / 1000}};
    signal(SIGALRM, SIG_DFL);
    return setitimer(ITIMER_REAL, &at, NULL) == 0 ? 0 : errno;
}

void port_die_with(int parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* it died before the line above */
        _exit(1);
}

int port_parent(void)
{
    return getppid();
}

int port_private_ipc(void)
{
    return unshare(CLONE_NEWIPC) == 0 ? 0 : errno;
}

/* An abstract socket name: one per machine (network namespace), needs no writable folder and no
 * clean-up, and is free again when the last process that inherited it is dead. */
static socklen_t lock_address(struct sockaddr_un *address)
{
    static const char name[] = "deadbeat-machine-lock";
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    memcpy(address->sun_path + 1, name, sizeof name - 1);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + sizeof name);
}

static int lock_holder(const struct sockaddr_un *address, socklen_t length)
{
    struct ucred peer = {0};
    socklen_t size = sizeof peer;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return 0;
    if (connect(fd, (const struct sockaddr *)address, length) != 0 ||
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
        peer.pid = 0;
    close(fd);
    return peer.pid;
}

int port_machine_lock(int64_t wait_ns, int *holder)
{
    struct sockaddr_un address;
    socklen_t length = lock_address(&address);
    int64_t until = port_now_ns() + wait_ns;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return errno;
    while (bind(fd, (struct sockaddr *)&address, length) != 0) {
        int error = errno;
        if (error != EADDRINUSE || port_now_ns() >= until) {
            *holder = lock_holder(&address, length);
            close(fd);
            return error == EADDRINUSE ? EBUSY : error;
        }
        port_sleep_until_ns(port_now_ns() + 100000000);
    }
    return listen(fd, 8) == 0 ? 0 : errno;
}
