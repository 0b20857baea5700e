/* Watches a process for days: of each miss it keeps what led to it, of all jobs the counts.
 *
 * Two rings hold the last events, overwriting, and nobody reads them; a third instance has two events of each
 * watched job, and is drained ten times a second (recorder_misses.c). After a miss the other ring begins, and
 * this one becomes a window: records in W.events, what is known of threads in W.facts, which is there last. A
 * child of ours makes runs of them. If we are killed, a guard that waits for our end removes the instances.
 */
#include "recorder.h"

#include "keep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define S_NS UINT64_C(1000000000)
#define LOOK_MS 100
#define LATE_NS 1000000    /* an event may be in its buffer so long after its time stamp */
#define SETTLED_NS 5000000 /* what began before so long has been looked at */
#define LOOK_SHARE 500     /* looks at threads take at most this part of a CPU: 1 in 500 */
#define METRICS_S 15       /* between files for a collector */
#define BATCH_S 60         /* between runs that are made of windows */
#define LEFT_PART 20       /* of a disk: so much of it stays free */
#define SETTLED_MS 1000    /* who comes in place of another lives so long at least */
#define ROOT "/sys/kernel/tracing"
#define LONG_NS (60 * S_NS) /* who has ended since may be in a window */
#define HOUR_NS (3600 * S_NS)

enum { WORDS_MOST = 32, PATH_BYTES = 1024, RINGS = 3, WATCH = 2, WATCH_KB = 256 };
enum { CHILD, AGAIN, END_WORDS, COMMANDS };

struct ring {
    char path[PATH_BYTES];
    struct pollfd files[CPUS_MOST];
    uint16_t cpus[CPUS_MOST];
    unsigned count;
    uint64_t since;
};

static struct {
    uint64_t pid, owner, around_ns, watch_ns, bytes_most, an_hour, ring_kb;
    char folder[PATH_BYTES], metrics[PATH_BYTES], process[NAME_BYTES];
    char unit[PATH_BYTES], file[PATH_BYTES], script[PATH_BYTES];
    char *command[COMMANDS][WORDS_MOST];
    unsigned words[COMMANDS];
} plan;

static struct ring rings[RINGS];
static unsigned active, undone; /* the ring that runs; windows of which no run is made yet */
static pid_t child, guardian;
static int guard_pipe = -1;
static bool turning; /* both run */
static FILE *window_file;
static uint64_t window_from, window_until, hour_ns, in_hour;

static int refuse(const char *what)
{
    fprintf(stderr, "deadbeat: error: %s: %s\n", what, strerror(errno));
    return 1;
}

static const char *kept(const char *name)
{
    static char path[PATH_BYTES + 64];
    snprintf(path, sizeof path, "%s/%s", plan.folder, name);
    return path;
}

/* -- the plan */

static bool read_fact(const char *word, const char *rest)
{
    const struct {
        const char *name;
        uint64_t *number;
        char *text;
        size_t bytes;
    } facts[] = {
        {"pid", &plan.pid, NULL, 0},
        {"owner", &plan.owner, NULL, 0},
        {"around", &plan.around_ns, NULL, 0},
        {"seconds", &plan.watch_ns, NULL, 0},
        {"bytes", &plan.bytes_most, NULL, 0},
        {"hourly", &plan.an_hour, NULL, 0},
        {"ring", &plan.ring_kb, NULL, 0},
        {"folder", NULL, plan.folder, sizeof plan.folder},
        {"metrics", NULL, plan.metrics, sizeof plan.metrics},
        {"process", NULL, plan.process, sizeof plan.process},
        {"unit", NULL, plan.unit, sizeof plan.unit},
        {"file", NULL, plan.file, sizeof plan.file},
        {"script", NULL, plan.script, sizeof plan.script},
    };
    for (unsigned i = 0; i < sizeof facts / sizeof *facts; i++)
        if (strcmp(word, facts[i].name) != 0)
            continue;
        else if (facts[i].number)
            *facts[i].number = strtoull(rest, NULL, 10);
        else
            snprintf(facts[i].text, facts[i].bytes, "%s", rest);
    return true;
}

/* Does what each line says. */
static int read_plan(const char *path, bool (*does)(const char *word, char *rest))
{
    FILE *file = fopen(path, "re");
    char *line = NULL;
    size_t room = 0;
    int status = file ? 0 : refuse(path);
    while (status == 0 && getline(&line, &room, file) > 0) {
        line[strcspn(line, "\n")] = 0;
        char *rest = strchr(line, ' ');
        if (rest)
            *rest++ = 0;
        if (rest && !does(line, rest)) {
            errno = errno ? errno : EINVAL;
            status = refuse(line);
        }
    }
    free(line);
    if (file)
        fclose(file);
    return status;
}

static bool know_plan(const char *word, char *rest)
{
    static const char *const commands[] = {"child", "again", "end"};
    for (unsigned i = 0; i < COMMANDS; i++)
        if (strcmp(word, commands[i]) == 0 && plan.words[i] + 3 < WORDS_MOST)
            plan.command[i][plan.words[i]++] = strdup(rest);
    if (strcmp(word, "thread") == 0)
        return (state || open_state(kept("state")) == 0) && know_watched(rest);
    return read_fact(word, rest);
}

/* -- instances */

static void remove_instances(void)
{
    for (int tries = 0; tries < 30; tries++) {
        unsigned left = 0;
        for (unsigned i = 0; i < RINGS; i++)
            left += *rings[i].path && rmdir(rings[i].path) != 0 && errno != ENOENT;
        if (!left)
            return;
        usleep(100000);
    }
}

static void close_above(unsigned first)
{
    for (int file = (int)sysconf(_SC_OPEN_MAX) < 65536 ? (int)sysconf(_SC_OPEN_MAX) : 65536;
         file-- > (int)first;)
        close(file);
}

/* A process that removes what we made once we are gone, however we go. */
static int guard(void)
{
    int alive[2];
    char byte;
    for (unsigned i = 0; i < RINGS; i++)
        snprintf(rings[i].path, sizeof rings[i].path, ROOT "/instances/deadbeat-%u-%c-%d", (unsigned)plan.pid,
                 "abw"[i], getpid());
    if (pipe2(alive, O_CLOEXEC) != 0)
        return -1;
    guardian = fork();
    if (guardian == 0) {
        setsid();
        const int ignored[] = {SIGHUP, SIGINT, SIGTERM, SIGQUIT};
        for (unsigned i = 0; i < sizeof ignored / sizeof *ignored; i++)
            signal(ignored[i], SIG_IGN);
        dup2(alive[0], 0);
        close_above(3);
        while (read(0, &byte, 1) < 0)
            ;
        remove_instances();
        _exit(0);
    }
    close(alive[0]);
    guard_pipe = alive[1];
    return guardian < 0 ? -1 : 0;
}

static bool add_event(const char *word, char *rest)
{
    char path[300], *filter = strchr(rest, ' ');
    if (strcmp(word, "event") != 0)
        return true;
    if (filter)
        *filter++ = 0;
    snprintf(path, sizeof path, "events/%s/filter", rest);
    if (filter)
        set_text(path, filter);
    snprintf(path, sizeof path, "events/%s/enable", rest);
    set(path, 1);
    return true;
}

static void watch_event(const char *event, const char *field, int64_t call)
{
    char filter[4096], path[300];
    snprintf(path, sizeof path, "events/%s/filter", event);
    if (!watch_filter(filter, sizeof filter, field, call))
        return;
    set_text(path, filter);
    snprintf(path, sizeof path, "events/%s/enable", event);
    set(path, 1);
}

/* ``call 230 clock_nanosleep``: an event of those that end a job there. */
static bool add_call(const char *word, char *rest)
{
    char event[300], *name = strchr(rest, ' ');
    if (strcmp(word, "call") == 0 && name) {
        snprintf(event, sizeof event, "syscalls/sys_enter_%s", name + 1);
        watch_event(event, "common_pid", strtoll(rest, NULL, 10));
    }
    return true;
}

static int make_ring(unsigned number, const char *path)
{
    struct ring *ring = &rings[number];
    instance = ring->path;
    if (mkdir(ring->path, 0700) != 0)
        return -1;
    set("tracing_on", 0);
    set_text("trace_clock", "mono");
    set("buffer_size_kb", number == WATCH ? WATCH_KB : (unsigned)plan.ring_kb);
    if (number == WATCH) {
        watch_event("sched/sched_waking", "pid", -1);
        watch_event("sched/sched_switch", "prev_pid", -1);
        if (read_plan(path, add_call) != 0)
            return -1;
    } else {
        set("options/event-fork", 1);
        if (read_plan(path, add_event) != 0)
            return -1;
    }
    ring->count = open_buffers(ring->files, ring->cpus);
    return ring->count ? 0 : -1;
}

/* The threads of the process as the recorder finds them. */
static void choose_threads(void)
{
    char path[64], tids[TEXT_BYTES] = "";
    size_t length = 0;
    snprintf(path, sizeof path, "/proc/%u/task", (unsigned)plan.pid);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && length + 16 < sizeof tids && (entry = readdir(folder));)
        if (*entry->d_name != '.')
            length += (size_t)snprintf(tids + length, sizeof tids - length, "%s ", entry->d_name);
    if (folder)
        closedir(folder);
    for (unsigned i = 0; i < WATCH; i++) {
        instance = rings[i].path;
        set_text("set_event_pid", tids);
    }
}

static void run_ring(unsigned number, unsigned on)
{
    instance = rings[number].path;
    set("tracing_on", on);
    rings[number].since = on ? now_ns() : rings[number].since;
}

static int trace(const char *path)
{
    if (access(ROOT "/trace_clock", W_OK) != 0 &&
        (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
         mount("tracefs", ROOT, "tracefs", 0, NULL) != 0))
        return refuse("tracefs on " ROOT);
    for (unsigned i = 0; i < RINGS; i++)
        if (make_ring(i, path) != 0)
            return refuse(rings[i].path);
    instance = rings[0].path;
    fflush(stdout);
    int before = dup(1), nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(nowhere, 1); /* what is missing was said while it learned */
    int known = know_events("/proc/kallsyms");
    fflush(stdout);
    dup2(before, 1);
    close(before);
    close(nowhere);
    if (known != 0)
        return refuse("header_page");
    choose_threads();
    choose_threads(); /* made before event-fork knew their maker */
    run_ring(active, 1);
    run_ring(WATCH, 1);
    return 0;
}

/* -- windows */

static int to_window(const struct record *record)
{
    if (record->kind == LOST) { /* what was overwritten, before the first that is left */
        window_from = record->ns > window_from ? record->ns : window_from;
        return 0;
    }
    bool outside = record->ns < window_from || record->ns > window_until;
    return outside || fwrite(record, sizeof *record, 1, window_file) == 1 ? 0 : -1;
}

/* Bytes of the files in a folder. */
static uint64_t bytes_in(const char *folder)
{
    uint64_t sum = 0;
    struct stat is;
    char path[PATH_BYTES + 16];
    snprintf(path, sizeof path, "%s/../%s", plan.folder, folder);
    DIR *files = opendir(path);
    for (struct dirent *entry; files && (entry = readdir(files));)
        if (fstatat(dirfd(files), entry->d_name, &is, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(is.st_mode))
            sum += (uint64_t)is.st_size;
    if (files)
        closedir(files);
    return sum;
}

/* Why no more windows are kept: of the hour, of the result, of the disk; null: there is room. */
static const char *no_room(uint64_t now)
{
    struct statvfs disk;
    if (!hour_ns || now - hour_ns >= HOUR_NS) {
        hour_ns = now;
        in_hour = 0;
    }
    if (in_hour >= plan.an_hour)
        return "as many were kept in this hour as may be";
    if (bytes_in("kept") + bytes_in("events") + bytes_in("runs") + bytes_in("jobs") > plan.bytes_most)
        return "they take as much of the disk as they may";
    bool full = statvfs(plan.folder, &disk) == 0 && disk.f_bavail <= disk.f_blocks / LEFT_PART;
    return full ? strerror(ENOSPC) : NULL;
}

/* What the records need: as the recorder says it at its end. */
static int say_facts(const char *path)
{
    int before = dup(1), file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0 || before < 0)
        return -1;
    fflush(stdout);
    dup2(file, 1);
    printf("window %" PRIu64 " %" PRIu64 "\nmisses %" PRIu64 " %" PRIu64 "\n", window_from, window_until,
           missed.count, missed.end);
    struct timespec wall;
    clock_gettime(CLOCK_REALTIME, &wall);
    printf("wall %" PRIu64 "\n",
           (uint64_t)wall.tv_sec * S_NS + (uint64_t)wall.tv_nsec - (now_ns() - missed.end));
    say_calls();
    say_threads();
    say_names();
    printf("ended 1 0\n");
    int bad = fflush(stdout) != 0 || fsync(file) != 0;
    dup2(before, 1);
    close(before);
    close(file);
    return bad ? -1 : 0;
}

/* The ring as a window; -1: errno says why not. */
static int copy_ring(struct ring *ring)
{
    static uint64_t number;
    char events[PATH_BYTES + 64], facts[PATH_BYTES + 64], part[PATH_BYTES + 80], name[64];
    uint64_t first = missed.release > plan.around_ns ? missed.release - plan.around_ns : 0;
    do {
        snprintf(name, sizeof name, "w%06" PRIu64 ".events", number);
        snprintf(events, sizeof events, "%s", kept(name));
        snprintf(name, sizeof name, "w%06" PRIu64 ".facts", number++);
        snprintf(facts, sizeof facts, "%s", kept(name));
    } while (access(events, F_OK) == 0);
    snprintf(part, sizeof part, "%s.part", facts);
    int (*before)(const struct record *) = sink;
    window_from = first > ring->since ? first : ring->since;
    if (!(window_file = fopen(events, "we")))
        return -1;
    sink = to_window;
    instance = ring->path;
    int bad = 0;
    for (unsigned i = 0; i < ring->count && !bad; i++)
        bad = drain(ring->files[i].fd, ring->cpus[i], UINT64_MAX, UINT64_MAX);
    sink = before;
    bad |= fclose(window_file) != 0;
    if (bad || say_facts(part) != 0 || rename(part, facts) != 0) {
        int why = errno;
        unlink(events);
        unlink(part);
        errno = why;
        return -1;
    }
    return 0;
}

static void begin_child(void)
{
    if (child || !plan.words[CHILD])
        return;
    undone = 0;
    child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        setpriority(PRIO_PROCESS, 0, 19);
        int nowhere = open("/dev/null", O_RDWR);
        dup2(nowhere, 0);
        dup2(nowhere, 1);
        close_above(3);
        execvp(*plan.command[CHILD], plan.command[CHILD]);
        _exit(127);
    }
}

/* The ring becomes a window; ``why`` not, where it may not. The watch knows all jobs until ``now``. */
static void keep_window(const char *why, uint64_t now)
{
    static const char *said;
    struct ring *ring = &rings[active];
    uint64_t settled = now - SETTLED_NS;
    if (!why) {
        instance = ring->path;
        window_until = now_ns(); /* what ends later is in the next one */
        set("tracing_on", 0);
        why = copy_ring(ring) == 0 ? NULL : strerror(errno);
        instance = ring->path;
        set("trace", 0);
        active = !active;
        if (!is_in_progress(settled) && settled > rings[active].since)
            rings[active].since = settled; /* what ended before is in that window */
    }
    turning = false;
    if (why && why != said) {
        fprintf(stderr, "deadbeat: misses are only counted for now: %s\n", said = why);
        begin_child(); /* runs take less than windows */
    }
    in_hour += !why;
    undone += !why;
    state->windows += !why;
    state->only_counted += why ? missed.count : 0;
    missed = (struct missed){0};
}

/* After a miss the other ring begins, and this one goes on until all jobs end that began before: each is
 * whole in one of them. */
static void turn_rings(uint64_t now, bool last)
{
    const char *why = turning ? NULL : no_room(now);
    uint64_t since = rings[!active].since;
    if (why || (turning && (last || !is_in_progress(since) || now > since + plan.around_ns / 2)))
        keep_window(why, now);
    else if (!turning) {
        run_ring(!active, 1);
        turning = true;
        if (last)
            keep_window(NULL, now);
    }
}

/* -- others */

static void publish(void)
{
    static int said;
    char causes[PATH_BYTES + 64];
    snprintf(causes, sizeof causes, "%s", kept("causes"));
    if (*plan.metrics && write_metrics(plan.metrics, plan.process, causes) != 0 && said != errno)
        fprintf(stderr, "deadbeat: %s is not written: %s\n", plan.metrics, strerror(said = errno));
}

static void watch(uint64_t until)
{
    const struct ring *ring = &rings[WATCH];
    instance = ring->path;
    for (unsigned i = 0; i < ring->count; i++)
        drain(ring->files[i].fd, ring->cpus[i], until, until + S_NS);
    flush_until(until - LATE_NS);
}

/* Until the process ends: true. */
static bool watch_process(int process, uint64_t end)
{
    uint64_t now = now_ns(), looked = 0, published = 0, batched = now, before = now;
    bool ended = false;
    while (!stopped && !ended && now < end) {
        struct pollfd waits = {.fd = process, .events = POLLIN};
        ended = poll(&waits, 1, LOOK_MS) > 0;
        now = now_ns();
        watch(now);
        state->watched_ns += now - before;
        before = now;
        if (missed.count)
            turn_rings(now, ended);
        if (now >= looked && !ended) {
            look_at_threads();
            forget_threads(now > LONG_NS ? now - LONG_NS : 0);
            uint64_t rest = (now_ns() - now) * LOOK_SHARE;
            looked = now + (rest > S_NS ? rest : S_NS);
        }
        if (now >= published + METRICS_S * S_NS) {
            publish();
            published = now;
        }
        if (undone && now >= batched + BATCH_S * S_NS) {
            begin_child();
            batched = now;
        }
        if (child && waitpid(child, NULL, WNOHANG) == child)
            child = 0;
    }
    return ended;
}

static void end_watch(void)
{
    flush_until(UINT64_MAX);
    if (missed.count)
        turn_rings(now_ns(), true);
    for (unsigned i = 0; i < RINGS; i++)
        for (unsigned cpu = 0; cpu < rings[i].count; cpu++)
            close(rings[i].files[cpu].fd);
    remove_instances();
    close(guard_pipe);
    waitpid(guardian, NULL, 0);
    publish();
}

static bool file_has(uint32_t pid, const char *name, const char *text, const char *after)
{
    char path[64], found[TEXT_BYTES];
    snprintf(path, sizeof path, "/proc/%u/%s", pid, name);
    ssize_t n = text_of(path, found, sizeof found);
    for (ssize_t i = 0; i < n; i++)
        found[i] = found[i] ? found[i] : '\n';
    size_t length = strlen(text);
    for (const char *at = n > 0 ? strstr(found, text) : NULL; at; at = strstr(at + 1, text))
        if (strchr(after, at[length]) && at > found && strchr(":\n", at[-1]))
            return true;
    return false;
}

/* Who has the place of what was watched: by its unit, or by executable file and owner. */
static bool has_place(uint32_t pid)
{
    char path[64], file[PATH_BYTES];
    struct stat is;
    snprintf(path, sizeof path, "/proc/%u", pid);
    if (pid == (uint32_t)getpid() || stat(path, &is) != 0 || is.st_uid != plan.owner)
        return false;
    snprintf(path, sizeof path, "/proc/%u/exe", pid);
    ssize_t n = readlink(path, file, sizeof file - 1);
    file[n > 0 ? n : 0] = 0;
    if (n <= 0 || strcmp(file, plan.file) != 0)
        return false;
    return (!*plan.unit || file_has(pid, "cgroup", plan.unit, "\n")) &&
           (!*plan.script || file_has(pid, "cmdline", plan.script, "\n"));
}

static uint32_t find_process(void)
{
    uint32_t found = 0;
    DIR *all = opendir("/proc");
    for (struct dirent *entry; all && !found && (entry = readdir(all));) {
        uint32_t pid = (uint32_t)strtoul(entry->d_name, NULL, 10);
        if (pid && has_place(pid))
            found = pid;
    }
    if (all)
        closedir(all);
    return found;
}

/* Goes on as another command, of which ``more`` is the last word. */
static int become(unsigned which, const char *option, const char *more)
{
    char **words = plan.command[which];
    if (!plan.words[which])
        return 0;
    words[plan.words[which]] = (char *)option;
    words[plan.words[which] + !!option] = (char *)more;
    if (child) { /* it writes where that one will, and may be slow where all CPUs are busy */
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
    }
    fflush(stdout);
    close_above(3);
    execvp(*words, words);
    return refuse(*words);
}

static int follow_process(uint64_t end)
{
    fprintf(stderr, "deadbeat: waits for a process of %s%s%s of user %u\n",
            *plan.unit ? plan.unit : plan.file, *plan.script ? " that runs " : "", plan.script,
            (unsigned)plan.owner);
    while (!stopped && now_ns() < end) {
        uint32_t pid = find_process();
        usleep(SETTLED_MS * 1000);
        if (pid && has_place(pid)) {
            char number[16];
            snprintf(number, sizeof number, "%u", pid);
            return become(AGAIN, "--pid", number);
        }
    }
    return become(END_WORDS, NULL, NULL);
}

/* Records of our input, as if they came from the watch; a window is as much as was read with it. */
static int replay(void)
{
    static struct record records[1u << 14];
    uint64_t first = 0;
    for (size_t n; (n = fread(records, sizeof *records, sizeof records / sizeof *records, stdin)) > 0;) {
        first = first ? first : records->ns;
        count_jobs(records, n);
        if (missed.count && !no_room(records[n - 1].ns)) {
            char name[64];
            snprintf(name, sizeof name, "w%06" PRIu64 ".events", state->windows);
            FILE *to = fopen(kept(name), "we");
            fwrite(records, sizeof *records, n, to);
            fclose(to);
            state->windows++;
            in_hour++;
        } else
            state->only_counted += missed.count;
        missed = (struct missed){0};
        state->watched_ns = records[n - 1].ns - first;
    }
    publish();
    return 0;
}

int keep_misses(const char *path, bool replayed)
{
    struct sigaction term = {.sa_handler = on_term};
    if (read_plan(path, know_plan) != 0)
        return 1;
    if (!state && open_state(kept("state")) != 0)
        return refuse(kept("state"));
    if (replayed)
        return replay();
    sigaction(SIGTERM, &term, NULL);
    sigaction(SIGINT, &term, NULL);
    sigaction(SIGHUP, &term, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
    syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, &(struct sched_param){0}); /* not as our maker */
    uint64_t end = plan.watch_ns ? now_ns() + plan.watch_ns : UINT64_MAX;
    if (!plan.pid && plan.words[AGAIN])
        return follow_process(end);
    char place[32];
    snprintf(place, sizeof place, "/proc/%u", (unsigned)plan.pid);
    if (!plan.words[CHILD] && flock(open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC), LOCK_EX | LOCK_NB) != 0)
        return refuse(errno == EWOULDBLOCK ? "another deadbeat watches this process" : place);
    int process = (int)syscall(SYS_pidfd_open, plan.pid, 0);
    if (process < 0)
        return follow_process(end);
    pending_most = 1u << 16;
    seek_starts = false; /* the plan has names */
    take = count_jobs;
    state->starts++;
    know_process((uint32_t)plan.pid);
    if (guard() != 0)
        return refuse("fork");
    int status = trace(path);
    bool ended = status == 0 && watch_process(process, end);
    end_watch();
    if (status)
        return status;
    if (ended && !stopped) {
        fprintf(stderr, "deadbeat: process %u ended\n", (unsigned)plan.pid);
        begin_child();
        return plan.words[AGAIN] ? follow_process(end) : 0;
    }
    return become(END_WORDS, NULL, NULL);
}
