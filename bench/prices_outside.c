/*
 * What operations take alone and on two CPUs at once, by nothing of deadbeat: bench_prices.py holds it
 * against deadbeat's prices.
 *
 *   prices_outside [NAME=NUMBER...] OBJECT:OPERATIONS...    so many operations in a row
 *     cpus=0,1     seconds=4     seed=1
 *     look=20000   ns between two looks at the clock, at the pace of a window
 *     bytes=64     of a message
 *     counts=1     after each row as of one who keeps accounts: two words of its own, one before the object
 *     private=1    mutexes and semaphores of one process, not shared between processes
 *
 * A line a window: ROUND OBJECT:OPERATIONS WHO NS COUNT BEFORE AFTER HANDOVERS SLEEPS STOPPED. WHO is 0 or 1
 * alone, or -1: both, the sums of the two. BEFORE and AFTER: round trip of a word, ps. HANDOVERS: of a mutex,
 * locks whose last owner was the other. SLEEPS: voluntary context switches of both. STOPPED: 1, a thread that
 * did not sleep ran for less than 9/10 of its window. A round has new objects and new threads; each object,
 * count and flag lies 128 bytes from everything else.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define APART _Alignas(128)
#define ENTRIES_MAX 16
#define PRIORITY 50
#define LEAD_NS 1000000 /* an inherited mutex takes a while until it is handed over */
#define WINDOW_NS 4000000
#define REST_NS 500000 /* real-time threads must leave some time to others */
#define TRIPS 64
#define BATCHES 5
#define LOST_NS INT64_C(2000000000)

struct object { /* begins a page */
    APART uint64_t counted[2][16];
    APART union {
        pthread_mutex_t mutex;
        sem_t semaphore;
        atomic_ulong sum;
    } it;
    APART volatile uint64_t guarded[3]; /* twice the number of locks, the last owner */
    APART int ends[2];
    mqd_t queue;
};

struct entry {
    void (*run)(struct object *, unsigned operations);
    const char *name;
    unsigned operations;
    struct object *object;
};

static struct worker {
    APART atomic_uint met;
    APART atomic_uint done;
    APART int64_t ns;
    uint64_t operations, counts[2], handovers, counted; /* counted: hand-overs of the window */
    long sleeps;
    int stopped;
} workers[2];
static APART atomic_uint ball;
static APART atomic_llong start;
static APART struct entry entries[ENTRIES_MAX];
static struct step {
    int entry, who;
    int64_t row[7]; /* ns, operations, before, after, hand-overs, sleeps, stopped */
} steps[3 * ENTRIES_MAX];

static _Thread_local struct worker *mine;
static int cpus[2] = {0, 1}, entry_count, counts, private;
static unsigned bytes = 64;
static long look_ns = 20000, seed = 1;
static double seconds = 4;

static void check(int fine, const char *what)
{
    if (fine)
        return;
    fprintf(stderr, "prices_outside: %s: %s\n", what, strerror(errno));
    _exit(1);
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void sleep_until(int64_t at)
{
    struct timespec t = {at / 1000000000, at % 1000000000};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

/* --- objects -------------------------------------------------------------------------------------------- */

static void make_mutex(pthread_mutex_t *mutex, int protocol)
{
    pthread_mutexattr_t how;
    pthread_mutexattr_init(&how);
    pthread_mutexattr_setpshared(&how, private ? PTHREAD_PROCESS_PRIVATE : PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setprotocol(&how, protocol);
    check(pthread_mutex_init(mutex, &how) == 0, "mutex");
}

static void make_queue(struct object *o)
{
    struct mq_attr how = {.mq_maxmsg = 2, .mq_msgsize = (long)bytes};
    char name[40];
    snprintf(name, sizeof name, "/prices-outside-%d", (int)getpid());
    o->queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &how);
    check(o->queue != (mqd_t)-1 && mq_unlink(name) == 0, "mq_open");
}

static void run_mutex(struct object *o, unsigned operations)
{
    for (; operations; operations--) {
        check(pthread_mutex_lock(&o->it.mutex) == 0, "lock");
        o->guarded[0]++;
        o->guarded[1]++;
        if (o->guarded[2] != (uintptr_t)mine) {
            o->guarded[2] = (uintptr_t)mine;
            mine->handovers++;
        }
        check(pthread_mutex_unlock(&o->it.mutex) == 0, "unlock");
    }
}

static void run_sum(struct object *o, unsigned operations)
{
    for (unsigned long last = 0, seen; operations; operations--, last = seen) {
        seen = atomic_fetch_add(&o->it.sum, 1);
        check(seen >= last, "the sum went backwards");
    }
}

static void run_semaphore(struct object *o, unsigned operations)
{
    for (; operations; operations--) {
        check(sem_wait(&o->it.semaphore) == 0, "sem_wait");
        check(sem_post(&o->it.semaphore) == 0, "sem_post");
    }
}

static void run_pipe(struct object *o, unsigned operations)
{
    for (char message[1024] = {0}; operations; operations--) {
        check(write(o->ends[1], message, bytes) == (ssize_t)bytes, "write");
        check(read(o->ends[0], message, bytes) == (ssize_t)bytes, "read");
    }
}

static void run_queue(struct object *o, unsigned operations)
{
    for (char message[1024] = {0}; operations; operations--) {
        check(mq_send(o->queue, message, bytes, 0) == 0, "mq_send");
        check(mq_receive(o->queue, message, bytes, NULL) == (ssize_t)bytes, "mq_receive");
    }
}

static void make(struct entry *e)
{
    int shared = MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE;
    struct object *o = mmap(NULL, sizeof *o, PROT_READ | PROT_WRITE, shared, -1, 0);
    check(o != MAP_FAILED, "mmap");
    e->object = o;
    if (e->run == run_mutex)
        make_mutex(&o->it.mutex, strcmp(e->name, "mutex_inherit") ? PTHREAD_PRIO_NONE : PTHREAD_PRIO_INHERIT);
    else if (e->run == run_semaphore)
        check(sem_init(&o->it.semaphore, !private, 2) == 0, "semaphore");
    else if (e->run == run_pipe)
        check(pipe(o->ends) == 0, "pipe");
    else if (e->run == run_queue)
        make_queue(o);
}

static void end(struct entry *e)
{
    if (e->run == run_pipe)
        check(close(e->object->ends[0]) == 0 && close(e->object->ends[1]) == 0, "close");
    else if (e->run == run_queue)
        mq_close(e->object->queue);
    munmap(e->object, sizeof *e->object);
}

static const struct entry kinds[] = {
    {run_mutex, "mutex_inherit", 0, NULL}, {run_mutex, "mutex_normal", 0, NULL},
    {run_sum, "atomic_line", 0, NULL},     {run_semaphore, "semaphore_posix", 0, NULL},
    {run_pipe, "pipe", 0, NULL},           {run_queue, "mq_posix", 0, NULL},
};

/* --- a thread ------------------------------------------------------------------------------------------- */

static void perform(const struct entry *e, int me, unsigned rows)
{
    for (unsigned row = rows; row; row--) {
        e->run(e->object, e->operations);
        if (!counts)
            continue;
        workers[me].counts[0]++;
        workers[me].counts[1] += e->operations;
        *(volatile uint64_t *)e->object->counted[me] += e->operations;
    }
}

static void await(unsigned wanted, int64_t until)
{
    for (unsigned n = 1; atomic_load_explicit(&ball, memory_order_acquire) != wanted; n++)
        check(n % 4096 || now_ns() < until, "the other thread is lost");
}

/* Both have come so far. */
static void meet(int me)
{
    unsigned mine = atomic_fetch_add(&workers[me].met, 1) + 1;
    for (int64_t from = now_ns(); (int)(atomic_load(&workers[1 - me].met) - mine) < 0;)
        check(now_ns() - from < LOST_NS, "the other thread is lost");
}

static int64_t round_trip(int me)
{
    int64_t best = INT64_MAX;
    if (me == 0)
        atomic_store(&ball, 0);
    meet(me);
    for (unsigned value = 0, batch = 0; batch < BATCHES; batch++) {
        int64_t from = now_ns();
        for (int i = 0; i < TRIPS; i++, value += 2) {
            if (me == 1)
                await(value + 1, from + LOST_NS);
            atomic_store_explicit(&ball, value + 1 + (unsigned)me, memory_order_release);
            if (me == 0)
                await(value + 2, from + LOST_NS);
        }
        int64_t took = now_ns() - from;
        best = took < best ? took : best;
    }
    return best * 1000 / TRIPS;
}

/* What the thread has slept, and the time that it had a CPU. */
static int64_t usage(long *sleeps)
{
    struct rusage r;
    struct timespec t;
    getrusage(RUSAGE_THREAD, &r);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    *sleeps = r.ru_nvcsw;
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* `other`: goes on until that one has counted, too; nobody counts what is easy because another stopped. */
static void window(const struct entry *e, int me, const struct worker *other)
{
    int64_t begin, now, last, from = atomic_load(&start);
    unsigned rows = 1;
    long slept, sleeps;
    while ((now = now_ns()) < from)
        ;
    do { /* what a mutex that inherits seems to cost depends on how often one looks */
        last = now;
        perform(e, me, rows);
        now = now_ns();
        if (now - last > 2 * look_ns && rows > 1)
            rows /= 2;
        else if (now - last < look_ns / 2)
            rows *= 2;
    } while (now < from + LEAD_NS);
    int64_t ran = usage(&slept);
    uint64_t handed = mine->handovers;
    begin = now_ns();
    do {
        perform(e, me, rows);
        mine->operations += (uint64_t)e->operations * rows;
        now = now_ns();
    } while (now < begin + WINDOW_NS);
    ran = usage(&sleeps) - ran;
    mine->ns = now - begin;
    mine->counted = mine->handovers - handed;
    mine->sleeps = sleeps - slept;
    mine->stopped = mine->sleeps == 0 && ran < mine->ns - mine->ns / 10;
    atomic_store(&mine->done, 1);
    while (other && !atomic_load(&other->done) && now_ns() < begin + LOST_NS)
        perform(e, me, rows);
}

static void do_step(struct step *step, int me)
{
    struct worker *other = &workers[1 - me];
    mine->ns = mine->sleeps = mine->stopped = 0;
    mine->operations = mine->counted = 0;
    atomic_store(&mine->done, 0);
    int64_t before = round_trip(me);
    if (me == 0)
        atomic_store(&start, now_ns() + 30000);
    meet(me);
    if (step->who < 0 || step->who == me)
        window(&entries[step->entry], me, step->who < 0 ? other : NULL);
    else
        sleep_until(atomic_load(&start) + LEAD_NS + WINDOW_NS);
    meet(me);
    int64_t after = round_trip(me);
    if (me == 0) {
        step->row[0] = mine->ns + other->ns;
        step->row[1] = (int64_t)(mine->operations + other->operations);
        step->row[2] = before;
        step->row[3] = after;
        step->row[4] = (int64_t)(mine->counted + other->counted);
        step->row[5] = mine->sleeps + other->sleeps;
        step->row[6] = mine->stopped || other->stopped;
    }
    sleep_until(now_ns() + REST_NS);
}

static void *work(void *argument)
{
    int me = (int)(intptr_t)argument;
    mine = &workers[me];
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpus[me], &set);
    check(sched_setaffinity(0, sizeof set, &set) == 0, "affinity");
    struct sched_param priority = {.sched_priority = PRIORITY};
    check(sched_setscheduler(0, SCHED_FIFO, &priority) == 0, "SCHED_FIFO");
    for (int s = 0; s < 3 * entry_count; s++)
        do_step(&steps[s], me);
    return NULL;
}

/* --- rounds --------------------------------------------------------------------------------------------- */

static void shuffle(int *values, int count)
{
    for (int i = 0; i < count; i++)
        values[i] = i;
    for (int i = count; i > 1; i--) {
        int place = (int)(drand48() * i), last = values[i - 1];
        values[i - 1] = values[place];
        values[place] = last;
    }
}

static void run_round(int round)
{
    int order[ENTRIES_MAX], who[3];
    pthread_t threads[2];
    shuffle(order, entry_count);
    for (int s = 0; s < 3 * entry_count; s++) {
        if (s % 3 == 0)
            shuffle(who, 3);
        steps[s] = (struct step){order[s / 3], who[s % 3] - 1, {0}};
    }
    for (int i = 0; i < entry_count; i++)
        make(&entries[i]);
    for (int i = 0; i < 2; i++)
        check(pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i) == 0, "thread");
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    for (struct step *s = steps; s < steps + 3 * entry_count; s++) {
        const struct entry *e = &entries[s->entry];
        printf("%d %s:%u %d", round, e->name, e->operations, s->who);
        for (int i = 0; i < 7; i++)
            printf(" %ld%s", (long)s->row[i], i < 6 ? "" : "\n");
    }
    for (int i = 0; i < entry_count; i++)
        end(&entries[i]);
}

static int read_entry(const char *word)
{
    for (const struct entry *kind = kinds; kind < kinds + sizeof kinds / sizeof *kinds; kind++) {
        size_t length = strlen(kind->name);
        if (strncmp(word, kind->name, length) == 0 && word[length] == ':' && entry_count < ENTRIES_MAX) {
            entries[entry_count] = *kind;
            return (entries[entry_count++].operations = (unsigned)atoi(word + length + 1)) > 0;
        }
    }
    return 0;
}

static int read_word(const char *word)
{
    return sscanf(word, "cpus=%d,%d", &cpus[0], &cpus[1]) == 2 ||
           sscanf(word, "seconds=%lf", &seconds) == 1 || sscanf(word, "seed=%ld", &seed) == 1 ||
           sscanf(word, "look=%ld", &look_ns) == 1 ||
           (sscanf(word, "bytes=%u", &bytes) == 1 && bytes <= 1024) ||
           sscanf(word, "counts=%d", &counts) == 1 || sscanf(word, "private=%d", &private) == 1 ||
           read_entry(word);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (!read_word(argv[i]))
            return fprintf(stderr, "prices_outside: what is %s?\n", argv[i]), 2;
    check(mlockall(MCL_CURRENT | MCL_FUTURE) == 0, "mlockall");
    alarm((unsigned)(2 * seconds) + 20);
    srand48(seed);
    int64_t began = now_ns();
    for (int round = 0; round == 0 || (double)(now_ns() - began) < seconds * 1e9; round++)
        run_round(round);
    return 0;
}
