/* One mutex of each kind: says by its lock word whether the kernel knows its owner, and what still works. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

enum { RACERS = 8, RACED = 200, WAITERS = 1 << 31, TID = 0x3fffffff };

static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER, tried = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t timed = PTHREAD_MUTEX_INITIALIZER, clocked = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t checking = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_mutex_t adaptive = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t made, made_recursive, robust, own, ceiling, shared, shared_robust, outside;
static pthread_mutex_t forked = PTHREAD_MUTEX_INITIALIZER, crossed = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t condition_lock = PTHREAD_MUTEX_INITIALIZER, raced[RACED];
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t gate;
static mtx_t modern, modern_recursive;
static int turn, counts[RACED];

static uint32_t word(void *lock)
{
    return __atomic_load_n((uint32_t *)lock, __ATOMIC_SEQ_CST);
}

#define SAY(name, what) printf("%s %s\n", name, what)
#define BITS(lock) ((lock).__data.__kind & 96) /* inherit 32, ceiling 64 */
#define OWNER(lock) SAY(#lock, (word(&lock) & TID) == (uint32_t)gettid() ? "inherit" : "plain")
#define MUST(what)                                                                                           \
    do                                                                                                       \
        if (!(what)) {                                                                                       \
            printf("line %d: %s\n", __LINE__, #what);                                                        \
            exit(1);                                                                                         \
        }                                                                                                    \
    while (0)
#define LOCKED(lock)                                                                                         \
    do {                                                                                                     \
        MUST(pthread_mutex_lock(&lock) == 0);                                                                \
        OWNER(lock);                                                                                         \
        MUST(pthread_mutex_unlock(&lock) == 0 && word(&lock) == 0);                                          \
    } while (0)

static void make(pthread_mutex_t *lock, int type, int protocol, int is_robust, int is_shared)
{
    pthread_mutexattr_t how;
    pthread_mutexattr_init(&how);
    pthread_mutexattr_settype(&how, type);
    pthread_mutexattr_setprotocol(&how, protocol);
    pthread_mutexattr_setrobust(&how, is_robust);
    pthread_mutexattr_setpshared(&how, is_shared);
    MUST(pthread_mutex_init(lock, &how) == 0);
    int kept;
    pthread_mutexattr_getprotocol(&how, &kept);
    MUST(kept == protocol);
}

static void *dies(void *lock)
{
    MUST(pthread_mutex_lock(lock) == 0);
    return NULL;
}

static void *waits(void *lock)
{
    MUST(pthread_mutex_lock(lock) == 0 && pthread_mutex_unlock(lock) == 0);
    return NULL;
}

static void *unlocks(void *lock)
{
    MUST(pthread_mutex_unlock(lock) == 0);
    return NULL;
}

static void *turns(void *unused)
{
    pthread_mutex_lock(&condition_lock);
    turn = 1;
    pthread_cond_signal(&turned);
    while (turn == 1)
        pthread_cond_wait(&turned, &condition_lock);
    pthread_mutex_unlock(&condition_lock);
    return unused;
}

static void *races(void *unused)
{
    for (int at = 0; at < RACED; at++) {
        pthread_barrier_wait(&gate);
        pthread_mutex_lock(&raced[at]);
        int seen = counts[at];
        sched_yield();
        counts[at] = seen + 1;
        pthread_mutex_unlock(&raced[at]);
    }
    return unused;
}

static struct timespec in_ms(clockid_t clock, long ms)
{
    struct timespec at;
    clock_gettime(clock, &at);
    at.tv_nsec += ms * 1000000;
    at.tv_sec += at.tv_nsec / 1000000000;
    at.tv_nsec %= 1000000000;
    return at;
}

static void run(void *(*what)(void *), void *with)
{
    pthread_t thread;
    pthread_create(&thread, NULL, what, with);
    pthread_join(thread, NULL);
}

static void first_locks(void)
{
    struct timespec soon = in_ms(CLOCK_REALTIME, 20), later = in_ms(CLOCK_MONOTONIC, 20);
    LOCKED(plain);
    LOCKED(adaptive);
    MUST(pthread_mutex_trylock(&tried) == 0);
    OWNER(tried);
    MUST(pthread_mutex_trylock(&tried) == EBUSY && pthread_mutex_unlock(&tried) == 0);
    MUST(pthread_mutex_timedlock(&timed, &soon) == 0);
    OWNER(timed);
    MUST(pthread_mutex_timedlock(&timed, &soon) == ETIMEDOUT && pthread_mutex_unlock(&timed) == 0);
    MUST(pthread_mutex_clocklock(&clocked, CLOCK_MONOTONIC, &later) == 0);
    OWNER(clocked);
    MUST(pthread_mutex_clocklock(&clocked, CLOCK_MONOTONIC, &later) == ETIMEDOUT);
    MUST(pthread_mutex_unlock(&clocked) == 0);
    MUST(pthread_mutex_lock(&recursive) == 0);
    LOCKED(checking);
    MUST(pthread_mutex_lock(&recursive) == 0 && pthread_mutex_unlock(&recursive) == 0);
    OWNER(recursive);
    MUST(pthread_mutex_unlock(&recursive) == 0 && pthread_mutex_unlock(&recursive) == EPERM);
    MUST(pthread_mutex_lock(&checking) == 0 && pthread_mutex_lock(&checking) == EDEADLK);
    MUST(pthread_mutex_unlock(&checking) == 0 && pthread_mutex_unlock(&checking) == EPERM);
}

static void made_ones(void)
{
    MUST(pthread_mutex_init(&made, NULL) == 0);
    LOCKED(made);
    MUST(pthread_mutex_destroy(&made) == 0);
    make(&made_recursive, PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_NONE, 0, 0);
    MUST(pthread_mutex_lock(&made_recursive) == 0 && pthread_mutex_lock(&made_recursive) == 0);
    OWNER(made_recursive);
    make(&robust, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_ROBUST, 0);
    run(dies, &robust);
    MUST(pthread_mutex_lock(&robust) == EOWNERDEAD && pthread_mutex_consistent(&robust) == 0);
    SAY("robust", BITS(robust) == 32 ? "inherit" : "plain"); /* its word has a TID anyway */
    MUST(pthread_mutex_unlock(&robust) == 0 && pthread_mutex_lock(&robust) == 0);
    make(&own, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT, 0, 0);
    LOCKED(own);
    make(&ceiling, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_PROTECT, 0, 0);
    SAY("ceiling", BITS(ceiling) == 64 ? "ceiling" : "changed");
    make(&shared, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, 0, PTHREAD_PROCESS_SHARED);
    LOCKED(shared);
    make(&shared_robust, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_ROBUST,
         PTHREAD_PROCESS_SHARED);
    MUST(pthread_mutex_lock(&shared_robust) == 0);
    SAY("shared_robust", BITS(shared_robust) == 32 ? "inherit" : "plain");
    MUST(mtx_init(&modern, mtx_plain) == thrd_success && mtx_lock(&modern) == thrd_success);
    OWNER(modern);
    MUST(mtx_init(&modern_recursive, mtx_plain | mtx_recursive) == thrd_success);
    MUST(mtx_lock(&modern_recursive) == thrd_success && mtx_trylock(&modern_recursive) == thrd_success);
    OWNER(modern_recursive);
}

int main(void)
{
    pthread_t threads[RACERS];
    int (*real)(pthread_mutex_t *) =
        (int (*)(pthread_mutex_t *))dlsym(dlopen("libc.so.6", RTLD_NOW), "pthread_mutex_lock");
    first_locks();
    made_ones();
    MUST(real(&outside) == 0 && pthread_mutex_trylock(&outside) == EBUSY);
    MUST(pthread_mutex_unlock(&outside) == 0);
    LOCKED(outside); /* as it was, though it is free now */
    pthread_mutex_lock(&plain);
    pthread_create(threads, NULL, waits, &plain);
    while (word(&plain) == (uint32_t)gettid() || word(&plain) == 1)
        sched_yield();
    SAY("waited", word(&plain) == ((uint32_t)gettid() | (uint32_t)WAITERS) ? "inherit" : "plain");
    pthread_mutex_unlock(&plain);
    pthread_join(threads[0], NULL);
    pthread_mutex_lock(&condition_lock);
    pthread_create(threads, NULL, turns, NULL);
    while (turn == 0)
        pthread_cond_wait(&turned, &condition_lock);
    OWNER(condition_lock);
    struct timespec soon = in_ms(CLOCK_REALTIME, 5);
    MUST(pthread_cond_timedwait(&turned, &condition_lock, &soon) == ETIMEDOUT);
    turn = 2;
    pthread_cond_broadcast(&turned);
    pthread_mutex_unlock(&condition_lock);
    pthread_join(threads[0], NULL);
    pthread_barrier_init(&gate, NULL, RACERS);
    for (int at = 0; at < RACERS; at++)
        pthread_create(&threads[at], NULL, races, NULL);
    for (int at = 0; at < RACERS; at++)
        pthread_join(threads[at], NULL);
    int inherits = 0;
    for (int at = 0; at < RACED; at++) {
        MUST(counts[at] == RACERS && pthread_mutex_lock(&raced[at]) == 0);
        inherits += (word(&raced[at]) & TID) == (uint32_t)gettid();
    }
    printf("raced %d\n", inherits);
    pthread_mutex_lock(&crossed);
    run(unlocks, &crossed);
    LOCKED(crossed);
    pthread_mutex_lock(&forked);
    fflush(stdout);
    if (fork() == 0) {
        MUST(pthread_mutex_unlock(&forked) == 0 && word(&forked) == 0);
        LOCKED(forked);
        fflush(stdout);
        _exit(0);
    }
    int status;
    wait(&status);
    MUST(status == 0 && pthread_mutex_unlock(&forked) == 0);
    return 0;
}
