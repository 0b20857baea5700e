/*
 * Gives threads of a process and of all that it makes policy, priority and CPUs, from outside, and puts all
 * back (src/deadbeat/program/derive/placer.py).
 *
 *     placer PID NAME=POLICY:PRIORITY:RUNTIME:DEADLINE:PERIOD:CPUS ...
 *
 * Parts may be empty: left as they are. NAME: every thread of this name; NAME#2: the second one that was
 * made;
 * *: every thread that no rule names. It says "begun NS" after its first look, or "gone"; the rest at its
 * end, which comes with that of its input, or a signal: lines of WORD NS TID ERRNO WHAT NAME, where WORD is
 *   set       changed
 *   refused   not changed: ERRNO; said once of a reason
 *   gave-up   the program, or another, changed it MOST times, and keeps it
 *   back      as it was; what a program set itself meanwhile is how it was
 *   stuck     not put back: ERRNO
 *
 * It looks every 2 ms for a second after a thread was new, then every 20 ms, and takes 1 % of a CPU at most.
 * For the first tenth of that second it runs before all others, then behind all real-time threads.
 * A file of each thread stays open: that one cannot be of another thread that got the same number.
 *
 * Two processes do it: one waits for the other, knows what that changed, and puts it back where that is
 * killed; then it says "killed". Each ends with the other.
 */
#include "placer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const uint64_t SOON_NS = 2000000, LATER_NS = 20000000, NEW_NS = 1000000000, FIRST_NS = 100000000;

static struct {
    size_t count;
    struct thread all[THREADS_MOST];
} *shared; /* with the other process */
#define threads (shared->all)
#define count (shared->count)
static struct rule *rules;
static int rule_count;
static char (*lines)[LINE];
static size_t line_count, line_room;
static uint64_t fast_until_ns;
static size_t looks;
static bool joined; /* the process ran already: its threads rarely start with their own choices */
static bool stale;  /* threads came, or have other names */
static volatile sig_atomic_t stopped;

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool grown(void **all, size_t *have, size_t used, size_t bytes)
{
    if (used < *have)
        return true;
    void *more = realloc(*all, (*have + 64) * 2 * bytes);
    if (more) {
        *all = more;
        *have = (*have + 64) * 2;
    }
    return more;
}

/* --- what is said -------------------------------------------------------------------------------- */

static void say(const char *word, const struct thread *thread, int error, const struct state *to,
                enum part part)
{
    char what[64];
    if (!grown((void **)&lines, &line_room, line_count, LINE))
        return;
    uint32_t policy = to->attr.policy;
    if (part == CPUS) {
        int at = snprintf(what, sizeof what, "cpus:");
        const char *comma = "";
        for (unsigned cpu = 0; cpu < CPUS_MOST && at < (int)sizeof what - 12; cpu++)
            if (to->cpus[cpu / 64] >> cpu % 64 & 1) {
                at += snprintf(what + at, sizeof what - (size_t)at, "%s%u", comma, cpu);
                comma = ",";
            }
    } else if (policy == DEADLINE)
        snprintf(what, sizeof what, "deadline:%" PRIu64 ":%" PRIu64 ":%" PRIu64, to->attr.runtime,
                 to->attr.deadline, to->attr.period);
    else if (policy < sizeof POLICIES / sizeof *POLICIES && POLICIES[policy])
        snprintf(what, sizeof what, "%s:%d", POLICIES[policy],
                 is_real_time(policy) ? (int)to->attr.priority : to->attr.nice);
    else
        snprintf(what, sizeof what, "policy-%u", policy);
    snprintf(lines[line_count++], LINE, "%s %" PRIu64 " %u %d %s %s", word, clock_ns(CLOCK_MONOTONIC),
             thread->tid, error, what, thread->comm);
}

/* --- threads ------------------------------------------------------------------------------------- */

static ssize_t text_of(int file, char *text, size_t bytes)
{
    ssize_t length = file < 0 ? -1 : pread(file, text, bytes - 1, 0);
    text[length < 0 ? 0 : length] = '\0';
    return length;
}

static int opened(uint32_t pid, uint32_t tid, const char *name)
{
    char path[96];
    snprintf(path, sizeof path, "/proc/%u/task/%u/%s", pid, tid, name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* Fields of stat, from the state on; "" where it is gone. */
static const char *stat_of(const struct thread *thread, char *text, size_t bytes)
{
    int file = opened(thread->pid, thread->tid, "stat");
    text_of(file, text, bytes);
    if (file >= 0)
        close(file);
    const char *at = strrchr(text, ')');
    return at && at[1] == ' ' ? at + 2 : "";
}

static void end(struct thread *thread)
{
    thread->ended = true;
    if (thread->comm_file >= 0)
        close(thread->comm_file);
    if (thread->children_file >= 0)
        close(thread->children_file);
    if (thread->tasks)
        closedir(thread->tasks);
}

/* Its name now; false: it has ended. */
static bool read_comm(struct thread *thread)
{
    char text[COMM_BYTES + 2], comm[COMM];
    ssize_t length = text_of(thread->comm_file, text, sizeof text);
    if (length <= 0)
        return false;
    comm_text(comm, text, (size_t)length - 1); /* without the kernel's end of the line */
    if (strcmp(comm, thread->comm) != 0) {
        memcpy(thread->comm, comm, COMM);
        stale = true;
    }
    return true;
}

/* What one with our changes makes has them, too: a process and its first threads; a later thread, where the
 * main thread has the same, or one of its name. While a program starts, others may have chosen the same
 * themselves. */
static void inherit(struct thread *made, uint32_t parent)
{
    for (size_t i = 0; i < count; i++) {
        const struct thread *by = &threads[i];
        bool makes = by->pid == made->pid
                         ? by->found == looks || by->tid == by->pid || joined || !strcmp(by->comm, made->comm)
                         : made->tid == made->pid && by->pid == parent;
        for (enum part part = 0; makes && part < PARTS; part++)
            if (by->parts[part].was_set && !made->parts[part].touched && same(&made->own, &by->set, part)) {
                copy(&made->own, &by->own, part);
                copy(&made->asked, &by->asked, part);
                copy(&made->set, &by->set, part);
                made->parts[part].touched = made->parts[part].was_set = true;
                made->slack_ns = by->slack_ns;
            }
    }
}

/* When a thread was made, of its stat; 0: not known. */
static uint64_t start_of(const char *fields)
{
    for (int field = 3; field < 22 && fields; field++)
        fields = (fields = strchr(fields, ' ')) ? fields + 1 : NULL;
    return fields ? strtoull(fields, NULL, 10) : 0;
}

static void open_files(struct thread *thread)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/%u/task", thread->pid);
    thread->comm_file = opened(thread->pid, thread->tid, "comm");
    thread->children_file = opened(thread->pid, thread->tid, "children");
    thread->tasks = thread->tid == thread->pid ? opendir(path) : NULL;
    thread->links = 0;
}

static void add(uint32_t tid, uint32_t pid)
{
    for (size_t i = count; i-- > 0;)
        if (threads[i].tid == tid && !threads[i].ended)
            return;
    if (tid == (uint32_t)getpid() || tid == (uint32_t)getppid() || count == THREADS_MOST)
        return;
    struct thread *made = &threads[count];
    *made = (struct thread){.tid = tid, .pid = pid, .found = looks};
    open_files(made);
    char text[1024];
    struct stat owner;
    unsigned parent = 0;
    made->is_root = made->comm_file >= 0 && fstat(made->comm_file, &owner) == 0 && owner.st_uid == 0;
    const char *fields = stat_of(made, text, sizeof text);
    made->start = start_of(fields);
    if (!read_comm(made) || !read_state(tid, &made->own) || sscanf(fields, "%*c %u", &parent) != 1) {
        end(made);
        return;
    }
    count++;
    inherit(made, parent);
    stale = true;
    fast_until_ns = clock_ns(CLOCK_MONOTONIC) + NEW_NS;
}

static void find(void)
{
    char text[4096], *at, *next;
    bool some_ended = false;
    for (size_t i = 0; i < count; i++)
        if (!threads[i].ended && !read_comm(&threads[i])) {
            end(&threads[i]);
            some_ended = true;
        }
    for (size_t i = 0; i < count; i++) { /* also those that are found meanwhile */
        if (threads[i].ended)
            continue;
        struct stat now;
        DIR *tasks = threads[i].tasks;
        if (tasks && fstat(dirfd(tasks), &now) == 0 && (now.st_nlink != threads[i].links || some_ended)) {
            threads[i].links = now.st_nlink; /* it counts threads */
            rewinddir(tasks);
            for (struct dirent *entry; (entry = readdir(tasks));)
                if (*entry->d_name != '.')
                    add((uint32_t)strtoul(entry->d_name, NULL, 10), threads[i].pid);
        }
        if (text_of(threads[i].children_file, at = text, sizeof text) > 0)
            for (uint32_t child; (child = (uint32_t)strtoul(at, &next, 10)) != 0 && *next == ' '; at = next)
                add(child, child);
    }
}

/* The rule of a thread: by number, by name, or of all others. */
static const struct rule *rule_of(const struct thread *thread)
{
    char numbered[COMM + 16];
    int number = 1;
    const struct rule *found = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct thread *other = &threads[i];
        bool before = other->start != thread->start ? other->start < thread->start : other->tid < thread->tid;
        number += before && strcmp(other->comm, thread->comm) == 0;
    }
    snprintf(numbered, sizeof numbered, "%s#%d", thread->comm, number);
    for (int i = 0; i < rule_count; i++)
        if (strcmp(rules[i].name, numbered) == 0)
            return &rules[i];
    for (int i = 0; i < rule_count; i++)
        if (strcmp(rules[i].name, thread->comm) == 0)
            return &rules[i];
        else if (strcmp(rules[i].name, "*") == 0)
            found = &rules[i];
    return found;
}

/* --- placing ------------------------------------------------------------------------------------- */

/* The end: first what the program did is known, then it is repeated, then it is said what is left. */
enum phase { PLACING, ENDING, AGAIN, LAST };

/* Changes what differs. Policy and CPUs may need each other, in either order. */
static bool settle(struct thread *thread, const struct state *to, const bool todo[PARTS], enum phase phase)
{
    const char *good = phase == PLACING && thread->rule ? "set" : "back";
    int errors[PARTS] = {0};
    bool done = true, left[PARTS] = {todo[POLICY], todo[CPUS]};
    for (int round = 0; round < 2; round++)
        for (enum part part = 0; part < PARTS; part++) {
            if (!left[part])
                continue;
            struct state now;
            thread->parts[part].changes_now = true; /* we may be killed before it is known */
            errors[part] = change_part(thread, to, part);
            if (errors[part] == 0 && !read_state(thread->tid, &now))
                errors[part] = ESRCH;
            else if (errors[part] == 0 && phase != PLACING && !same(&now, to, part))
                errors[part] = EAGAIN;
            thread->parts[part].changes_now = errors[part] == 0;
            if (errors[part] != 0)
                continue;
            left[part] = false;
            thread->parts[part].touched = !same(to, &thread->own, part);
            if (thread->parts[part].touched) {
                thread->parts[part].was_set = true;
                copy(&thread->asked, to, part);
                copy(&thread->set, part == CPUS ? &now : to, part); /* without those that it may not have */
            }
            thread->parts[part].refused = 0;
            thread->parts[part].changes_now = false;
            say(good, thread, 0, to, part);
        }
    for (enum part part = 0; part < PARTS; part++) {
        if (left[part] && errors[part] != ESRCH &&
            (phase == LAST || (phase == PLACING && thread->parts[part].refused != errors[part])))
            say(phase == LAST ? "stuck" : "refused", thread, errors[part], to, part);
        if (left[part])
            thread->parts[part].refused = errors[part];
        done = done && !left[part];
    }
    return done;
}

/* Whether nothing is left to do. */
static bool place(struct thread *thread, enum phase phase)
{
    struct state now, to;
    bool todo[PARTS], any = false;
    char text[1024];
    if (!read_state(thread->tid, &now))
        return true;
    for (enum part part = 0; part < PARTS; part++) {
        bool *touched = &thread->parts[part].touched;
        if (phase <= ENDING && *touched && !same(&now, &thread->set, part))
            *touched = false; /* the program's own doing */
        if (phase <= ENDING && !*touched)
            copy(&thread->own, &now, part);
    }
    bool places = thread->rule && phase == PLACING;
    to = places ? ruled(thread) : thread->own;
    for (enum part part = 0; part < PARTS; part++) {
        bool *gave_up = &thread->parts[part].gave_up;
        bool touched = thread->parts[part].touched;
        todo[part] = !*gave_up && !same(&now, &to, part) && (places || touched) &&
                     !(places && touched && same(&thread->asked, &to, part));
        if (todo[part] && places && thread->parts[part].refused == 0 &&
            thread->parts[part].changes++ > MOST) {
            *gave_up = true;
            todo[part] = false;
            say("gave-up", thread, 0, &to, part);
        }
        any = any || todo[part];
    }
    return !any || strchr("ZX", *stat_of(thread, text, sizeof text)) || settle(thread, &to, todo, phase);
}

static void look(void)
{
    find();
    looks++;
    for (size_t i = 0; stale && i < count; i++)
        threads[i].rule = rule_of(&threads[i]);
    stale = false;
    for (size_t i = 0; i < count; i++)
        if (!threads[i].ended)
            (void)place(&threads[i], PLACING);
}

/* Until no thread is left as we made it, nor one that such a thread makes meanwhile: one that was being made
 * comes into sight later. */
static void put_back(void)
{
    const struct timespec soon = {.tv_nsec = (long)SOON_NS};
    bool done = false;
    for (int round = 0; round <= ROUNDS && !done; round++) {
        size_t before = count;
        enum phase phase = round == 0 ? ENDING : round == ROUNDS ? LAST : AGAIN;
        if (round > 0)
            nanosleep(&soon, NULL);
        find();
        looks++;
        done = round > 1 && count == before;
        for (size_t i = 0; i < count; i++)
            done = (threads[i].ended || place(&threads[i], phase)) && done;
    }
}

/* Takes over from the one that placed, which was killed: its files are closed, and a thread is known by its
 * begin. */
static void adopt(void)
{
    char text[1024];
    for (size_t i = 0; i < count; i++) {
        struct thread *each = &threads[i];
        struct state now;
        if (each->ended || start_of(stat_of(each, text, sizeof text)) != each->start ||
            !read_state(each->tid, &now)) {
            each->ended = true;
            continue;
        }
        open_files(each);
        for (enum part part = 0; part < PARTS; part++)
            if (each->parts[part].changes_now) {
                each->parts[part].touched = true;
                copy(&each->set, &now, part);
            }
    }
}

/* --- its life ------------------------------------------------------------------------------------ */

static uint64_t number_in(const char *text)
{
    return strtoull(text ? text : "", NULL, 10);
}

/* NAME=POLICY:PRIORITY:RUNTIME:DEADLINE:PERIOD:CPUS */
static bool parse(char *text, struct rule *rule)
{
    char *at = strrchr(text, '='), *fields[6] = {0};
    if (!at)
        return false;
    *at++ = '\0';
    for (int i = 0; i < 6; i++)
        fields[i] = at ? strsep(&at, ":") : NULL;
    if (!fields[5] || at)
        return false;
    *rule = (struct rule){.name = text, .policy = -1, .priority = (int)number_in(fields[1])};
    for (int policy = 0; policy < (int)(sizeof POLICIES / sizeof *POLICIES); policy++)
        if (POLICIES[policy] && strcmp(fields[0], POLICIES[policy]) == 0)
            rule->policy = policy;
    rule->runtime = number_in(fields[2]);
    rule->deadline = number_in(fields[3]);
    rule->period = number_in(fields[4]);
    for (char *cpus = fields[5], *part; (part = strsep(&cpus, ",")) && *part;) {
        char *to = strchr(part, '-');
        for (uint64_t cpu = number_in(part); cpu <= number_in(to ? to + 1 : part) && cpu < CPUS_MOST; cpu++)
            rule->cpus[cpu / 64] |= UINT64_C(1) << cpu % 64;
        rule->has_cpus = true;
    }
    return *fields[0] == '\0' || rule->policy >= 0;
}

static void stop(int signal_number)
{
    (void)signal_number;
    stopped = 1;
}

/* Signals; none of a terminal. */
static void heed(void)
{
    struct sigaction action = {.sa_handler = stop};
    setsid();
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

/* First among all, or as near to it as we may; files for many threads. */
static void be_first(void)
{
    struct sched_param first = {.sched_priority = sched_get_priority_max(SCHED_FIFO)};
    struct rlimit files;
    struct state own;
    if (read_state(0, &own) && own.attr.policy == OTHER)
        slice_ns = own.attr.runtime;
    may_reset = sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &first) == 0;
    if (sched_setscheduler(0, SCHED_FIFO, &first) != 0)
        may_reset = false;
    if (!may_reset)
        setpriority(PRIO_PROCESS, 0, -20);
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
}

/* First while threads are new; then behind all real-time threads: one that wakes where a more urgent thread
 * runs moves to another CPU. */
static void step_back(pid_t pid, bool is_first)
{
    struct sched_param param = {.sched_priority = is_first ? sched_get_priority_max(SCHED_FIFO) : 0};
    if (sched_setscheduler(pid, is_first ? SCHED_FIFO : SCHED_OTHER, &param) == 0 && !is_first)
        setpriority(PRIO_PROCESS, (id_t)pid, -20);
}

/* Waits for the next look; false: it is over. */
static bool goes_on(uint64_t cost_ns)
{
    static bool was_first = true;
    uint64_t now_ns = clock_ns(CLOCK_MONOTONIC), ns = now_ns < fast_until_ns ? SOON_NS : LATER_NS;
    bool is_first = now_ns + NEW_NS < fast_until_ns + FIRST_NS;
    if (is_first != was_first)
        step_back(0, is_first);
    was_first = is_first;
    if (ns < cost_ns * SHARE)
        ns = cost_ns * SHARE;
    struct timespec wait = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    struct pollfd input = {.fd = 0, .events = POLLIN};
    char text[64];
    if (!stopped && ppoll(&input, 1, &wait, NULL) > 0 && read(0, text, sizeof text) <= 0)
        stopped = 1;
    return !stopped;
}

static int places(uint32_t pid)
{
    be_first();
    add(pid, pid);
    if (count == 0) {
        puts("gone");
        return 1;
    }
    uint64_t cost_ns, before_ns = 0, used_ns = 0; /* the smaller one of two looks: placing is no habit */
    do {
        look();
        joined = used_ns == 0 ? count > 1 : joined;
        if (used_ns == 0)
            printf("begun %" PRIu64 "\n", clock_ns(CLOCK_MONOTONIC));
        fflush(stdout);
        uint64_t all_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID), last_ns = all_ns - used_ns;
        cost_ns = last_ns < before_ns ? last_ns : before_ns;
        before_ns = last_ns;
        used_ns = all_ns;
    } while (goes_on(cost_ns));
    put_back();
    for (size_t i = 0; i < line_count; i++)
        puts(lines[i]);
    printf("ended %" PRIu64 "\n", clock_ns(CLOCK_PROCESS_CPUTIME_ID));
    return 0;
}

static void on_child(int number)
{
    (void)number;
}

/* Until the end of the input, or of the worker: at its end that is first again. Signals are blocked until
 * then. */
static void watch(pid_t worker)
{
    struct pollfd input = {.fd = 0};
    sigset_t none;
    be_first();
    sigemptyset(&none);
    if (!stopped)
        ppoll(&input, 1, NULL, &none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (stopped)
        kill(worker, SIGTERM);
    step_back(worker, true);
}

int main(int argc, char **argv)
{
    shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (argc < 2 || shared == MAP_FAILED || !(rules = calloc((size_t)argc, sizeof *rules)))
        return 2;
    for (; rule_count < argc - 2; rule_count++)
        if (!parse(argv[rule_count + 2], &rules[rule_count])) {
            printf("no rule: %s\n", argv[rule_count + 2]);
            return 2;
        }
    int status = 0;
    pid_t first = getpid(), worker;
    sigset_t child;
    struct sigaction action = {.sa_handler = on_child};
    fflush(stdout);
    heed();
    sigemptyset(&child);
    for (const int *each = (const int[]){SIGCHLD, SIGTERM, SIGINT, SIGHUP, 0}; *each; each++)
        sigaddset(&child, *each);
    sigprocmask(SIG_BLOCK, &child, NULL);
    sigaction(SIGCHLD, &action, NULL);
    if ((worker = fork()) == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        sigprocmask(SIG_UNBLOCK, &child, NULL);
        return getppid() == first ? places((uint32_t)number_in(argv[1])) : 1;
    }
    watch(worker);
    while (waitpid(worker, &status, 0) < 0 && errno == EINTR)
        kill(worker, SIGTERM);
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    be_first();
    adopt();
    put_back();
    puts("killed");
    return 1;
}
