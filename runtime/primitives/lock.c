/*+++
 * summary = "Taking a lock that all threads share; it guards one increment"
 * variants = [
 *     "mutex", "adaptive", "inherit", "robust", "rwlock", "spin", "tas", "ttas", "ticket", "mcs", "clh",
 * ]
 * spins = ["spin", "tas", "ttas", "ticket", "mcs", "clh"]
 * contends = true
 +++*/
/* It is given back outside of the sample. With --amount 2 there are two locks: one for each half of the
 * threads. mutex, adaptive, inherit (priority inheritance), robust, rwlock
 * (for writing), spin: of the C library. tas: one instruction, over and over. ttas, ticket, mcs, clh: of
 * Concurrency Kit, where its headers are installed.
 */
#include "deadbeat/primitive.h"

#include <pthread.h>
#include <string.h>

/* Its headers are made for one memory model: another machine's compiler may find those of this one. */
#if __has_include(<ck_spinlock.h>)
#include <ck_md.h>
#if defined(__x86_64__) || defined(CK_MD_RMO)
#define HAS_CK 1
#include <ck_spinlock.h>
#endif
#endif

enum { MUTEX, ADAPTIVE, INHERIT, ROBUST, RWLOCK, SPIN, TAS, TTAS, TICKET, MCS, CLH };

static const char *const variants[] = {"mutex", "adaptive", "inherit", "robust", "rwlock", "spin",
                                       "tas",   "ttas",     "ticket",  "mcs",    "clh",    NULL};

/* What a thread queues with, how often it held the lock, and most often in a row. */
struct turn {
    alignas(DB_CACHE_LINE) uint64_t taken;
    uint32_t row, longest_row;
#ifdef HAS_CK
    alignas(DB_CACHE_LINE) struct ck_spinlock_mcs mcs;
    alignas(DB_CACHE_LINE) struct ck_spinlock_clh clh_node;
    struct ck_spinlock_clh *clh;
#endif
};

struct lock {
    alignas(DB_CACHE_LINE) union {
        pthread_mutex_t mutex;
        pthread_rwlock_t rwlock;
        pthread_spinlock_t spin;
        atomic_flag tas;
#ifdef HAS_CK
        ck_spinlock_fas_t fas;
        ck_spinlock_ticket_t ticket;
        struct ck_spinlock_mcs *mcs;
        struct ck_spinlock_clh *clh;
#endif
    } is;
#ifdef HAS_CK
    alignas(DB_CACHE_LINE) struct ck_spinlock_clh unowned;
#endif
    alignas(DB_CACHE_LINE) volatile uint64_t counter; /* what it guards */
    volatile uint32_t holder;                         /* who had it last */
};

static uint32_t lock_count(const struct db_sampling *run)
{
    return run->amount > 1 ? (uint32_t)run->amount : 1;
}

static struct lock *lock_of(const struct db_sampling *run, uint32_t place)
{
    return (struct lock *)run->shared + place * lock_count(run) / run->threads;
}

static struct turn *turn_of(const struct db_sampling *run, uint32_t place)
{
    return (struct turn *)((struct lock *)run->shared + lock_count(run)) + place;
}

/* Numbers of a row, which has lines of the cache to itself. */
static size_t row_length(const struct db_sampling *run)
{
    size_t of_line = DB_CACHE_LINE / sizeof(uint32_t);
    return (run->threads + of_line - 1) / of_line * of_line;
}

/* How often a thread got the lock right after each. */
static uint32_t *after_of(const struct db_sampling *run, uint32_t place)
{
    return (uint32_t *)turn_of(run, run->threads) + place * row_length(run);
}

static size_t shared_bytes(const struct db_sampling *run)
{
    size_t rows = run->threads * row_length(run) * sizeof(uint32_t);
    return lock_count(run) * sizeof(struct lock) + run->threads * sizeof(struct turn) + rows;
}

static const char *lacks(uint32_t how)
{
#ifndef HAS_CK
    if (how >= TTAS)
        return "the runtime was built without Concurrency Kit (Debian: libck-dev)";
#endif
#ifndef __GLIBC__
    if (how == ADAPTIVE)
        return "this C library has no adaptive mutex";
#endif
    (void)how;
    return NULL;
}

static int create_mutex(pthread_mutex_t *mutex, uint32_t how)
{
    pthread_mutexattr_t attributes;
    int error = pthread_mutexattr_init(&attributes);
#ifdef __GLIBC__
    if (how == ADAPTIVE)
        error = pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ADAPTIVE_NP);
#endif
    if (how == INHERIT)
        error = pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    if (how == ROBUST)
        error = pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    error = error ? error : pthread_mutex_init(mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
    return error;
}

static int create_lock(struct lock *lock, uint32_t how)
{
    switch (how) {
    case RWLOCK:
        return pthread_rwlock_init(&lock->is.rwlock, NULL);
    case SPIN:
        return pthread_spin_init(&lock->is.spin, PTHREAD_PROCESS_PRIVATE);
    case TAS:
        atomic_flag_clear(&lock->is.tas);
        return 0;
#ifdef HAS_CK
    case TTAS:
        ck_spinlock_fas_init(&lock->is.fas);
        return 0;
    case TICKET:
        ck_spinlock_ticket_init(&lock->is.ticket);
        return 0;
    case MCS:
        ck_spinlock_mcs_init(&lock->is.mcs);
        return 0;
    case CLH:
        ck_spinlock_clh_init(&lock->is.clh, &lock->unowned);
        return 0;
#endif
    default:
        return create_mutex(&lock->is.mutex, how);
    }
}

static int create(struct db_sampling *run)
{
    int error = 0;
    for (uint32_t i = 0; i < lock_count(run) && !error; i++)
        error = create_lock((struct lock *)run->shared + i, run->variant);
    return error;
}

static int begin(struct db_sampler *s)
{
    struct turn *turn = turn_of(s->run, s->place);
#ifdef HAS_CK
    turn->clh = &turn->clh_node;
#endif
    s->own = turn;
    return 0;
}

static inline void take(struct lock *lock, struct turn *turn, uint32_t how)
{
    (void)turn;
    switch (how) {
    case RWLOCK:
        pthread_rwlock_wrlock(&lock->is.rwlock);
        break;
    case SPIN:
        pthread_spin_lock(&lock->is.spin);
        break;
    case TAS:
        while (atomic_flag_test_and_set_explicit(&lock->is.tas, memory_order_acquire))
            ;
        break;
#ifdef HAS_CK
    case TTAS:
        ck_spinlock_fas_lock(&lock->is.fas);
        break;
    case TICKET:
        ck_spinlock_ticket_lock(&lock->is.ticket);
        break;
    case MCS:
        ck_spinlock_mcs_lock(&lock->is.mcs, &turn->mcs);
        break;
    case CLH:
        ck_spinlock_clh_lock(&lock->is.clh, turn->clh);
        break;
#endif
    default:
        pthread_mutex_lock(&lock->is.mutex);
        break;
    }
}

static inline void give_back(struct lock *lock, struct turn *turn, uint32_t how)
{
    (void)turn;
    switch (how) {
    case RWLOCK:
        pthread_rwlock_unlock(&lock->is.rwlock);
        break;
    case SPIN:
        pthread_spin_unlock(&lock->is.spin);
        break;
    case TAS:
        atomic_flag_clear_explicit(&lock->is.tas, memory_order_release);
        break;
#ifdef HAS_CK
    case TTAS:
        ck_spinlock_fas_unlock(&lock->is.fas);
        break;
    case TICKET:
        ck_spinlock_ticket_unlock(&lock->is.ticket);
        break;
    case MCS:
        ck_spinlock_mcs_unlock(&lock->is.mcs, &turn->mcs);
        break;
    case CLH:
        ck_spinlock_clh_unlock(&turn->clh);
        break;
#endif
    default:
        pthread_mutex_unlock(&lock->is.mutex);
        break;
    }
}

static void run(struct db_sampler *s)
{
    struct lock *lock = lock_of(s->run, s->place);
    struct turn *turn = s->own;
    uint32_t how = s->run->variant, *after = after_of(s->run, s->place);
    memset(after, 0, s->run->threads * sizeof *after);
    turn->row = turn->longest_row = 0;
    while (db_goes_on(s)) {
        int64_t begin_ns = port_now_ns();
        take(lock, turn, how);
        int64_t end_ns = port_now_ns();
        uint32_t before = lock->holder;
        lock->holder = s->place;
        lock->counter = lock->counter + 1;
        give_back(lock, turn, how);
        turn->taken++;
        after[before]++;
        turn->row = before == s->place ? turn->row + 1 : 1;
        turn->longest_row = turn->row > turn->longest_row ? turn->row : turn->longest_row;
        db_sample(s, begin_ns, end_ns); /* not under the lock: what keeps a sample is no hold time */
        db_work(s->run);
    }
}

static const char *check(const struct db_sampling *run)
{
    uint64_t taken = 0, counted = 0;
    for (uint32_t i = 0; i < run->threads; i++)
        taken += turn_of(run, i)->taken;
    for (uint32_t i = 0; i < lock_count(run); i++)
        counted += ((struct lock *)run->shared)[i].counter;
    return taken == counted ? NULL : "a lock let two threads in at once";
}

static const uint32_t *turns(const struct db_sampling *run, uint32_t place, uint32_t *longest_row)
{
    *longest_row = turn_of(run, place)->longest_row;
    return after_of(run, place);
}

const struct db_primitive db_primitive_lock = {.name = "lock",
                                               .variants = variants,
                                               .lacks = lacks,
                                               .shared_bytes = shared_bytes,
                                               .create = create,
                                               .begin = begin,
                                               .run = run,
                                               .check = check,
                                               .turns = turns};
