/* The threads of a program: looked at in /proc, and followed by the events of their making and end. */
#include "comm.h"
#include "recorder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MOST (1u << 16)
#define SETTLED_NS 20000000
#define BESIDE_PART 100 /* of the time: who has less does not matter */

struct thread {
    uint32_t tid, pid;
    bool ended;
    char comm[17];
    uint32_t policy, priority;
    uint64_t runtime_ns, deadline_ns, period_ns;
    int64_t cpu_ns, cpu_before_ns;
    int call, votes; /* where looks found it asleep most often, by majority vote; -1: nowhere */
    uint64_t begin_ns, sampled_ns;
    uint64_t cpus[CPUS_MOST / 64];
    uintptr_t starts[STARTS];
    unsigned start_count;
};

/* Names of threads that ran, by their numbers; where two share a place, the last one. */
static struct {
    uint32_t tid;
    char comm[16];
} names[1u << 12];

bool seek_starts = true;
static struct thread *threads;
static size_t thread_count, thread_room;

/* All of the machine as recording began: CPU times. */
static struct {
    uint32_t tid;
    int64_t cpu_ns;
} beside[THREADS_MOST];
static size_t beside_count;
static uint64_t beside_ns;

uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

ssize_t text_of(const char *path, char *text, size_t bytes)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return -1;
    size_t length = 0;
    ssize_t n = 0;
    while (length + 1 < bytes && (n = read(file, text + length, bytes - 1 - length)) > 0)
        length += (size_t)n;
    close(file);
    text[length] = 0;
    return n < 0 ? -1 : (ssize_t)length;
}

int write_all(int file, const void *data, size_t bytes)
{
    const char *at = data;
    while (bytes) {
        ssize_t n = write(file, at, bytes);
        if (n < 0 && errno != EINTR)
            return -1;
        at += n > 0 ? n : 0;
        bytes -= n > 0 ? (size_t)n : 0;
    }
    return 0;
}

int fail(const char *what)
{
    printf("failed %s: %s\n", what, strerror(errno));
    fflush(stdout);
    return 1;
}

static struct thread *thread_of(uint32_t tid)
{
    for (size_t i = thread_count; i-- > 0;)
        if (threads[i].tid == tid && !threads[i].ended)
            return &threads[i];
    return NULL;
}

static struct thread *new_thread(uint32_t tid, uint32_t pid, uint64_t ns)
{
    if (thread_count == thread_room) {
        size_t room = thread_room ? thread_room * 2 : 64;
        void *more = room <= THREADS_MOST ? realloc(threads, room * sizeof *threads) : NULL;
        if (!more)
            return NULL;
        threads = more;
        thread_room = room;
    }
    struct thread *made = &threads[thread_count++];
    *made = (struct thread){.tid = tid, .pid = pid, .cpu_ns = -1, .call = -1, .begin_ns = ns};
    return made;
}

uint32_t process_of(uint32_t tid)
{
    const struct thread *found = thread_of(tid);
    return found ? found->pid : 0;
}

void know_process(uint32_t pid)
{
    new_thread(pid, pid, now_ns());
}

/* Where it waits, and once it had time to get there, where it began: if its name does not say it. */
static void look_into(struct thread *thread)
{
    char path[64], text[256];
    int call;
    snprintf(path, sizeof path, "/proc/%u/task/%u/syscall", thread->pid, thread->tid);
    if (text_of(path, text, sizeof text) <= 0 || sscanf(text, "%d", &call) != 1)
        return; /* it runs */
    if (call >= 0) {
        if (thread->votes == 0)
            thread->call = call;
        thread->votes += thread->call == call ? 1 : -1;
    }
    const struct thread *main = thread->start_count ? NULL : thread_of(thread->pid);
    if (!seek_starts || !main || main == thread || strcmp(main->comm, thread->comm) != 0 ||
        thread->begin_ns + SETTLED_NS > now_ns())
        return;
    const char *last = strrchr(text, ' ');
    while (last > text && *--last != ' ')
        ;
    if (last)
        thread->start_count =
            find_starts(thread->pid, thread->tid, (uintptr_t)strtoull(last, NULL, 16), thread->starts);
}

/* What the kernel says of a thread now; false where it is gone: what was known stays. */
static bool look_at(struct thread *thread)
{
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime, deadline, period;
    } attr = {.size = sizeof attr};
    char path[64], text[64];
    int64_t cpu_ns;
    snprintf(path, sizeof path, "/proc/%u/task/%u/comm", thread->pid, thread->tid);
    if (text_of(path, text, sizeof text) <= 0)
        return false;
    text[strlen(text) - 1] = 0; /* the kernel's end of the line */
    if (*text)
        snprintf(thread->comm, sizeof thread->comm, "%.16s", text);
    else
        snprintf(thread->comm, sizeof thread->comm, "%u", thread->tid);
    uint64_t now = now_ns();
    snprintf(path, sizeof path, "/proc/%u/task/%u/schedstat", thread->pid, thread->tid);
    if (text_of(path, text, sizeof text) > 0 && sscanf(text, "%" SCNd64, &cpu_ns) == 1) {
        thread->cpu_ns = cpu_ns;
        thread->sampled_ns = now;
    }
    if (syscall(SYS_sched_getattr, thread->tid, &attr, sizeof attr, 0) == 0 &&
        (attr.policy != 6 || attr.runtime != 0)) { /* those of a thread that has ended are 0 */
        thread->policy = attr.policy;
        thread->priority = attr.priority;
        bool deadline = attr.policy == 6; /* of others runtime is the slice */
        thread->runtime_ns = deadline ? attr.runtime : 0;
        thread->deadline_ns = deadline ? attr.deadline : 0;
        thread->period_ns = deadline ? attr.period : 0;
    }
    look_into(thread);
    uint64_t cpus[CPUS_MOST / 64] = {0};
    if (syscall(SYS_sched_getaffinity, thread->tid, sizeof cpus, cpus) > 0)
        memcpy(thread->cpus, cpus, sizeof cpus);
    return true;
}

/* Finds the threads of a process, and the processes that these made. */
static void find_threads(uint32_t pid)
{
    char path[64], text[TEXT_BYTES];
    snprintf(path, sizeof path, "/proc/%u/task", pid);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        uint32_t tid = (uint32_t)strtoul(entry->d_name, NULL, 10);
        if (!tid)
            continue;
        struct thread *thread = thread_of(tid);
        if (!thread)
            new_thread(tid, pid, now_ns());
        else
            thread->pid = pid;
        snprintf(path, sizeof path, "/proc/%u/task/%u/children", pid, tid);
        char *at = text, *end;
        if (text_of(path, text, sizeof text) > 0)
            for (uint32_t child; (child = (uint32_t)strtoul(at, &end, 10)) != 0; at = end)
                if (child != (uint32_t)getpid() && child != (uint32_t)getppid() && !thread_of(child))
                    new_thread(child, child, now_ns());
    }
    if (folder)
        closedir(folder);
}

void look_at_threads(void)
{
    for (size_t i = 0; i < thread_count; i++) /* also over those that are found meanwhile */
        if (!threads[i].ended && threads[i].tid == threads[i].pid)
            find_threads(threads[i].pid);
    for (size_t i = 0; i < thread_count; i++)
        if (!threads[i].ended)
            (void)look_at(&threads[i]);
}

void forget_threads(uint64_t since)
{
    size_t left = 0;
    for (size_t i = 0; i < thread_count; i++)
        if (!threads[i].sampled_ns || threads[i].sampled_ns >= since)
            threads[left++] = threads[i];
    thread_count = left;
}

/* Of a thread with no event of its end: whether it is gone, waited for or not. */
static bool is_gone(const struct thread *thread)
{
    char path[64], text[TEXT_BYTES];
    snprintf(path, sizeof path, "/proc/%u/stat", thread->tid);
    const char *at = text_of(path, text, sizeof text) > 0 ? strrchr(text, ')') : NULL;
    return !at || (at[1] == ' ' && (at[2] == 'Z' || at[2] == 'X'));
}

bool all_ended(void)
{
    for (size_t i = 0; i < thread_count; i++)
        if (!threads[i].ended && !is_gone(&threads[i]))
            return false;
    return thread_count > 0;
}

void follow(const struct record *record)
{
    forget_home(record->kind == FORK ? (uint32_t)record->a : record->tid);
    if (record->kind == FORK) {
        uint32_t tid = (uint32_t)record->a;
        const struct thread *found = thread_of(record->tid);
        struct thread parent = found ? *found : (struct thread){.pid = tid};
        struct thread *child = thread_of(tid);
        if (!child)
            child = new_thread(tid, parent.pid, record->ns);
        if (!child)
            return;
        char status[TEXT_BYTES], path[64];
        snprintf(path, sizeof path, "/proc/%u/status", tid);
        const char *at = text_of(path, status, sizeof status) > 0 ? strstr(status, "\nTgid:") : NULL;
        child->begin_ns = record->ns;
        if (at)
            child->pid = (uint32_t)strtoul(at + 6, NULL, 10);
        if (!look_at(child) && !child->sampled_ns) { /* inherited */
            memcpy(child->comm, parent.comm, sizeof child->comm);
            memcpy(child->cpus, parent.cpus, sizeof child->cpus);
            child->policy = parent.policy;
            child->priority = parent.priority;
        }
    }
    struct thread *thread = thread_of(record->tid);
    if (!thread)
        return;
    if (record->kind == EXEC) {
        thread->pid = record->tid;
        forget_code(thread->pid);
    }
    if (record->kind == END) {
        if (!look_at(thread)) {
            int64_t prio = record->c;
            memcpy(thread->comm, (const char *)record + offsetof(struct record, a), 16); /* and b */
            if (!thread->sampled_ns && prio < 100) {
                thread->policy = prio < 0 ? 6 : 1;
                thread->priority = prio < 0 ? 0 : (uint32_t)(99 - prio);
            }
        }
        thread->ended = true;
    }
}

/* Calls that are waits: of most an event is asked, where the kernel has one. */
#define NAMED(name) {SYS_##name, #name}
static const struct {
    int number;
    const char *name;
} CALLS[] = {
    NAMED(clock_nanosleep),
    NAMED(futex),
    NAMED(read),
    NAMED(recvfrom),
    NAMED(recvmsg),
    NAMED(ioctl),
    NAMED(epoll_pwait),
    NAMED(ppoll),
    NAMED(pselect6),
    NAMED(rt_sigtimedwait),
    NAMED(nanosleep),
#ifdef SYS_poll
    NAMED(poll),
    NAMED(epoll_wait),
    NAMED(select),
    NAMED(pause),
#endif
    NAMED(accept),
    NAMED(accept4),
    NAMED(connect),
    NAMED(fcntl),
    NAMED(fdatasync),
    NAMED(flock),
    NAMED(fsync),
    NAMED(msgsnd),
    NAMED(pread64),
    NAMED(preadv),
    NAMED(readv),
    NAMED(restart_syscall),
    NAMED(semop),
    NAMED(sendmsg),
    NAMED(sendto),
    NAMED(splice),
    NAMED(waitid),
    NAMED(writev),
#ifdef SYS_accept
    NAMED(accept),
#endif
#ifdef SYS_msgsnd
    NAMED(msgsnd),
#endif
#ifdef SYS_semop
    NAMED(semop),
#endif
#ifdef SYS_wait4
    NAMED(wait4),
#endif
#ifdef SYS_futex_waitv
    NAMED(futex_waitv),
#endif
};

static void say_call(int number)
{
    for (unsigned i = 0; i < sizeof CALLS / sizeof *CALLS; i++)
        if (CALLS[i].number == number)
            printf("call %d %s\n", number, CALLS[i].name);
}

static void say_thread(const char *word, const struct thread *t)
{
    char text[COMM_TEXT];
    printf("%s %u %u %u %u %d %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRId64 " %" PRIu64 " %" PRIu64 " ", word,
           t->tid, t->pid, t->policy, t->priority, t->call, t->runtime_ns, t->deadline_ns, t->period_ns,
           t->cpu_ns < 0 ? -1 : t->cpu_ns - t->cpu_before_ns, t->sampled_ns, t->begin_ns);
    const char *comma = "";
    for (unsigned cpu = 0; cpu < CPUS_MOST; cpu++)
        if (t->cpus[cpu / 64] >> cpu % 64 & 1) {
            printf("%s%u", comma, cpu);
            comma = ",";
        }
    comm_text(text, t->comm, sizeof t->comm);
    printf("%s %s\n", *comma ? "" : "-", text);
}

void say_threads(void)
{
    for (size_t i = 0; i < thread_count; i++) {
        const struct thread *t = &threads[i];
        if (!*t->comm)
            continue;
        say_call(t->call);
        say_thread("thread", t);
        for (unsigned n = 0; n < t->start_count; n++)
            printf("start %u %" PRIxPTR "\n", t->tid, t->starts[n]);
    }
    say_code();
}

/* Whether it is us, or what began us. */
static bool is_ancestor(uint32_t pid)
{
    char path[64], text[TEXT_BYTES];
    unsigned up = (unsigned)getpid();
    for (const char *at; up > 1 && up != pid;) {
        snprintf(path, sizeof path, "/proc/%u/stat", up);
        at = text_of(path, text, sizeof text) > 0 ? strrchr(text, ')') : NULL;
        if (!at || sscanf(at, ") %*c %u", &up) != 1)
            return false;
    }
    return up == pid;
}

/* A thread of another program: what it has had until now, or has had since. */
static void look_beside(uint32_t pid, uint32_t tid, bool begins)
{
    char path[64], text[64];
    int64_t cpu_ns;
    snprintf(path, sizeof path, "/proc/%u/task/%u/schedstat", pid, tid);
    if (text_of(path, text, sizeof text) <= 0 || sscanf(text, "%" SCNd64, &cpu_ns) != 1)
        return;
    if (begins) {
        if (beside_count < THREADS_MOST) {
            beside[beside_count].tid = tid;
            beside[beside_count++].cpu_ns = cpu_ns;
        }
        return;
    }
    struct thread found = {.tid = tid, .pid = pid, .cpu_ns = cpu_ns, .call = -1, .begin_ns = beside_ns};
    for (size_t i = 0; i < beside_count; i++)
        if (beside[i].tid == tid && beside[i].cpu_ns <= cpu_ns)
            found.cpu_before_ns = beside[i].cpu_ns;
    if ((cpu_ns - found.cpu_before_ns) * BESIDE_PART >= (int64_t)(now_ns() - beside_ns) && !thread_of(tid) &&
        !is_ancestor(pid) && look_at(&found))
        say_thread("beside", &found);
}

void look_around(bool begins)
{
    static char path[300];
    if (begins)
        beside_ns = now_ns();
    DIR *all = opendir("/proc");
    for (struct dirent *process; all && (process = readdir(all));) {
        uint32_t pid = (uint32_t)strtoul(process->d_name, NULL, 10);
        snprintf(path, sizeof path, "/proc/%u/task", pid);
        DIR *folder = pid ? opendir(path) : NULL;
        for (struct dirent *entry; folder && (entry = readdir(folder));) {
            uint32_t tid = (uint32_t)strtoul(entry->d_name, NULL, 10);
            if (tid)
                look_beside(pid, tid, begins);
        }
        if (folder)
            closedir(folder);
    }
    if (all)
        closedir(all);
}

void say_present(bool count_from_now)
{
    look_at_threads();
    printf("threads %" PRIu64, now_ns());
    for (size_t i = 0; i < thread_count; i++)
        if (!threads[i].ended && threads[i].sampled_ns) {
            printf(" %u", threads[i].tid);
            if (count_from_now)
                threads[i].cpu_before_ns = threads[i].cpu_ns;
        }
    puts("");
    fflush(stdout);
}

void name_of(uint32_t tid, const char *comm)
{
    names[tid % (sizeof names / sizeof *names)].tid = tid;
    memcpy(names[tid % (sizeof names / sizeof *names)].comm, comm, sizeof names->comm);
}

void say_names(void)
{
    char text[COMM_TEXT];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].tid) {
            comm_text(text, names[i].comm, sizeof names[i].comm);
            printf("name %u %s\n", names[i].tid, text);
        }
}
