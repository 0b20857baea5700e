/*
 * Preloaded into a program that is observed: records its locks, condition variables, semaphores and barriers
 * (src/deadbeat/program/derive/records.py has the format), and where the kernel cannot be asked its waits,
 * too.
 *
 * The program's behaviour stays: no memory of malloc, no lock, no descriptor kept open, errno as it was, no
 * cancellation point added. Records go into chunks of a file of the process, which is mapped and written to
 * before main, and drain.c gives chunks back that are full: a thread that records makes no call and has no
 * fault. Only where drain.c is late the file grows, by so little that it can be had under RLIMIT_MEMLOCK;
 * never once the program filters its calls. A child of fork goes on in its parent's file. What was written
 * survives SIGKILL.
 *
 * DEADBEAT_SHIM: folder to write into; without it nothing is recorded. Files in it:
 *   p-PID-NS         a program in a process: struct process, then chunks
 *   m-PID-NS-0, -1   its /proc/self/maps at the begin and at the end
 * DEADBEAT_SHIM_CHUNKS: most chunks of a process; what has no place is lost, and counted.
 * DEADBEAT_SHIM_FILTERS: filters of calls that are not the program's (/proc/self/status); one that has more
 * from the begin is not recorded.
 * DEADBEAT_SHIM_SLEEPS=1: there are no events of the kernel. The shim then writes, in their place:
 *   ENTER, EXIT      of clock_nanosleep (nanosleep, usleep and sleep, too), read, epoll_pwait (epoll_wait),
 *                    ppoll (poll), sched_yield, and of futex where a semaphore is waited for (b: semaphore)
 *                    and of sched_setscheduler (pthread_setschedparam)
 *   SLEEP_TIMER      both times are what the program asked for: the slack of the timer is not known
 *   RUNTIME          CPU time of the thread since the last one, on both sides of whatever may wait, and
 *                    at the ends of sections where the last one is CHARGE_NS ago
 *   SWITCH           away and back (a: 0, state 1), where a call took over WAITED_NS more than CPU time;
 *                    time away begins after the call's CPU time. Preemption between calls is not seen:
 *                    RUNTIME says how much of it was work. In all records cpu is tid modulo 65536: each
 *                    thread looks as if alone on its CPU
 *   END              at the end of a thread
 * There is no WAKING: derive/shim.py infers it from POST, SIGNAL and UNLOCK.
 * DEADBEAT_SHIM_PROTOCOL=inherit: shim_protocol.c gives mutexes priority inheritance; shim_memory.c takes
 * two more.
 */
#include "shim.h"
#include "chunks.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    WAITED_NS = 3000,
    CHARGE_NS = 10000,
    TRY_AGAIN = 64,
    FIXED_KEYS = 32,
    PATH_BYTES = 512,
    COMES = -1,
    GROUP = 16, /* chunks that are mapped at once */
    AT_FIRST = 4 * GROUP,
    MAPS_MOST = 1 << 20
};

/* Zeroed by the kernel in the child of any fork, also of one that no handler hears of. */
struct alive {
    uint32_t pid;
    uint64_t begin_ns;
};

struct mine {
    uint32_t pid, tid, chunks;
    uint32_t forked; /* the thread that it was before it was forked */
    bool busy;       /* a handler of a signal that comes meanwhile loses its records */
    struct record *next, *end;
    struct head *head;
    uint32_t place; /* of the chunk */
    uint64_t begin_ns, charged_ns, charged_at, failed;
};

static _Thread_local struct mine mine __attribute__((tls_model("initial-exec")));
static struct alive *alive;
static struct process *process;
static char *groups[CHUNKS_MOST / GROUP]; /* where they are mapped */
static char folder[PATH_BYTES / 2];
static uint32_t file_pid;
static uint64_t file_ns, chunks_most = CHUNKS_MOST;
static bool sleeps, filtered, strict;
static pthread_key_t ending;
static bool has_ending;

/* Missing in other C libraries. */
extern __typeof__(dlvsym) dlvsym __attribute__((weak));

/* Condition variables of before 2.3.2 have the same names, and another layout. */
void *found(const char *name)
{
    int kept = errno;
    void *at = NULL;
#if defined __x86_64__ || defined __i386__
    if (dlvsym != NULL && strncmp(name, "pthread_cond_", 13) == 0 && strstr(name, "clock") == NULL)
        at = dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2");
#endif
#if defined __i386__
    if (dlvsym != NULL && strncmp(name, "sem_", 4) == 0 && strlen(name) <= strlen("sem_trywait"))
        at = dlvsym(RTLD_NEXT, name, "GLIBC_2.1");
#endif
    if (at == NULL)
        at = dlsym(RTLD_NEXT, name);
    errno = kept;
    return at;
}

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec at;
    clock_gettime(clock, &at);
    return (uint64_t)at.tv_sec * UINT64_C(1000000000) + (uint64_t)at.tv_nsec;
}

uint64_t now(void)
{
    return strict ? 0 : clock_ns(CLOCK_MONOTONIC);
}

static char *number(char *to, char before, uint64_t value)
{
    char digits[20];
    int count = 0;
    do
        digits[count++] = (char)('0' + value % 10);
    while ((value /= 10) != 0);
    *to++ = before;
    while (count > 0)
        *to++ = digits[--count];
    *to = '\0';
    return to;
}

static char *path_of(char path[PATH_BYTES], char what, uint32_t pid, uint64_t ns)
{
    size_t length = strlen(folder);
    memcpy(path, folder, length);
    path[length] = '/';
    path[length + 1] = what;
    return number(number(path + length + 2, '-', pid), '-', ns);
}

/* Whether a file may grow so long: the program may have limited its files, and a longer one is a signal. */
static bool may_grow_to(off_t bytes)
{
    struct rlimit most;
    return getrlimit(RLIMIT_FSIZE, &most) != 0 || most.rlim_cur == RLIM_INFINITY ||
           (rlim_t)bytes <= most.rlim_cur;
}

/* A part of the file. One that is new has its place before it is mapped: a full disk gives an error here,
 * not a signal later; and each of its pages is written, so that the first record there finds it. */
static void *mapped(off_t from, size_t bytes, bool is_new)
{
    static const char zeros[4096];
    char path[PATH_BYTES];
    path_of(path, 'p', file_pid, file_ns);
    if (filtered || (is_new && !may_grow_to(from + (off_t)bytes)))
        return NULL;
    int how = O_RDWR | O_CLOEXEC | O_NOFOLLOW | (is_new ? O_CREAT : 0);
    int file = (int)syscall(SYS_openat, AT_FDCWD, path, how, 0666);
    if (file < 0)
        return NULL;
    bool there = true;
    if (is_new && fallocate(file, 0, from, (off_t)bytes) != 0)
        for (size_t done = 0; there && done < bytes; done += sizeof zeros)
            there = pwrite(file, zeros, sizeof zeros, from + (off_t)done) == sizeof zeros;
    char *at = MAP_FAILED;
    if (there)
        at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, from);
    syscall(SYS_close, file);
    if (at == MAP_FAILED)
        return NULL;
    for (size_t page = 0; is_new && page < bytes; page += sizeof zeros)
        *(volatile char *)(at + page) = 0;
    return at;
}

static void save_maps(char which)
{
    char path[PATH_BYTES], text[4096];
    if (filtered || !may_grow_to(MAPS_MOST))
        return;
    number(path_of(path, 'm', alive->pid, alive->begin_ns), '-', (uint64_t)which);
    long from = syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
    long to = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    long got;
    while (from >= 0 && to >= 0 && (got = syscall(SYS_read, from, text, sizeof text)) > 0)
        if (syscall(SYS_write, to, text, got) != got)
            break;
    if (from >= 0)
        syscall(SYS_close, from);
    if (to >= 0)
        syscall(SYS_close, to);
}

/* A process begins: by exec, or by fork, where several threads may come here first: one of them wins. */
static bool begin_process(void)
{
    uint64_t none = 0;
    if (filtered)
        return false;
    if (!__atomic_compare_exchange_n(&alive->begin_ns, &none, now(), false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE))
        return __atomic_load_n(&alive->pid, __ATOMIC_ACQUIRE) != 0;
    __atomic_store_n(&alive->pid, (uint32_t)getpid(), __ATOMIC_RELEASE);
    return true;
}

static bool begin_file(void)
{
    uint32_t chunks = chunks_most < AT_FIRST ? (uint32_t)chunks_most : AT_FIRST;
    if (!begin_process())
        return false;
    file_pid = alive->pid;
    file_ns = alive->begin_ns;
    process = mapped(0, HEADER + AT_FIRST * CHUNK, true);
    if (process == NULL)
        return false;
    for (int group = 0; group < AT_FIRST / GROUP; group++)
        groups[group] = (char *)process + HEADER + group * GROUP * CHUNK;
    memset(process->state, FREE, chunks);
    process->chunks = chunks;
    process->pid = file_pid;
    process->sleeps = sleeps;
    const int32_t call[] = {SYS_clock_nanosleep, SYS_read,  SYS_epoll_pwait,       SYS_ppoll,
                            SYS_sched_yield,     SYS_futex, SYS_sched_setscheduler};
    memcpy(process->call, call, sizeof call);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    memcpy(process->magic, "DBSHIM2", 8);
    save_maps(0);
    return true;
}

static inline void write_record(uint64_t ns, enum kind kind, int64_t a, int64_t b, int64_t c)
{
    struct record *to = mine.next++;
    unsigned cpu = sleeps ? mine.tid : (unsigned)sched_getcpu();
    *to = (struct record){ns, mine.tid, (uint16_t)kind, (uint16_t)cpu, a, b, c};
    if (kind == SWITCH && a == COMES) {
        to->tid = 0;
        to->a = mine.tid;
    }
    __atomic_store_n(&mine.head->count, mine.head->count + 1, __ATOMIC_RELEASE);
}

static struct head *chunk_at(uint32_t place)
{
    char **group = &groups[place / GROUP], *at = __atomic_load_n(group, __ATOMIC_ACQUIRE), *none = NULL;
    if (at == NULL) { /* another process made it */
        at = mapped(HEADER + (off_t)(place / GROUP) * GROUP * CHUNK, GROUP * CHUNK, false);
        if (at != NULL &&
            !__atomic_compare_exchange_n(group, &none, at, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            munmap(at, GROUP * CHUNK);
            at = none;
        }
    }
    return at == NULL ? NULL : (struct head *)(at + place % GROUP * CHUNK);
}

static bool becomes(uint32_t place, uint8_t from, uint8_t to)
{
    return __atomic_load_n(&process->state[place], __ATOMIC_RELAXED) == from &&
           __atomic_compare_exchange_n(&process->state[place], &from, to, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_RELAXED);
}

/* A group more, its first chunk taken. */
static struct head *grown(uint32_t *place)
{
    uint32_t at = __atomic_load_n(&process->chunks, __ATOMIC_RELAXED), most;
    while (at + GROUP <= chunks_most && !becomes(at, NOT_THERE, TAKEN))
        at += GROUP;
    if (at + GROUP > chunks_most)
        return NULL;
    groups[at / GROUP] = mapped(HEADER + (off_t)at * CHUNK, GROUP * CHUNK, true);
    if (groups[at / GROUP] == NULL) {
        process->state[at] = NOT_THERE;
        return NULL;
    }
    __atomic_thread_fence(__ATOMIC_RELEASE);
    memset(process->state + at + 1, FREE, GROUP - 1);
    most = __atomic_load_n(&process->chunks, __ATOMIC_RELAXED);
    while (most < at + GROUP && !__atomic_compare_exchange_n(&process->chunks, &most, at + GROUP, false,
                                                             __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        ;
    *place = at;
    return chunk_at(at);
}

static struct head *free_chunk(uint32_t *place)
{
    uint32_t count = __atomic_load_n(&process->chunks, __ATOMIC_ACQUIRE), from = process->next;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = (from + i) % count;
        if (!becomes(at, FREE, TAKEN))
            continue;
        struct head *head = chunk_at(at);
        if (head != NULL) {
            process->next = at + 1;
            *place = at;
            return head;
        }
        __atomic_store_n(&process->state[at], FREE, __ATOMIC_RELEASE);
    }
    return grown(place);
}

static void end_chunk(void)
{
    if (mine.head != NULL)
        __atomic_store_n(&process->state[mine.place], FULL, __ATOMIC_RELEASE);
    mine.head = NULL;
    mine.next = mine.end = NULL;
}

static bool begin_chunk(void)
{
    end_chunk();
    struct head *head = free_chunk(&mine.place);
    if (head == NULL)
        return false;
    *head = (struct head){alive->begin_ns, mine.begin_ns, mine.pid, mine.tid, mine.chunks++, 0, 0};
    mine.head = head;
    mine.next = (struct record *)(head + 1);
    mine.end = mine.next + (CHUNK - sizeof *head) / sizeof *mine.next;
    return true;
}

uint32_t own_tid(void)
{
    bool known = alive != NULL && mine.pid == alive->pid && mine.pid != 0;
    return known ? mine.tid : filtered ? 0 : (uint32_t)syscall(SYS_gettid);
}

uint32_t own_tid_before(void)
{
    return mine.forked;
}

static bool begin_thread(void)
{
    if (filtered)
        return false;
    mine = (struct mine){.pid = alive->pid,
                         .forked = mine.pid != 0 ? mine.tid : 0,
                         .tid = (uint32_t)syscall(SYS_gettid),
                         .busy = true};
    mine.begin_ns = now();
    if (has_ending)
        pthread_setspecific(ending, &mine);
    return true;
}

static bool is_known(void)
{
    return (alive->pid != 0 || begin_process()) && (mine.pid == alive->pid || begin_thread());
}

/* Makes room for three records. False: there is none, and one is lost. */
__attribute__((noinline, cold)) static bool make_room(void)
{
    int kept = errno, cancel;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    bool there = is_known() && mine.failed % TRY_AGAIN == 0 && begin_chunk();
    mine.failed = there ? 0 : mine.failed + 1;
    if (there && mine.chunks == 1 && sleeps) {
        uint64_t at = now();
        mine.charged_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        write_record(at - mine.charged_ns, SWITCH, COMES, 0, 0);
        write_record(at, RUNTIME, (int64_t)mine.charged_ns, 0, 0);
    }
    if (!there)
        __atomic_add_fetch(&process->lost, 1, __ATOMIC_RELAXED);
    pthread_setcancelstate(cancel, NULL);
    errno = kept;
    return there;
}

void put(uint64_t ns, enum kind kind, int64_t a, int64_t b, int64_t c)
{
    if (alive == NULL || strict)
        return;
    if (mine.busy) { /* a handler of a signal that came meanwhile */
        __atomic_add_fetch(&process->lost, 1, __ATOMIC_RELAXED);
        return;
    }
    mine.busy = true;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if ((mine.pid == alive->pid && mine.next < mine.end) || make_room())
        write_record(ns, kind, a, b, c);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    mine.busy = false;
}

static void charge(uint64_t ns, uint64_t cpu_ns)
{
    put(ns, RUNTIME, (int64_t)(cpu_ns - mine.charged_ns), 0, 0);
    mine.charged_ns = cpu_ns;
    mine.charged_at = ns;
}

/* An end of a section: without a charge there, preemption elsewhere would be shared out to it. */
void put_edge(enum kind kind, int64_t a, int64_t b, int64_t c)
{
    uint64_t ns = now();
    if (sleeps && alive != NULL && mine.pid == alive->pid && ns - mine.charged_at > CHARGE_NS && !filtered)
        charge(ns, clock_ns(CLOCK_THREAD_CPUTIME_ID));
    put(ns, kind, a, b, c);
}

struct stay leave(void)
{
    struct stay stay = {0, 0};
    if (!sleeps || alive == NULL || filtered)
        return stay;
    if (mine.pid != alive->pid) /* first its charge so far */
        PUT(RUNTIME, 0, 0, 0);
    stay.ns = now();
    stay.cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    charge(stay.ns, stay.cpu_ns);
    return stay;
}

uint64_t back(struct stay stay)
{
    if (stay.ns == 0 || filtered)
        return 0;
    uint64_t cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID), ns = now(), work_ns = cpu_ns - stay.cpu_ns;
    if (ns - stay.ns > work_ns + WAITED_NS) {
        put(stay.ns + work_ns, SWITCH, 0, 1, 0);
        put(ns, SWITCH, COMES, 0, 0);
    }
    charge(ns, cpu_ns);
    return ns;
}

/* The end of a thread. */
static void end_thread(void *unused)
{
    (void)unused;
    if (alive == NULL || mine.pid != alive->pid || mine.head == NULL || mine.busy)
        return;
    if (sleeps && !filtered) {
        uint64_t ns = now();
        charge(ns, clock_ns(CLOCK_THREAD_CPUTIME_ID));
        put(ns, SWITCH, 0, 64, 0);
        put(ns, END, 0, 0, 0);
    }
    end_chunk();
    mine = (struct mine){0};
}

extern char __asan_init[] __attribute__((weak)), __tsan_init[] __attribute__((weak)),
    __msan_init[] __attribute__((weak));

const char *wanted(void)
{
    const char *into = getenv("DEADBEAT_SHIM");
    bool out = into == NULL || strlen(into) >= sizeof folder || __asan_init || __tsan_init || __msan_init;
    return out ? NULL : into;
}

/* Whether filters of calls were set before the program began, beyond those of whoever records. */
static bool begins_filtered(void)
{
    char text[4096] = "";
    const char *others = getenv("DEADBEAT_SHIM_FILTERS"), *at;
    long file = syscall(SYS_openat, AT_FDCWD, "/proc/self/status", O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    syscall(SYS_read, file, text, sizeof text - 1);
    syscall(SYS_close, file);
    at = strstr(text, "\nSeccomp_filters:");
    return at != NULL && strtoul(at + 17, NULL, 10) > strtoul(others == NULL ? "0" : others, NULL, 10);
}

/* From now on no call is made that the program itself does not make; the strict mode forbids the clock, too.
 */
bool will_filter(bool is_strict)
{
    if (alive == NULL || filtered)
        return false;
    int kept = errno;
    is_known();
    save_maps(1);
    errno = kept;
    process->filtered = filtered = true;
    strict = is_strict;
    process->lost += strict; /* and all that it won't count */
    return true;
}

void filters_not(void)
{
    process->filtered = filtered = strict = false;
}

__attribute__((constructor)) static void begin(void)
{
    const char *into = wanted(), *most = getenv("DEADBEAT_SHIM_CHUNKS");
    const char *asked = getenv("DEADBEAT_SHIM_SLEEPS");
    int kept = errno;
    if (into == NULL || begins_filtered())
        return;
    strcpy(folder, into);
    sleeps = asked != NULL && *asked == '1';
    if (most != NULL && strtoull(most, NULL, 10) < chunks_most)
        chunks_most = strtoull(most, NULL, 10);
    struct alive *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    has_ending = pthread_key_create(&ending, end_thread) == 0 && ending < FIXED_KEYS;
    if (page != MAP_FAILED && madvise(page, 4096, MADV_WIPEONFORK) == 0) {
        alive = page;
        if (!begin_file())
            alive = NULL;
    }
    struct held held = hold();
    if (alive != NULL) {
        process->held = held.what;
        process->held_error = held.error;
    }
    ask_inheritance();
    errno = kept;
}

__attribute__((destructor)) static void end(void)
{
    if (alive == NULL || alive->pid == 0)
        return;
    save_maps(1);
    end_thread(NULL);
}
