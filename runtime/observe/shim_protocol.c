/*
 * DEADBEAT_SHIM_PROTOCOL=inherit: mutexes with priority inheritance, of a program that did not ask for it.
 *
 * One that is made by a call gets it there. One that is not (PTHREAD_MUTEX_INITIALIZER, std::mutex) gets it
 * before its first lock: the bit of its kind is set while its lock word is 0. Each way to lock one comes here
 * first, so meanwhile no thread locks it as a plain one; there is no lock here, which would itself invert
 * priorities. What other processes use, what has a ceiling and what is held when first seen stays as it is.
 */
#include "shim.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int inheritance;

#ifdef __GLIBC__
#define KIND(lock) (&(lock)->__data.__kind)
#define WORD(lock) ((uint32_t *)&(lock)->__data.__lock)
#else
#define KIND(lock) ((int *)(lock))
#define WORD(lock) ((uint32_t *)(lock))
#endif

/* Bits of a kind; the last of robust ones, too. */
enum {
    TYPE = 3,
    ROBUST = 16,
    INHERIT = 32,
    CEILING = 64,
    SHARED = 128,
    BITS = 3,
    SLOTS = 1 << 12,
    PROBES = 64
};

/* Those left alone: address << BITS | why. */
static uint64_t left[SLOTS];

/* Whether it is known, or becomes so (add), as left alone for this reason. A full table forgets. */
static bool is_left(const pthread_mutex_t *lock, enum change why, bool add)
{
    uint64_t word = (uint64_t)(uintptr_t)lock << BITS | why, at = word * UINT64_C(0x9E3779B97F4A7C15) >> 52;
    for (int probe = 0; probe < PROBES; probe++) {
        uint64_t *slot = &left[(at + (uint64_t)probe) % SLOTS],
                 there = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
        if (there == 0 && add &&
            __atomic_compare_exchange_n(slot, &there, word, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            return false;
        if (there == word)
            return true;
        if (there == 0)
            return false;
    }
    return add;
}

/* Locked, its word holds our number, as the kernel needs it; or another thread was faster. */
static bool reads_back(pthread_mutex_t *lock)
{
    int result = REAL(pthread_mutex_trylock)(lock);
    if (result != 0)
        return result == EBUSY;
    uint32_t word = __atomic_load_n(WORD(lock), __ATOMIC_RELAXED);
    REAL(pthread_mutex_unlock)(lock);
    return (word & FUTEX_TID_MASK) == own_tid();
}

/* Whether kernel and C library have it where it is looked for. */
static bool can_inherit(void)
{
    uint32_t none = 0;
    pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
    int kept = errno;
    bool there = syscall(SYS_futex, &none, FUTEX_UNLOCK_PI | FUTEX_PRIVATE_FLAG, 0, NULL, NULL, 0) == 0 ||
                 errno != ENOSYS;
    errno = kept;
#ifdef __GLIBC__
    *KIND(&own) |= INHERIT;
#endif
    return there && reads_back(&own) && *WORD(&own) == 0;
}

int ask_inheritance(void)
{
    const char *protocol = getenv("DEADBEAT_SHIM_PROTOCOL");
    bool asked = protocol != NULL && strcmp(protocol, "inherit") == 0 && wanted() != NULL;
    int found = !asked ? LEFT : can_inherit() ? GIVEN : CANNOT;
    __atomic_store_n(&inheritance, found, __ATOMIC_RELAXED);
    return found;
}

static int64_t said(int kind, enum change change)
{
    int protocol = change == CHANGED       ? PTHREAD_PRIO_INHERIT
                   : change == HAS_CEILING ? PTHREAD_PRIO_PROTECT
                                           : 0;
    int known = change == OTHER_LIBRARY ? 0 : kind;
    return protocol | (known & TYPE) << 8 | (known & ROBUST) / ROBUST << 16 |
           (known & SHARED) / SHARED << 24 | (int64_t)change << 25;
}

int64_t inherit(pthread_mutex_t *lock)
{
    enum change change = OTHER_LIBRARY;
    int kind = 0;
    if (inheritance == GIVEN) {
        kind = __atomic_load_n(KIND(lock), __ATOMIC_ACQUIRE);
        if ((kind & INHERIT) != 0 || is_left(lock, IS_HELD, false) || is_left(lock, NOT_KEPT, false))
            return 0;
        change = (kind & CEILING) != 0 ? HAS_CEILING : (kind & SHARED) != 0 ? IS_SHARED : IS_HELD;
        if (change == IS_HELD && __atomic_load_n(WORD(lock), __ATOMIC_ACQUIRE) == 0) {
            if (!__atomic_compare_exchange_n(KIND(lock), &kind, kind | INHERIT, false, __ATOMIC_SEQ_CST,
                                             __ATOMIC_ACQUIRE))
                return 0; /* another thread did */
            __atomic_thread_fence(__ATOMIC_SEQ_CST);
            if (reads_back(lock))
                return said(kind, CHANGED);
            __atomic_store_n(KIND(lock), kind, __ATOMIC_SEQ_CST);
            change = NOT_KEPT;
        } else if (change == IS_HELD && (__atomic_load_n(KIND(lock), __ATOMIC_ACQUIRE) & INHERIT) != 0)
            return 0; /* another thread did, and has it */
    }
    return is_left(lock, change, true) ? 0 : said(kind, change);
}

enum change make_inheriting(pthread_mutex_t *lock, const pthread_mutexattr_t *how, int protocol, int shared)
{
    pthread_mutexattr_t changed;
    if (protocol == PTHREAD_PRIO_INHERIT)
        return AS_MADE;
    enum change change = inheritance != GIVEN                    ? OTHER_LIBRARY
                         : protocol == PTHREAD_PRIO_PROTECT      ? HAS_CEILING
                         : shared == PTHREAD_PROCESS_SHARED      ? IS_SHARED
                         : pthread_mutexattr_init(&changed) == 0 ? CHANGED
                                                                 : NOT_KEPT;
    if (change == CHANGED) {
        if (how != NULL)
            changed = *how;
        if (pthread_mutexattr_setprotocol(&changed, PTHREAD_PRIO_INHERIT) != 0 ||
            REAL(pthread_mutex_init)(lock, &changed) != 0 || !reads_back(lock))
            change = NOT_KEPT;
    }
    if (change != CHANGED)
        is_left(lock, change, true);
    return change;
}

void take_over(pthread_mutex_t *lock)
{
    int kind = inheritance == GIVEN ? __atomic_load_n(KIND(lock), __ATOMIC_RELAXED) : 0, type = kind & TYPE;
    if ((kind & ~TYPE) != INHERIT || type == PTHREAD_MUTEX_RECURSIVE || type == PTHREAD_MUTEX_ERRORCHECK)
        return;
    uint32_t word = __atomic_load_n(WORD(lock), __ATOMIC_RELAXED), tid = own_tid();
    if ((word & FUTEX_TID_MASK) == own_tid_before() && word != 0 && tid != 0)
        __atomic_store_n(WORD(lock), word = tid, __ATOMIC_RELAXED); /* who waits, waits in its parent */
    if (word != 0 && (word & ~FUTEX_TID_MASK) == 0 && word != tid && tid != 0)
        __atomic_compare_exchange_n(WORD(lock), &word, tid, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}
