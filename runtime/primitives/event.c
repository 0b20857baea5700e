/*+++
 * summary = "From firing an event to the first instruction of its handler, one handler a firer"
 * variants = ["futex", "semaphore", "pipe", "eventfd", "condvar", "mq", "spin", "sigwait", "mutex", "sysv"]
 * group = 2
 * spins = ["spin"]
 +++*/
/* Threads 2k and 2k + 1 are a pair: the first fires and waits for the answer, the second handles. The sample
 * is the handler's: from the firer's reading of the clock to its own. With a period the firer fires at its
 * releases, and the sample counts from the release: a late firer does not hide what its event waited. With
 * --amount 1 the handler pauses for the period before it answers instead, as those of rt-tests do.
 *
 * mutex: two locked mutexes that the firer unlocks and the handler waits for, as ptsematest has them. */
#include "deadbeat/primitive.h"

#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/sem.h>
#include <unistd.h>

enum { FUTEX, SEMAPHORE, PIPE, EVENTFD, CONDVAR, MQ, SPIN, SIGWAIT, MUTEX, SYSV };

static const char *const variants[] = {"futex", "semaphore", "pipe",  "eventfd", "condvar", "mq",
                                       "spin",  "sigwait",   "mutex", "sysv",    NULL};

/* One direction of a pair. */
struct bell {
    alignas(DB_CACHE_LINE) atomic_uint rung;
    unsigned heard;
    sem_t semaphore;
    pthread_mutex_t mutex;
    pthread_cond_t condition;
    int in, out;
    mqd_t queue;
    pthread_t listener; /* who hears it */
    int set;            /* of semaphores */
};

struct pair {
    struct bell fire, answer;
    alignas(DB_CACHE_LINE) int64_t fired_ns;
    bool last;
};

static sigset_t heard_signals;

/* As pmqtest's: messages of 7 bytes, where 8 have room. */
#define MESSAGE_BYTES 8

static int open_queue(struct bell *bell)
{
    struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = MESSAGE_BYTES};
    char name[40];
    snprintf(name, sizeof name, "/deadbeat-%d-%p", (int)getpid(), (void *)bell);
    bell->queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &attributes);
    if (bell->queue == (mqd_t)-1)
        return errno;
    mq_unlink(name);
    return 0;
}

static int hang(struct bell *bell, uint32_t how)
{
    int ends[2] = {-1, -1};
    bell->in = bell->out = -1;
    switch (how) {
    case SEMAPHORE:
        return sem_init(&bell->semaphore, 0, 0) ? errno : 0;
    case PIPE:
        if (pipe2(ends, O_CLOEXEC))
            return errno;
        break;
    case EVENTFD:
        ends[0] = ends[1] = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
        if (ends[0] < 0)
            return errno;
        break;
    case CONDVAR:
        pthread_mutex_init(&bell->mutex, NULL);
        return pthread_cond_init(&bell->condition, NULL);
    case MQ:
        return open_queue(bell);
    case SYSV:
        bell->set = semget(IPC_PRIVATE, 1, 0600);
        return bell->set < 0 ? errno : 0;
    case MUTEX:
        pthread_mutex_init(&bell->mutex, NULL);
        pthread_mutex_lock(&bell->mutex);
        return 0;
    default:
        break;
    }
    bell->in = ends[0];
    bell->out = ends[1];
    return 0;
}

static inline void ring(struct bell *bell, uint32_t how)
{
    static const uint64_t one = 1;
    ssize_t done = 0;
    switch (how) {
    case FUTEX:
        atomic_fetch_add(&bell->rung, 1);
        port_wake_one(&bell->rung);
        break;
    case SEMAPHORE:
        sem_post(&bell->semaphore);
        break;
    case PIPE:
        done = write(bell->out, &one, 1);
        break;
    case EVENTFD:
        done = write(bell->out, &one, sizeof one);
        break;
    case CONDVAR:
        pthread_mutex_lock(&bell->mutex);
        atomic_fetch_add(&bell->rung, 1);
        pthread_cond_signal(&bell->condition);
        pthread_mutex_unlock(&bell->mutex);
        break;
    case MQ:
        mq_send(bell->queue, (const char *)&one, MESSAGE_BYTES - 1, 1);
        break;
    case SIGWAIT:
        pthread_kill(bell->listener, SIGUSR1);
        break;
    case MUTEX:
        pthread_mutex_unlock(&bell->mutex);
        break;
    case SYSV:
        semop(bell->set, &(struct sembuf){.sem_op = 1}, 1);
        break;
    default:
        atomic_fetch_add(&bell->rung, 1);
        break;
    }
    (void)done;
}

static inline void hear(struct bell *bell, uint32_t how)
{
    uint64_t got = 0;
    ssize_t done = 0;
    int heard_signal;
    unsigned heard = bell->heard++;
    switch (how) {
    case FUTEX:
        while (atomic_load(&bell->rung) == heard)
            port_wait(&bell->rung, heard, -1);
        break;
    case SEMAPHORE:
        while (sem_wait(&bell->semaphore) && errno == EINTR)
            ;
        break;
    case PIPE:
        done = read(bell->in, &got, 1);
        break;
    case EVENTFD:
        done = read(bell->in, &got, sizeof got);
        break;
    case CONDVAR:
        pthread_mutex_lock(&bell->mutex);
        while (atomic_load(&bell->rung) == heard)
            pthread_cond_wait(&bell->condition, &bell->mutex);
        pthread_mutex_unlock(&bell->mutex);
        break;
    case MQ:
        done = mq_receive(bell->queue, (char *)&got, MESSAGE_BYTES, NULL);
        break;
    case SIGWAIT:
        sigwait(&heard_signals, &heard_signal);
        break;
    case MUTEX:
        pthread_mutex_lock(&bell->mutex);
        break;
    case SYSV:
        while (semop(bell->set, &(struct sembuf){.sem_op = -1}, 1) && errno == EINTR)
            ;
        break;
    default:
        while (atomic_load_explicit(&bell->rung, memory_order_acquire) == heard)
            ;
        break;
    }
    (void)done;
}

static size_t shared_bytes(const struct db_sampling *run)
{
    return run->threads / 2 * sizeof(struct pair);
}

static int create(struct db_sampling *run)
{
    struct pair *pairs = run->shared;
    sigemptyset(&heard_signals);
    sigaddset(&heard_signals, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &heard_signals, NULL); /* for all threads that are started from here */
    for (uint32_t i = 0; i < run->threads / 2; i++) {
        int error = hang(&pairs[i].fire, run->variant);
        error = error ? error : hang(&pairs[i].answer, run->variant);
        if (error)
            return error;
    }
    return 0;
}

static void fire(struct db_sampler *s, struct pair *pair, uint32_t how)
{
    int64_t period = s->run->amount ? 0 : s->run->period_ns, release = s->run->start_ns;
    for (bool last = false; !last;) {
        if (period) {
            release += period;
            port_sleep_until_ns(release);
        }
        int64_t now = period ? release : port_now_ns();
        last = !s->left || now >= s->end_ns;
        pair->last = last;
        s->left -= !last;
        pair->fired_ns = period ? release : port_now_ns();
        ring(&pair->fire, how);
        hear(&pair->answer, how);
        db_work(s->run);
    }
}

static void handle(struct db_sampler *s, struct pair *pair, uint32_t how)
{
    int64_t pause = s->run->amount ? s->run->period_ns : 0;
    for (;;) {
        hear(&pair->fire, how);
        int64_t now = port_now_ns();
        if (pair->last)
            break;
        if (s->last_ns > pair->fired_ns) /* a release that was due before the last one was handled */
            s->last_ns = pair->fired_ns;
        db_sample(s, pair->fired_ns, now);
        if (pause)
            s->last_ns = port_now_ns() + pause;
        if (pause)
            port_sleep_until_ns(s->last_ns);
        ring(&pair->answer, how);
    }
    ring(&pair->answer, how);
}

static int begin(struct db_sampler *s)
{
    struct pair *pair = (struct pair *)s->run->shared + s->place / 2;
    (s->place % 2 ? &pair->fire : &pair->answer)->listener = pthread_self();
    return 0;
}

static void remove_sets(const struct db_sampling *run)
{
    const struct pair *pairs = run->shared;
    for (uint32_t i = 0; run->variant == SYSV && i < run->threads / 2; i++) {
        semctl(pairs[i].fire.set, 0, IPC_RMID);
        semctl(pairs[i].answer.set, 0, IPC_RMID);
    }
}

static const char *check(const struct db_sampling *run)
{
    remove_sets(run);
    return NULL;
}

static void run(struct db_sampler *s)
{
    struct pair *pair = (struct pair *)s->run->shared + s->place / 2;
    (s->place % 2 ? handle : fire)(s, pair, s->run->variant);
}

const struct db_primitive db_primitive_event = {.name = "event",
                                                .variants = variants,
                                                .group = 2,
                                                .shared_bytes = shared_bytes,
                                                .create = create,
                                                .begin = begin,
                                                .run = run,
                                                .check = check};
