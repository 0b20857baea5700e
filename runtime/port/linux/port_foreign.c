/*
 * Foreign programs on Linux, so that nothing of them can outlive whoever asked for them. The caller
 * watches a keeper, the keeper starts the program. Where namespaces are allowed the keeper is the
 * init of one for processes: the kernel ends all within when it ends, and it ends when the caller
 * does. Elsewhere caller and keeper both adopt what the program leaves behind and end it by hand.
 */
#include "deadbeat/port.h"

#include "linux.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Between being asked to end and being ended. */
#define GRACE_NS INT64_C(2000000000)
/* Real-time threads that do not sleep end so long after the bound without the guard, too. */
#define BACKSTOP_NS INT64_C(3000000000)
/* What still lives after so long cannot be ended: it sleeps in the kernel, or is not ours. */
#define SWEEP_NS INT64_C(10000000000)
#define SWEEP_PAUSE_NS 1000000
/* To a keeper without a namespace: its caller is dead. */
#define SIGNAL_ORPHANED SIGUSR1
/* Statuses of a shell for programs that cannot be started. */
#define NOT_EXECUTABLE 126
#define NOT_FOUND 127

/* --- namespaces --------------------------------------------------------------------------------- */

/* Files of the caller's, named to the program, may lie there. */
static bool names_shared_memory(char **argv)
{
    for (; *argv; argv++)
        if (strstr(*argv, "/dev/shm"))
            return true;
    return false;
}

/* Numbers of processes under /proc must be those that the program knows itself by; and what it shares
 * under /dev/shm, where there is one, goes with it: cyclictest leaves its status there when it is killed. */
static int mount_private(bool shared_memory)
{
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        return errno;
    if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) != 0)
        return errno;
    if (shared_memory)
        (void)mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777");
    return 0;
}

/* Tried in a process of its own: there is no way back. */
static bool namespaces_allowed(void)
{
    int pid = port_fork();
    if (pid == 0) {
        if (unshare(CLONE_NEWPID | CLONE_NEWIPC) != 0)
            _exit(1);
        int inner = fork();
        if (inner == 0)
            _exit(mount_private(false) != 0);
        _exit(inner < 0 || port_reap(inner) != 0);
    }
    return pid > 0 && port_reap(pid) == 0;
}

/* --- descendants without a namespace -------------------------------------------------------------- */

static int parent_of(const char *number)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%.20s/stat", number);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    close(fd);
    text[length > 0 ? length : 0] = '\0';
    const char *after = strrchr(text, ')'); /* a name may hold anything */
    int parent = -1;
    return after && sscanf(after + 1, " %*c %d", &parent) == 1 ? parent : -1;
}

/* As getdents64(2) writes it: not all C libraries have a name for it. */
struct entry {
    uint64_t inode;
    int64_t offset;
    uint16_t length;
    uint8_t type;
    char name[];
};

static void kill_children(void)
{
    alignas(struct entry) char entries[4096];
    int me = getpid(), fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (long n; (n = syscall(SYS_getdents64, fd, entries, sizeof entries)) > 0;)
        for (long at = 0; at < n;) {
            const struct entry *entry = (const void *)(entries + at);
            at += entry->length;
            int pid = atoi(entry->name);
            if (pid > 0 && parent_of(entry->name) == me)
                kill(pid, SIGKILL);
        }
    close(fd);
}

/* Ends all children, and theirs as they become ours; ETIMEDOUT: some cannot be ended. */
static int sweep(void)
{
    for (int64_t until = port_now_ns() + SWEEP_NS; port_now_ns() < until;) {
        int pid;
        while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
            ;
        if (pid < 0 && errno == ECHILD)
            return 0;
        kill_children();
        port_sleep_until_ns(port_now_ns() + SWEEP_PAUSE_NS);
    }
    return ETIMEDOUT;
}

/* What cyclictest shares under its own number, which no other process had until it was reaped; nothing
 * where /dev/shm was the program's own. */
static void remove_shared(int program)
{
    char path[64];
    snprintf(path, sizeof path, "/dev/shm/cyclictest%d", program);
    if (program > 0)
        (void)unlink(path);
}

/* --- the keeper ------------------------------------------------------------------------------------ */

/* Of whoever started the guard. A real-time task has none, and from Linux 6.14 on its children would
 * inherit that: ordinary programs would sleep more exactly than anywhere else. */
static unsigned long timer_slack;

static _Noreturn void become(const struct port_foreign *foreign, int keeper)
{
    char **argv = foreign->argv;
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setpgid(0, 0);
    port_die_with(keeper);
    prctl(PR_SET_TIMERSLACK, timer_slack, 0UL, 0UL, 0UL);
    int null = foreign->until_input_ends ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -1;
    if (null >= 0)
        dup2(null, STDIN_FILENO);
    (void)port_limit_realtime(foreign->bound_ns + BACKSTOP_NS);
    if (foreign->fifo_priority && port_set_policy(DB_POLICY_FIFO, foreign->fifo_priority) != 0) {
        dprintf(STDERR_FILENO, "deadbeat guard: SCHED_FIFO with priority %d was refused\n",
                foreign->fifo_priority);
        _exit(NOT_EXECUTABLE);
    }
    execvp(argv[0], argv);
    int error = errno;
    dprintf(STDERR_FILENO, "deadbeat guard: %s cannot be started: %s\n", argv[0], strerror(error));
    _exit(error == ENOENT ? NOT_FOUND : NOT_EXECUTABLE);
}

static int shell_status(int status)
{
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Reaps whoever ended; true once `program` has. */
static bool program_ended(int program, int *status)
{
    int result;
    bool ended = false;
    for (int pid; (pid = waitpid(-1, &result, WNOHANG | WCONTINUED)) > 0;)
        if (WIFCONTINUED(result)) {
            note_continued();
        } else if (pid == program) {
            *status = shell_status(result);
            ended = true;
        }
    return ended;
}

static int keep(int program, const sigset_t *heard)
{
    int status = 0;
    while (!program_ended(program, &status)) {
        int number = sigwaitinfo(heard, NULL);
        if (number == SIGTERM) {
            kill(-program, SIGTERM);
            kill(program, SIGTERM);
        } else if (number == SIGNAL_ORPHANED) {
            return 128 + SIGKILL;
        }
    }
    return status;
}

/* Each holds the end of a pipe that the other reads: at its death that reads the end of it. Pidfds
 * would need Linux 5.3, and getppid() tells nothing across namespaces. */
struct ties {
    int caller[2], keeper[2];
    int *program; /* its number, once it has one: known to both */
};

static int tie(struct ties *ties)
{
    ties->program =
        mmap(NULL, sizeof *ties->program, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (ties->program == MAP_FAILED)
        return errno;
    return pipe2(ties->caller, O_CLOEXEC) == 0 && pipe2(ties->keeper, O_CLOEXEC) == 0 ? 0 : errno;
}

static _Noreturn void keeper_main(const struct port_foreign *foreign, bool namespaced,
                                  const struct ties *ties)
{
    struct pollfd gone = {.fd = ties->caller[0], .events = POLLIN};
    close(ties->caller[1]);
    close(ties->keeper[0]);
    sigset_t heard;
    sigemptyset(&heard);
    sigaddset(&heard, SIGCHLD);
    sigaddset(&heard, SIGTERM);
    sigaddset(&heard, SIGNAL_ORPHANED);
    sigprocmask(SIG_SETMASK, &heard, NULL);
    setpgid(0, 0); /* keys pressed at a terminal are the caller's to pass on */
    prctl(PR_SET_PDEATHSIG, namespaced ? SIGKILL : SIGNAL_ORPHANED);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (poll(&gone, 1, 0) > 0) /* it died before the lines above */
        _exit(1);
    if (namespaced && mount_private(!names_shared_memory(foreign->argv)) != 0)
        _exit(NOT_EXECUTABLE);
    int keeper = getpid(), program = fork();
    if (program == 0)
        become(foreign, keeper);
    *ties->program = program;
    int status = program < 0 ? NOT_EXECUTABLE : keep(program, &heard);
    if (!namespaced)
        sweep();
    remove_shared(program);
    _exit(status);
}

/* --- the caller ------------------------------------------------------------------------------------ */

enum watched { KEEPER, SIGNALS, INPUT, WATCHED };

static void discard(int fd)
{
    char bytes[1024];
    while (read(fd, bytes, sizeof bytes) < 0 && errno == EINTR)
        ;
}

static bool input_ended(const struct pollfd *input)
{
    char bytes[1024];
    if (input->revents == 0)
        return false;
    ssize_t length = read(input->fd, bytes, sizeof bytes);
    return length == 0 || (length < 0 && errno != EINTR && errno != EAGAIN);
}

/* Until the keeper ends, or the bound or the grace after being asked to end passes: ETIMEDOUT. */
static int watch(struct pollfd *watched, int keeper, int64_t until, bool *asked)
{
    for (;;) {
        if (await_any(watched, WATCHED, until) < 0)
            continue;
        if (watched[KEEPER].revents)
            return 0;
        if (port_now_ns() >= until)
            return ETIMEDOUT;
        bool now = watched[SIGNALS].revents != 0 || input_ended(&watched[INPUT]);
        if (watched[SIGNALS].revents)
            discard(watched[SIGNALS].fd);
        if (now && !*asked) {
            *asked = true;
            watched[INPUT].fd = -1;
            until = port_now_ns() + GRACE_NS;
            kill(keeper, SIGTERM);
        }
    }
}

static int signals_open(void)
{
    sigset_t heard;
    sigemptyset(&heard);
    sigaddset(&heard, SIGTERM);
    sigaddset(&heard, SIGINT);
    sigaddset(&heard, SIGHUP);
    sigprocmask(SIG_BLOCK, &heard, NULL);
    return signalfd(-1, &heard, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Ends the keeper, and with it or by hand whatever it kept. In a namespace the keeper itself has to run
 * for that, and what it ends may have taken every CPU from an ordinary process. */
static void end_keeper(int keeper)
{
    siginfo_t info;
    (void)port_stand_above(keeper, DB_PRIORITY_HIGHEST);
    kill(keeper, SIGKILL);
    while (waitid(P_PID, (id_t)keeper, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR)
        ;
}

int port_run_foreign(const struct port_foreign *foreign, int *status)
{
    bool asked = false, namespaced = namespaces_allowed();
    struct ties ties;
    struct pollfd watched[WATCHED] = {
        [SIGNALS] = {.fd = signals_open(), .events = POLLIN},
        [INPUT] = {.fd = foreign->until_input_ends ? STDIN_FILENO : -1, .events = POLLIN},
    };
    int error = tie(&ties);
    if (error || watched[SIGNALS].fd < 0)
        return error ? error : errno;
    timer_slack = (unsigned long)prctl(PR_GET_TIMERSLACK, 0UL, 0UL, 0UL, 0UL);
    (void)port_stand_above(0, DB_PRIORITY_HIGHEST);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (namespaced && unshare(CLONE_NEWPID | CLONE_NEWIPC) != 0)
        return errno;
    int64_t until = port_now_ns() + foreign->bound_ns;
    int keeper = fork();
    if (keeper == 0)
        keeper_main(foreign, namespaced, &ties);
    if (keeper < 0)
        return errno;
    close(ties.keeper[1]);
    watched[KEEPER] = (struct pollfd){.fd = ties.keeper[0], .events = POLLIN};
    error = watch(watched, keeper, until, &asked);
    if (error)
        end_keeper(keeper);
    int result = error ? 256 + SIGKILL : port_reap(keeper);
    *status = result >= 256 ? 128 + result - 256 : result;
    int left = sweep();
    if (!namespaced || names_shared_memory(foreign->argv))
        remove_shared(*ties.program);
    if (error == ETIMEDOUT && asked)
        error = 0; /* it was asked to end, and did not in its time of grace: killed, as its status says */
    return left ? EBUSY : error;
}
