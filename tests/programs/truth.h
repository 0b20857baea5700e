/*
 * What the programs of known truth share: work of known length, and one JSON object of what they did.
 *
 *     PROGRAM [SECONDS [blind]]
 *
 * A job begins where a wait returns and ends where the next wait is entered; each loop ends with one more
 * wait, so that its last job is whole. Each job reads the thread's CPU clock at both ends. That makes the
 * kernel charge the thread just there, which no foreign program does: `blind` leaves the readings out, and
 * then all that is known of C is the CPU time of the thread, a job (charged_mean_ns). A section is from got
 * to given up, in CPU time; a wait for a condition ends one, and its return begins another, at the line of
 * the wait.
 */
#ifndef TRUTH_H
#define TRUTH_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define US 1000LL
#define MS 1000000LL
#define TASKS 8
#define WARM_UP 3 /* first jobs that a reader may leave out of the largest */
#define SECTIONS 6
#define PIECES 800
#define PIECE_ROUNDS 10000

struct section {
    const char *lock;
    int line;
    long count;
    int64_t began, sum, most;
};

struct dl_attr { /* sched_getattr(2), which this C library does not have */
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
};

struct task {
    const char *name, *kind, *also; /* also: a second kind that is as right */
    int tid;
    int64_t period, release, min_gap;
    long jobs, merged, skipped; /* merged: began without a call; skipped: releases without a job */
    int64_t began, c_sum, c_most, c_most_warm, charged, suspended, second_period;
    struct section sections[SECTIONS];
    struct dl_attr attr;
    cpu_set_t cpus;
};

struct chain {
    const char *from, *to;
};

struct truth {
    int tasks, chains;
    struct task task[TASKS];
    struct chain chain[TASKS];
};

static struct truth *truth; /* shared with children */
static int64_t length_ns = 2000 * MS, start_ns;
static double rounds_per_ns;
static int blind;

static inline int64_t clock_ns(clockid_t clock)
{
    struct timespec at;
    clock_gettime(clock, &at);
    return at.tv_sec * 1000 * MS + at.tv_nsec;
}

static inline int64_t now_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

static inline int64_t cpu_ns(void)
{
    return blind ? 0 : clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static inline struct timespec spec_of(int64_t ns)
{
    struct timespec at;
    at.tv_sec = (time_t)(ns / (1000 * MS));
    at.tv_nsec = (long)(ns % (1000 * MS));
    return at;
}

static void spin(int64_t rounds)
{
    uint64_t x = 1;
    for (int64_t i = 0; i < rounds; i++) {
        x = x * 6364136223846793005u + 1;
        __asm__ volatile("" : "+r"(x));
    }
}

static inline void work(int64_t ns)
{
    spin((int64_t)((double)ns * rounds_per_ns));
}

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The median of many pieces: the least would be one from which stolen time was taken off late. */
static int64_t median_piece(int64_t rounds)
{
    static int64_t pieces[PIECES];
    for (int i = 0; i < PIECES; i++) {
        int64_t began = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        spin(rounds);
        pieces[i] = clock_ns(CLOCK_THREAD_CPUTIME_ID) - began;
    }
    qsort(pieces, PIECES, sizeof pieces[0], by_size);
    return pieces[PIECES / 2];
}

/* Calibrates, and bounds the program: it ends in any case, and no real-time thread runs for long. */
static inline void setup(int argc, char **argv)
{
    struct rlimit endless = {MS, MS}; /* microseconds of a real-time thread without a wait */
    double seconds = argc > 1 ? atof(argv[1]) : 2.0;
    seconds = seconds > 0.05 ? seconds < 3600 ? seconds : 3600 : 0.05;
    length_ns = (int64_t)(seconds * 1e9);
    blind = argc > 2 && !strcmp(argv[2], "blind");
    alarm((unsigned)(4 * seconds) + 20);
    setrlimit(RLIMIT_RTTIME, &endless);
    truth =
        (struct truth *)mmap(NULL, sizeof *truth, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (truth == MAP_FAILED)
        abort();
    spin(20 * MS);
    rounds_per_ns = PIECE_ROUNDS / (double)(median_piece(PIECE_ROUNDS) - median_piece(0));
    start_ns = now_ns() + 50 * MS;
}

/* The calling thread is a task; what is refused stays as it is, and the truth says what was got. */
static inline struct task *be_task(const char *name, const char *kind, int64_t period, int fifo, int cpu)
{
    struct task *task = &truth->task[__atomic_fetch_add(&truth->tasks, 1, __ATOMIC_SEQ_CST)];
    struct sched_param param;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
    memset(&param, 0, sizeof param);
    param.sched_priority = fifo;
    if (fifo)
        sched_setscheduler(0, SCHED_FIFO, &param);
    pthread_setname_np(pthread_self(), name);
    task->name = name;
    task->kind = kind;
    task->period = period;
    task->tid = (int)syscall(SYS_gettid);
    return task;
}

static inline void linked(const char *from, const char *to)
{
    struct chain *chain = &truth->chain[__atomic_fetch_add(&truth->chains, 1, __ATOMIC_SEQ_CST)];
    chain->from = from;
    chain->to = to;
}

static inline void job_begins(struct task *task)
{
    if (!task->charged) /* what it did before its first job is no part of it */
        task->charged = -clock_ns(CLOCK_THREAD_CPUTIME_ID);
    task->began = cpu_ns();
}

static inline void job_ends(struct task *task)
{
    int64_t c = cpu_ns() - task->began;
    task->jobs++;
    task->c_sum += c;
    task->c_most = c > task->c_most ? c : task->c_most;
    if (task->jobs > WARM_UP && c > task->c_most_warm)
        task->c_most_warm = c;
}

/* The task as it last was; call it at the end of the thread. */
static inline void task_ends(struct task *task)
{
    task->charged += clock_ns(CLOCK_THREAD_CPUTIME_ID);
    syscall(SYS_sched_getattr, 0, &task->attr, sizeof task->attr, 0);
    sched_getaffinity(0, sizeof task->cpus, &task->cpus);
}

static inline void until(int64_t ns)
{
    struct timespec at = spec_of(ns);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
        ;
}

/* A release without a grid: the least gap is kept. */
static inline void released(struct task *task, int64_t at)
{
    if (task->release && (!task->min_gap || at - task->release < task->min_gap))
        task->min_gap = at - task->release;
    task->release = at;
}

/* What going to sleep and waking cost is no part of the job in the program: a host may steal there. */
static inline void suspend(struct task *task, int64_t ns)
{
    struct timespec length = spec_of(ns);
    int64_t began = now_ns(), cpu = cpu_ns();
    clock_nanosleep(CLOCK_MONOTONIC, 0, &length, NULL);
    task->began += cpu_ns() - cpu;
    task->suspended += now_ns() - began;
}

static inline struct section *section_begins(struct task *task, const char *lock, int line)
{
    struct section *at = task->sections;
    while (at->lock && (at->line != line || strcmp(at->lock, lock)))
        at++;
    at->lock = lock;
    at->line = line;
    at->began = cpu_ns();
    return at;
}

static inline void section_ends(struct section *at)
{
    int64_t c = cpu_ns() - at->began;
    at->count++;
    at->sum += c;
    at->most = c > at->most ? c : at->most;
}

/* A macro, so that each use is a call site of its own. */
#define LOCKED(TASK, LOCK, NS)                                                                               \
    do {                                                                                                     \
        pthread_mutex_lock(&LOCK);                                                                           \
        struct section *at_ = section_begins(TASK, #LOCK, __LINE__);                                         \
        work(NS);                                                                                            \
        section_ends(at_);                                                                                   \
        pthread_mutex_unlock(&LOCK);                                                                         \
    } while (0)

static inline void inheriting(pthread_mutex_t *lock)
{
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(lock, &attr);
}

static inline void run_threads(int count, void *(*const threads[])(void *))
{
    pthread_t ids[TASKS];
    for (int i = 0; i < count; i++)
        if (pthread_create(&ids[i], NULL, threads[i], NULL))
            abort();
    for (int i = 0; i < count; i++)
        pthread_join(ids[i], NULL);
}

static inline void print_task(const struct task *t)
{
    static const char *const policies[] = {"other", "fifo", "rr", "batch", "", "idle", "deadline"};
    const char *comma = "";
    double jobs = t->jobs ? (double)t->jobs : 1;
    printf("{\"name\": \"%s\", \"tid\": %d, \"kind\": \"%s\", ", t->name, t->tid, t->kind);
    printf("\"also\": \"%s\", \"period_ns\": %lld, ", t->also ? t->also : t->kind, (long long)t->period);
    printf("\"second_period_ns\": %lld, ", (long long)t->second_period);
    printf("\"min_gap_ns\": %lld, \"jobs\": %ld, ", (long long)t->min_gap, t->jobs);
    printf("\"merged\": %ld, \"skipped\": %ld, ", t->merged, t->skipped);
    printf("\"c_mean_ns\": %.0f, \"c_max_ns\": %lld, ", (double)t->c_sum / jobs, (long long)t->c_most);
    printf("\"c_max_warm_ns\": %lld, ", (long long)t->c_most_warm);
    printf("\"charged_mean_ns\": %.0f, ", (double)t->charged / jobs);
    printf("\"suspension_mean_ns\": %.0f, ", (double)t->suspended / jobs);
    printf("\"policy\": \"%s\", \"priority\": %u, ", policies[t->attr.policy % 7], t->attr.priority);
    if (t->attr.policy == 6)
        printf("\"runtime_ns\": %llu, \"deadline_ns\": %llu, ", (unsigned long long)t->attr.runtime,
               (unsigned long long)t->attr.deadline);
    printf("\"cpus\": [");
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &t->cpus)) {
            printf("%s%d", comma, cpu);
            comma = ", ";
        }
    printf("], \"sections\": [");
    for (const struct section *s = t->sections; s < t->sections + SECTIONS && s->lock; s++)
        printf("%s{\"lock\": \"%s\", \"line\": %d, \"count\": %ld, \"mean_ns\": %.0f, \"max_ns\": %lld}",
               s > t->sections ? ", " : "", s->lock, s->line, s->count,
               s->count ? (double)s->sum / (double)s->count : 0, (long long)s->most);
    printf("]}");
}

static inline int print_truth(void)
{
    printf("{\"measured\": %s, \"tasks\": [", blind ? "false" : "true");
    for (int i = 0; i < truth->tasks; i++) {
        printf("%s", i ? ", " : "");
        print_task(&truth->task[i]);
    }
    printf("], \"chains\": [");
    for (int i = 0; i < truth->chains; i++)
        printf("%s{\"from\": \"%s\", \"to\": \"%s\", \"share\": 1.0}", i ? ", " : "", truth->chain[i].from,
               truth->chain[i].to);
    printf("]}\n");
    return 0;
}

/* A program of these threads and nothing else. */
#define MAIN(...)                                                                                            \
    int main(int argc, char **argv)                                                                          \
    {                                                                                                        \
        void *(*const threads[])(void *) = {__VA_ARGS__};                                                    \
        setup(argc, argv);                                                                                   \
        run_threads(sizeof threads / sizeof *threads, threads);                                              \
        return print_truth();                                                                                \
    }
#endif
