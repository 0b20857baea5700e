/* The calls of a program that are recorded; shim.c says how. */
#include "shim.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

/* --- locks: tried first, so that a wait is seen -------------------------------------------------- */

/* Before a lock is tried for the first time. */
static inline void before(void *lock, enum lock what, intptr_t caller)
{
    if ((what == MUTEX || what == C11) && INHERITS()) {
        int64_t said = inherit(lock);
        if (said != 0)
            PUT(INIT, AT(lock), caller, said);
    }
}

#define IS_GOT(result) ((result) == 0 || (result) == EOWNERDEAD)

#define LOCK(name, try_name, type, what, is_busy)                                                            \
    EXPORT int name(type *lock)                                                                              \
    {                                                                                                        \
        before((void *)lock, what, CALLER);                                                                  \
        int result = REAL(try_name)(lock);                                                                   \
        if (is_busy(result)) {                                                                               \
            PUT(WANT, AT(lock), CALLER, what);                                                               \
            struct stay stay = leave();                                                                      \
            result = REAL(name)(lock);                                                                       \
            back(stay);                                                                                      \
        } else if (!IS_GOT(result))                                                                          \
            result = REAL(name)(lock);                                                                       \
        if (IS_GOT(result))                                                                                  \
            put_edge(GOT, AT(lock), CALLER, what);                                                           \
        return result;                                                                                       \
    }                                                                                                        \
    EXPORT int try_name(type *lock)                                                                          \
    {                                                                                                        \
        before((void *)lock, what, CALLER);                                                                  \
        int result = REAL(try_name)(lock);                                                                   \
        if (IS_GOT(result))                                                                                  \
            put_edge(GOT, AT(lock), CALLER, what);                                                           \
        return result;                                                                                       \
    }

/* One that is not got was not waited for: nothing else ends its WANT. */
#define TIMED_LOCK(name, try_name, parameters, call, what)                                                   \
    EXPORT int name parameters                                                                               \
    {                                                                                                        \
        before(lock, what, CALLER);                                                                          \
        int result = REAL(try_name)(lock);                                                                   \
        if (!IS_GOT(result)) {                                                                               \
            uint64_t since_ns = now();                                                                       \
            struct stay stay = leave();                                                                      \
            result = call;                                                                                   \
            back(stay);                                                                                      \
            if (IS_GOT(result))                                                                              \
                put(since_ns, WANT, AT(lock), CALLER, what);                                                 \
        }                                                                                                    \
        if (IS_GOT(result))                                                                                  \
            put_edge(GOT, AT(lock), CALLER, what);                                                           \
        return result;                                                                                       \
    }

#define UNLOCKED(name, type, what)                                                                           \
    EXPORT int name(type *lock)                                                                              \
    {                                                                                                        \
        put_edge(UNLOCK, AT(lock), CALLER, what);                                                            \
        if ((what == MUTEX || what == C11) && INHERITS())                                                    \
            take_over((void *)lock);                                                                         \
        return REAL(name)(lock);                                                                             \
    }

#define BUSY(result) ((result) == EBUSY)
#define UNTIL const struct timespec *until

/* Before Linux 5.14 and glibc 2.34 one with inheritance waits by no other clock. */
static int clocklock(pthread_mutex_t *lock, clockid_t clock, UNTIL)
{
    int result = REAL(pthread_mutex_clocklock)(lock, clock, until);
    if (result != EINVAL || clock != CLOCK_MONOTONIC || (unsigned long)until->tv_nsec >= 1000000000 ||
        !INHERITS())
        return result;
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    clock_gettime(CLOCK_REALTIME, &to);
    int64_t ns = to.tv_nsec + (int64_t)until->tv_nsec - from.tv_nsec + 1000000000;
    to.tv_sec += until->tv_sec - from.tv_sec - 1 + ns / 1000000000;
    to.tv_nsec = ns % 1000000000;
    return REAL(pthread_mutex_timedlock)(lock, &to);
}

LOCK(pthread_mutex_lock, pthread_mutex_trylock, pthread_mutex_t, MUTEX, BUSY)
TIMED_LOCK(pthread_mutex_timedlock, pthread_mutex_trylock, (pthread_mutex_t * lock, UNTIL),
           REAL(pthread_mutex_timedlock)(lock, until), MUTEX)
TIMED_LOCK(pthread_mutex_clocklock, pthread_mutex_trylock, (pthread_mutex_t * lock, clockid_t clock, UNTIL),
           clocklock(lock, clock, until), MUTEX)
UNLOCKED(pthread_mutex_unlock, pthread_mutex_t, MUTEX)
LOCK(pthread_rwlock_rdlock, pthread_rwlock_tryrdlock, pthread_rwlock_t, READER, BUSY)
LOCK(pthread_rwlock_wrlock, pthread_rwlock_trywrlock, pthread_rwlock_t, WRITER, BUSY)
TIMED_LOCK(pthread_rwlock_timedrdlock, pthread_rwlock_tryrdlock, (pthread_rwlock_t * lock, UNTIL),
           REAL(pthread_rwlock_timedrdlock)(lock, until), READER)
TIMED_LOCK(pthread_rwlock_timedwrlock, pthread_rwlock_trywrlock, (pthread_rwlock_t * lock, UNTIL),
           REAL(pthread_rwlock_timedwrlock)(lock, until), WRITER)
TIMED_LOCK(pthread_rwlock_clockrdlock, pthread_rwlock_tryrdlock,
           (pthread_rwlock_t * lock, clockid_t clock, UNTIL),
           REAL(pthread_rwlock_clockrdlock)(lock, clock, until), READER)
TIMED_LOCK(pthread_rwlock_clockwrlock, pthread_rwlock_trywrlock,
           (pthread_rwlock_t * lock, clockid_t clock, UNTIL),
           REAL(pthread_rwlock_clockwrlock)(lock, clock, until), WRITER)
UNLOCKED(pthread_rwlock_unlock, pthread_rwlock_t, WRITER)
LOCK(pthread_spin_lock, pthread_spin_trylock, volatile int, SPIN, BUSY)
UNLOCKED(pthread_spin_unlock, volatile int, SPIN)

_Static_assert(thrd_success == 0 && thrd_busy != EOWNERDEAD && thrd_timedout != EOWNERDEAD &&
                   thrd_error != EOWNERDEAD,
               "results of C11 read as those of pthread");
#define C11_BUSY(result) ((result) == thrd_busy)
LOCK(mtx_lock, mtx_trylock, mtx_t, C11, C11_BUSY)
TIMED_LOCK(mtx_timedlock, mtx_trylock, (mtx_t *restrict lock, const struct timespec *restrict until),
           REAL(mtx_timedlock)(lock, until), C11)
UNLOCKED(mtx_unlock, mtx_t, C11)

EXPORT int pthread_mutex_init(pthread_mutex_t *lock, const pthread_mutexattr_t *how)
{
    int protocol = 0, type = 0, robust = 0, shared = 0;
    if (how != NULL) {
        pthread_mutexattr_getprotocol(how, &protocol);
        pthread_mutexattr_gettype(how, &type);
        pthread_mutexattr_getrobust(how, &robust);
        pthread_mutexattr_getpshared(how, &shared);
    }
    enum change change = INHERITS() ? make_inheriting(lock, how, protocol, shared) : AS_MADE;
    if (change == CHANGED)
        protocol = PTHREAD_PRIO_INHERIT;
    PUT(INIT, AT(lock), CALLER, protocol | type << 8 | robust << 16 | shared << 24 | (int64_t)change << 25);
    return change == CHANGED ? 0 : REAL(pthread_mutex_init)(lock, how);
}

EXPORT int mtx_init(mtx_t *lock, int type)
{
    int result = REAL(mtx_init)(lock, type);
    int64_t said = INHERITS() && result == thrd_success ? inherit((void *)lock) : 0;
    int64_t made = (type & mtx_recursive) ? PTHREAD_MUTEX_RECURSIVE << 8 : 0;
    PUT(INIT, AT(lock), CALLER, said == 0 ? made : said);
    return result;
}

/* --- condition variables: a wait gives the mutex up and gets it back ----------------------------- */

#define WAITED(name, parameters, arguments, what)                                                            \
    EXPORT int name parameters                                                                               \
    {                                                                                                        \
        PUT(COND_WAIT, AT(condition), CALLER, AT(lock));                                                     \
        struct stay stay = leave();                                                                          \
        int result = REAL(name) arguments;                                                                   \
        back(stay);                                                                                          \
        put_edge(GOT, AT(lock), CALLER, what);                                                               \
        return result;                                                                                       \
    }

#define SIGNALLED(name, type, all)                                                                           \
    EXPORT int name(type *condition)                                                                         \
    {                                                                                                        \
        PUT(SIGNAL, AT(condition), CALLER, all);                                                             \
        return REAL(name)(condition);                                                                        \
    }

WAITED(pthread_cond_wait, (pthread_cond_t * condition, pthread_mutex_t *lock), (condition, lock), MUTEX)
WAITED(pthread_cond_timedwait, (pthread_cond_t * condition, pthread_mutex_t *lock, UNTIL),
       (condition, lock, until), MUTEX)
WAITED(pthread_cond_clockwait, (pthread_cond_t * condition, pthread_mutex_t *lock, clockid_t clock, UNTIL),
       (condition, lock, clock, until), MUTEX)
WAITED(cnd_wait, (cnd_t * condition, mtx_t *lock), (condition, lock), C11)
WAITED(cnd_timedwait,
       (cnd_t *restrict condition, mtx_t *restrict lock, const struct timespec *restrict until),
       (condition, lock, until), C11)
SIGNALLED(pthread_cond_signal, pthread_cond_t, 0)
SIGNALLED(pthread_cond_broadcast, pthread_cond_t, 1)
SIGNALLED(cnd_signal, cnd_t, 0)
SIGNALLED(cnd_broadcast, cnd_t, 1)

/* --- semaphores and barriers --------------------------------------------------------------------- */

#define TAKEN(name, parameters, arguments)                                                                   \
    EXPORT int name parameters                                                                               \
    {                                                                                                        \
        int kept = errno;                                                                                    \
        pthread_testcancel(); /* it is such a point, also where it does not wait */                          \
        int result = REAL(sem_trywait)(semaphore);                                                           \
        bool waits = result != 0;                                                                            \
        errno = kept;                                                                                        \
        if (waits) {                                                                                         \
            struct stay stay = leave();                                                                      \
            if (stay.ns != 0)                                                                                \
                put(stay.ns, ENTER, SYS_futex, AT(semaphore), 0);                                            \
            result = REAL(name) arguments;                                                                   \
            uint64_t ns = back(stay);                                                                        \
            if (ns != 0)                                                                                     \
                put(ns, EXIT, SYS_futex, result, 0);                                                         \
        }                                                                                                    \
        if (result == 0)                                                                                     \
            PUT(TAKE, AT(semaphore), CALLER, waits);                                                         \
        return result;                                                                                       \
    }

TAKEN(sem_wait, (sem_t * semaphore), (semaphore))
TAKEN(sem_timedwait, (sem_t *restrict semaphore, const struct timespec *restrict until), (semaphore, until))
TAKEN(sem_clockwait, (sem_t *restrict semaphore, clockid_t clock, const struct timespec *restrict until),
      (semaphore, clock, until))

EXPORT int sem_trywait(sem_t *semaphore)
{
    int result = REAL(sem_trywait)(semaphore);
    if (result == 0)
        PUT(TAKE, AT(semaphore), CALLER, 0);
    return result;
}

EXPORT int sem_post(sem_t *semaphore)
{
    PUT(POST, AT(semaphore), CALLER, 0);
    return REAL(sem_post)(semaphore);
}

EXPORT int pthread_barrier_wait(pthread_barrier_t *barrier)
{
    PUT(BARRIER, AT(barrier), CALLER, 0);
    struct stay stay = leave();
    int result = REAL(pthread_barrier_wait)(barrier);
    back(stay);
    PUT(BARRIER, AT(barrier), CALLER, 1);
    return result;
}

/* --- waits that the kernel would tell of ---------------------------------------------------------- */

#define CALLED(type, name, parameters, arguments, call, first, second, timer)                                \
    EXPORT type name parameters                                                                              \
    {                                                                                                        \
        struct stay stay = leave();                                                                          \
        if (stay.ns == 0)                                                                                    \
            return REAL(name) arguments;                                                                     \
        put(stay.ns, ENTER, SYS_##call, first, second);                                                      \
        int64_t until_ns = timer;                                                                            \
        if (until_ns != 0)                                                                                   \
            put(stay.ns, SLEEP_TIMER, until_ns, until_ns, 0);                                                \
        type result = REAL(name) arguments;                                                                  \
        put(back(stay), EXIT, SYS_##call, (int64_t)result, 0);                                               \
        return result;                                                                                       \
    }

static int64_t after(uint64_t ns, const struct timespec *length)
{
    return length == NULL ? 0 : (int64_t)ns + length->tv_sec * INT64_C(1000000000) + length->tv_nsec;
}

CALLED(int, clock_nanosleep, (clockid_t clock, int flags, UNTIL, struct timespec *left),
       (clock, flags, until, left), clock_nanosleep, clock, flags,
       after((flags & TIMER_ABSTIME) ? 0 : stay.ns, until))
CALLED(int, nanosleep, (const struct timespec *length, struct timespec *left), (length, left),
       clock_nanosleep, CLOCK_REALTIME, 0, after(stay.ns, length))
CALLED(int, usleep, (useconds_t us), (us), clock_nanosleep, CLOCK_REALTIME, 0,
       (int64_t)(stay.ns + us * UINT64_C(1000)))
CALLED(unsigned, sleep, (unsigned s), (s), clock_nanosleep, CLOCK_REALTIME, 0,
       (int64_t)(stay.ns + s * UINT64_C(1000000000)))
CALLED(ssize_t, read, (int file, void *to, size_t bytes), (file, to, bytes), read, file, AT(to), 0)
CALLED(int, epoll_wait, (int file, struct epoll_event *events, int most, int timeout),
       (file, events, most, timeout), epoll_pwait, file, AT(events), 0)
CALLED(int, poll, (struct pollfd * files, nfds_t count, int timeout), (files, count, timeout), ppoll,
       AT(files), (int64_t)count, 0)
CALLED(int, sched_yield, (void), (), sched_yield, 0, 0, 0)
CALLED(int, sched_setscheduler, (pid_t pid, int policy, const struct sched_param *how), (pid, policy, how),
       sched_setscheduler, pid, policy, 0)
CALLED(int, pthread_setschedparam, (pthread_t thread, int policy, const struct sched_param *how),
       (thread, policy, how), sched_setscheduler, 0, policy, 0)

/* --- filters of calls ------------------------------------------------------------------------------ */

#define FILTERS(type, name, first_type, more, last, when, strict)                                            \
    EXPORT type name(first_type first, ...)                                                                  \
    {                                                                                                        \
        long a[6] = {0};                                                                                     \
        va_list list;                                                                                        \
        va_start(list, first);                                                                               \
        for (int i = 0; i < (more); i++)                                                                     \
            a[i] = va_arg(list, long);                                                                       \
        va_end(list);                                                                                        \
        bool is_new = (when) && will_filter(strict);                                                         \
        type result = REAL(name)(first, a[0], a[1], a[2], a[3] last);                                        \
        if (is_new && result != 0)                                                                           \
            filters_not();                                                                                   \
        return result;                                                                                       \
    }
#define AND_TWO , a[4], a[5]
#define NO_MORE

FILTERS(long, syscall, long, 6, AND_TWO, first == SYS_seccomp && a[0] <= SECCOMP_SET_MODE_FILTER,
        a[0] == SECCOMP_SET_MODE_STRICT)
FILTERS(int, prctl, int, 4, NO_MORE, first == PR_SET_SECCOMP, a[0] == SECCOMP_MODE_STRICT)
