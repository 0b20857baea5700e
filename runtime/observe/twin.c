/*
 * A program that does what another one did: the same threads, jobs, sections, chains and suspensions. It has
 * the names of threads and locks of that program, and nothing else of it.
 *
 *     cc -O2 -pthread twin.c -o twin
 *     sudo ./twin [SECONDS]           0: for ever
 *
 * Each thread repeats its jobs as long as it runs. A policy or CPU that the kernel refuses it runs without,
 * and says so.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define S 1000000000LL
#define NEAR 16000  /* ns: so little is computed without a look at the clock */
#define FEW 2000    /* ns: so little is what an operation takes itself */
#define MUCH 100000 /* ns: what a job takes in excess at most, else it was disturbed */
#define PHASES (S / 10)
#define MOST 5000000 /* ns: between two looks */
#define PIECES 801   /* of calibration, of so many rounds */
#define PIECE_ROUNDS 10000

enum { COMPUTE, LOCK, UNLOCK, SUSPEND, WAKE }; /* operations */
enum { AT, AFTER, WOKEN, YIELD };              /* how a thread waits for its next job */
enum { NONE, INHERIT, PROTECT, SPIN };         /* protocols */

struct op { /* target: a lock, or a thread to wake */
    int kind, target;
    int64_t ns;
};

struct job { /* gap: from the release before, or, of AFTER, from the end before; ops: until which */
    int64_t gap;
    unsigned ops;
};

struct lock {
    void *object;
    int protocol, ceiling;
};

struct thread { /* first: release of the job `begin`, which is the first; cpus: ends with -1 */
    const char *name;
    int policy, priority;
    const int *cpus;
    int site;
    int64_t first, runtime, deadline, period;
    unsigned begin, count;
    const struct job *jobs;
    const struct op *ops;
};

struct attr { /* as sched_setattr(2) wants it; not every C library has it */
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
};

/* -- tables */
static pthread_mutex_t data_lock;
static const struct lock locks[] = {{&data_lock, INHERIT, 0}};
static const struct job jobs_0[] = {{10000000, 4}};
static const struct op ops_0[] = {{COMPUTE, 0, 200000}, {LOCK, 0, 0}, {COMPUTE, 0, 100000}, {UNLOCK, 0, 0}};
static const int cpus_0[] = {-1};
static const struct thread threads[] = {
    {"example", SCHED_OTHER, 0, cpus_0, AT, 0, 0, 0, 0, 0, 1, jobs_0, ops_0},
};
#define LENGTH S
#define PHASE 0
/* -- end of tables */

#define THREADS (sizeof threads / sizeof threads[0])
#define LOCKS (sizeof locks / sizeof locks[0])

static sem_t woken[THREADS];
static int64_t start, end;
static double rounds_per_ns; /* as it was found first; each thread follows its own */
static volatile int over;

static int64_t clock_ns(clockid_t clock)
{
    struct timespec at;
    clock_gettime(clock, &at);
    return at.tv_sec * S + at.tv_nsec;
}

static struct timespec spec_of(int64_t ns)
{
    struct timespec at;
    at.tv_sec = (time_t)(ns / S);
    at.tv_nsec = (long)(ns % S);
    return at;
}

static void spin(double rounds)
{
    unsigned long x = 1;
    for (int64_t left = (int64_t)rounds; left > 0; left--) {
        x = x * 69069 + 1;
        __asm__ volatile("" : "+r"(x));
    }
}

/* Computes until the thread's CPU time is `target`. The speed of a machine drifts, so that it looks at the
 * clock after half of what is left, and follows; a look takes time, too, and counts. */
static void compute(int64_t target, double *rate, int64_t cut)
{
    int64_t now = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    while (target - now > NEAR) {
        double ns = (double)(target - now) / 2;
        ns = ns < MOST ? ns : MOST;
        spin(ns * *rate);
        int64_t before = now;
        now = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        double took = (double)(now - before);
        if (took > 0)
            *rate += (ns * *rate / took - *rate) * took / (took + NEAR);
        if (now - before > MOST / 2 && clock_ns(CLOCK_MONOTONIC) > cut)
            return;
    }
    if (target > now)
        spin((double)(target - now) * *rate);
}

static void until(int64_t ns)
{
    struct timespec at = spec_of(ns);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
        ;
}

static void pause_for(int64_t ns)
{
    struct timespec at = spec_of(ns > 0 ? ns : 0);
    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &at, &at) == EINTR)
        ;
}

/* In ns as they were measured: without the slack that the kernel gives ordinary threads. */
static void suspend(const struct thread *own, int64_t ns)
{
    int ordinary = own->policy != SCHED_FIFO && own->policy != SCHED_RR && own->site != YIELD;
    if (ordinary)
        prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    pause_for(ns);
    if (ordinary)
        prctl(PR_SET_TIMERSLACK, 0UL, 0UL, 0UL, 0UL);
}

static void take(const struct lock *lock, int take)
{
    if (lock->protocol == SPIN)
        take ? pthread_spin_lock((pthread_spinlock_t *)lock->object)
             : pthread_spin_unlock((pthread_spinlock_t *)lock->object);
    else
        take ? pthread_mutex_lock((pthread_mutex_t *)lock->object)
             : pthread_mutex_unlock((pthread_mutex_t *)lock->object);
}

struct state { /* of a thread; owed: what its jobs take in excess, by what they do after the last look */
    double rate;
    int64_t owed;
};

static void do_job(const struct thread *own, unsigned job, struct state *state, int64_t cut)
{
    const struct op *begin = own->ops + (job ? own->jobs[job - 1].ops : 0);
    const struct op *last = own->ops + own->jobs[job].ops;
    int64_t before = clock_ns(CLOCK_MONOTONIC), target = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    int64_t look = clock_ns(CLOCK_MONOTONIC) - before; /* the first one after a sleep is slow */
    int64_t less = begin->kind == COMPUTE && begin->ns > 4 * state->owed ? state->owed : 0;
    target -= (look < 6 * NEAR ? look / 2 : 0) + less;
    for (const struct op *op = begin; op < last; op++) {
        if (op->kind == COMPUTE) {
            target += op->ns;
            int inside = op == begin || op[-1].kind == LOCK; /* what came before took no time */
            if (op->ns > NEAR || (!inside && op->ns > FEW))
                compute(target, &state->rate, cut);
            else if (inside)
                spin((double)op->ns * state->rate);
        } else if (op->kind == SUSPEND) {
            suspend(own, op->ns);
        } else if (op->kind == WAKE) {
            sem_post(&woken[op->target]);
        } else {
            take(&locks[op->target], op->kind == LOCK);
        }
    }
    if (begin < last && (last[-1].kind != COMPUTE || last[-1].ns <= NEAR)) {
        int64_t more = clock_ns(CLOCK_THREAD_CPUTIME_ID) - target - less;
        more = more < MUCH ? more > -MUCH ? more : -MUCH : MUCH;
        state->owed += more / 8;
        state->owed = state->owed < MUCH ? state->owed > 0 ? state->owed : 0 : MUCH;
    }
}

static void refused(const struct thread *own, const char *what)
{
    fprintf(stderr, "%s: the kernel refused %s (%s); it runs without\n", own->name, what, strerror(errno));
}

static void become(const struct thread *own)
{
    struct sched_param param;
    cpu_set_t cpus;
    pthread_setname_np(pthread_self(), own->name);
    CPU_ZERO(&cpus);
    for (const int *cpu = own->cpus; *cpu >= 0; cpu++)
        CPU_SET(*cpu, &cpus);
    if (CPU_COUNT(&cpus) && own->policy != SCHED_DEADLINE && sched_setaffinity(0, sizeof cpus, &cpus))
        refused(own, "its CPUs");
    memset(&param, 0, sizeof param);
    param.sched_priority = own->priority;
    if (own->policy != SCHED_OTHER && own->policy != SCHED_DEADLINE &&
        sched_setscheduler(0, own->policy, &param))
        refused(own, "its policy");
}

/* Whether it is served as it was: else it sleeps. */
static int reserve(const struct thread *own)
{
    struct attr attr;
    memset(&attr, 0, sizeof attr);
    attr.size = sizeof attr;
    attr.policy = SCHED_DEADLINE;
    attr.runtime = (uint64_t)own->runtime;
    attr.deadline = (uint64_t)own->deadline;
    attr.period = (uint64_t)own->period;
    if (!syscall(SYS_sched_setattr, 0, &attr, 0))
        return 1;
    refused(own, "SCHED_DEADLINE");
    return 0;
}

static void *run(void *argument)
{
    const struct thread *own = argument;
    int64_t release = start + own->first;
    struct state state = {rounds_per_ns, 0};
    unsigned job = own->begin;
    int served = 0;
    become(own);
    if (own->policy == SCHED_DEADLINE) {
        until(release - (own->site == YIELD ? own->period : 0));
        served = reserve(own);
    }
    for (int first = 1; !over; first = 0, job = (job + 1) % own->count) {
        int64_t gap = own->jobs[job].gap;
        if (own->site == WOKEN) {
            while (sem_wait(&woken[own - threads]))
                ;
        } else if (own->site == YIELD && served) {
            sched_yield();
            release = clock_ns(CLOCK_MONOTONIC);
        } else if (own->site == AFTER && !first) {
            int64_t left = end - clock_ns(CLOCK_MONOTONIC);
            pause_for(gap < left ? gap : left);
            release = clock_ns(CLOCK_MONOTONIC);
        } else {
            release += first ? 0 : gap;
            until(release < end ? release : end);
        }
        if (over || release >= end)
            break;
        do_job(own, job, &state, release + S > end ? release + S : end);
    }
    return NULL;
}

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The median of many pieces: from the least one stolen time may have been taken off late. */
static void calibrate(void)
{
    static int64_t pieces[PIECES];
    spin(100 * PIECE_ROUNDS);
    for (int i = 0; i < PIECES; i++) {
        int64_t began = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        spin(PIECE_ROUNDS);
        pieces[i] = clock_ns(CLOCK_THREAD_CPUTIME_ID) - began;
    }
    qsort(pieces, PIECES, sizeof pieces[0], by_size);
    rounds_per_ns = PIECE_ROUNDS / (double)pieces[PIECES / 2];
}

static void make(const struct lock *lock)
{
    static const int protocols[] = {PTHREAD_PRIO_NONE, PTHREAD_PRIO_INHERIT, PTHREAD_PRIO_PROTECT};
    pthread_mutexattr_t attr;
    if (lock->protocol == SPIN) {
        pthread_spin_init((pthread_spinlock_t *)lock->object, PTHREAD_PROCESS_PRIVATE);
        return;
    }
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_setprotocol(&attr, protocols[lock->protocol]);
    if (lock->protocol == PROTECT)
        pthread_mutexattr_setprioceiling(&attr, lock->ceiling);
    pthread_mutex_init((pthread_mutex_t *)lock->object, &attr);
}

int main(int argc, char **argv)
{
    pthread_t ids[THREADS];
    double seconds = argc > 1 ? atof(argv[1]) : (double)LENGTH / S;
    int64_t longest = 0;
    for (size_t i = 0; i < THREADS; i++)
        for (unsigned k = 0; k < threads[i].jobs[threads[i].count - 1].ops; k++)
            longest = threads[i].ops[k].ns > longest ? threads[i].ops[k].ns : longest;
    /* so long without a wait ends it: it never takes the machine */
    rlim_t most = (rlim_t)(1000000 + (longest < 5 * S ? longest : 5 * S) / 500);
    setrlimit(RLIMIT_RTTIME, &(struct rlimit){most, most});
    if (seconds > 0)
        alarm((unsigned)(2 * seconds) + 10);
    calibrate();
    for (size_t i = 0; i < LOCKS; i++)
        if (locks[i].object)
            make(&locks[i]);
    for (size_t i = 0; i < THREADS; i++)
        sem_init(&woken[i], 0, 0);
    start = clock_ns(CLOCK_MONOTONIC) + S / 20;
    start += (PHASE - start % PHASES + PHASES) % PHASES; /* ticks come within jobs as they did */
    end = seconds > 0 ? start + (int64_t)(seconds * (double)S) : INT64_MAX;
    for (size_t i = 0; i < THREADS; i++)
        if (pthread_create(&ids[i], NULL, run, (void *)&threads[i]))
            return 1;
    for (size_t i = 0; i < THREADS; i++)
        if (threads[i].site != WOKEN)
            pthread_join(ids[i], NULL);
    over = 1;
    for (size_t i = 0; i < THREADS; i++)
        sem_post(&woken[i]);
    for (size_t i = 0; i < THREADS; i++)
        if (threads[i].site == WOKEN)
            pthread_join(ids[i], NULL);
    return 0;
}
