/*
 * What operations take alone and on two CPUs at once, by nothing of deadbeat: bench_prices.py holds it
 * against deadbeat's prices.
 *
 *   prices_outside [OPTIONS] OBJECT:OPERATIONS...    OPERATIONS: in a row, then come the counts of -k
 *     -c CPU,CPU   the two CPUs (0,1)          -s SECONDS (4)   -r SEED
 *     -w threads   of one process, or `processes` of one thread, or `both`: processes, each with a second
 *                  thread that works
 *     -l NS        time alone between two looks at the clock (20000)
 *     -k near|far  counts after each row as of one who keeps accounts, in lines before the object or in
 *                  other pages: two words of its own, one in shared memory
 *     -g WORDS     that a holder of a mutex changes, in a line beside it (2)
 *     -m BYTES     of a message (64)
 *     -p           mutexes and semaphores of one process, not shared between processes
 *
 * A line a window: ROUND OBJECT:OPERATIONS WHO NS COUNT BEFORE AFTER. WHO is 0 or 1 alone, or -1: both, the
 * sums of the two. BEFORE and AFTER: round trip of a word, ps. A round has new objects and new workers; what
 * both write, and each count and flag, lies 128 bytes from everything else.
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
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define APART _Alignas(128)
#define ENTRIES_MAX 16
#define MESSAGE_MAX 1024
#define PRIORITY 50
#define LEAD_NS 100000
#define WINDOW_NS 5000000
#define REST_NS 800000 /* real-time threads must leave some time to others */
#define TRIPS 64
#define BATCHES 5
#define LOST_NS 2000000000

struct object { /* begins a page; behind it are no counts */
    APART uint64_t near[2][16];
    APART union {
        pthread_mutex_t mutex;
        sem_t semaphore;
        atomic_ulong sum;
    } it;
    APART volatile uint64_t guarded[8];
    APART int ends[2];
    mqd_t queue;
};

struct entry {
    const struct kind *kind;
    unsigned operations, rows; /* rows: between two looks */
    struct object *object;
};

struct count { /* of one worker, in private memory */
    APART uint64_t rows, operations;
    volatile uint64_t *shared;
};

struct step {
    int entry, who;
};

struct worker {
    APART atomic_uint met;
    APART atomic_uint done;
    APART int64_t ns;
    uint64_t operations;
    APART uint64_t far[16];
};

static struct shared {
    APART atomic_uint ball;
    APART atomic_llong start;
    struct worker workers[2];
    APART struct step steps[3 * ENTRIES_MAX];
    int64_t rows[3 * ENTRIES_MAX][4]; /* ns, operations, before, after */
    struct entry entries[ENTRIES_MAX];
} *all;

static int cpus[2] = {0, 1}, entry_count, guarded_words = 2, private;
static size_t message_bytes = 64;
static int64_t look_ns = 20000;
static double seconds = 4;
static char workers_are = 't', counts = '-';

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

static void *map(size_t bytes)
{
    void *found = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    check(found != MAP_FAILED, "mmap");
    return found;
}

/* --- objects -------------------------------------------------------------------------------------------- */

static void make_mutex(struct object *o, int protocol)
{
    pthread_mutexattr_t how;
    pthread_mutexattr_init(&how);
    pthread_mutexattr_setpshared(&how, private ? PTHREAD_PROCESS_PRIVATE : PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setprotocol(&how, protocol);
    errno = pthread_mutex_init(&o->it.mutex, &how);
    check(errno == 0, "mutex");
}

static void make_normal(struct object *o)
{
    make_mutex(o, PTHREAD_PRIO_NONE);
}

static void make_inherit(struct object *o)
{
    make_mutex(o, PTHREAD_PRIO_INHERIT);
}

static void run_mutex(struct object *o, unsigned operations)
{
    for (; operations; operations--) {
        check(pthread_mutex_lock(&o->it.mutex) == 0, "lock");
        for (int i = 0; i < guarded_words; i++)
            o->guarded[i]++;
        check(pthread_mutex_unlock(&o->it.mutex) == 0, "unlock");
    }
}

static void make_sum(struct object *o)
{
    atomic_init(&o->it.sum, 0);
}

static void run_sum(struct object *o, unsigned operations)
{
    for (; operations; operations--)
        atomic_fetch_add(&o->it.sum, 1);
}

static void make_semaphore(struct object *o)
{
    check(sem_init(&o->it.semaphore, !private, 2) == 0, "semaphore");
}

static void run_semaphore(struct object *o, unsigned operations)
{
    for (; operations; operations--) {
        check(sem_wait(&o->it.semaphore) == 0, "sem_wait");
        check(sem_post(&o->it.semaphore) == 0, "sem_post");
    }
}

static void make_pipe(struct object *o)
{
    check(pipe(o->ends) == 0, "pipe");
}

static void run_pipe(struct object *o, unsigned operations)
{
    char message[MESSAGE_MAX] = {0};
    for (; operations; operations--) {
        check(write(o->ends[1], message, message_bytes) == (ssize_t)message_bytes, "write");
        check(read(o->ends[0], message, message_bytes) == (ssize_t)message_bytes, "read");
    }
}

static void end_pipe(struct object *o)
{
    close(o->ends[0]);
    close(o->ends[1]);
}

static void make_queue(struct object *o)
{
    char name[40];
    struct mq_attr how = {.mq_maxmsg = 2, .mq_msgsize = (long)message_bytes};
    snprintf(name, sizeof name, "/prices-outside-%d", (int)getpid());
    o->queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &how);
    check(o->queue != (mqd_t)-1, "mq_open");
    mq_unlink(name);
}

static void run_queue(struct object *o, unsigned operations)
{
    char message[MESSAGE_MAX] = {0};
    for (; operations; operations--) {
        check(mq_send(o->queue, message, message_bytes, 0) == 0, "mq_send");
        check(mq_receive(o->queue, message, message_bytes, NULL) == (ssize_t)message_bytes, "mq_receive");
    }
}

static void end_queue(struct object *o)
{
    mq_close(o->queue);
}

static const struct kind {
    const char *name;
    void (*make)(struct object *);
    void (*run)(struct object *, unsigned operations);
    void (*end)(struct object *);
} kinds[] = {
    {"mutex_inherit", make_inherit, run_mutex, NULL},
    {"mutex_normal", make_normal, run_mutex, NULL},
    {"atomic_line", make_sum, run_sum, NULL},
    {"semaphore_posix", make_semaphore, run_semaphore, NULL},
    {"pipe", make_pipe, run_pipe, end_pipe},
    {"mq_posix", make_queue, run_queue, end_queue},
};

/* --- a worker ------------------------------------------------------------------------------------------- */

static void perform(const struct entry *e, struct count *c)
{
    for (unsigned row = e->rows; row; row--) {
        e->kind->run(e->object, e->operations);
        if (counts == '-')
            continue;
        c->rows++;
        c->operations += e->operations;
        *c->shared += e->operations;
    }
}

static void await(const atomic_uint *word, unsigned wanted, int64_t until)
{
    for (unsigned n = 1; atomic_load_explicit(word, memory_order_acquire) != wanted; n++)
        check(n % 4096 || now_ns() < until, "the other worker is lost");
}

/* Both have come so far. */
static void meet(int me)
{
    unsigned mine = atomic_load(&all->workers[me].met) + 1;
    atomic_store(&all->workers[me].met, mine);
    while ((int)(atomic_load(&all->workers[1 - me].met) - mine) < 0)
        check(now_ns() - atomic_load(&all->start) < LOST_NS, "the other worker is lost");
}

static int64_t round_trip(int me)
{
    int64_t best = INT64_MAX;
    if (me == 0)
        atomic_store(&all->ball, 0);
    meet(me);
    for (unsigned value = 0, batch = 0; batch < BATCHES; batch++) {
        int64_t from = now_ns();
        for (int i = 0; i < TRIPS; i++, value += 2) {
            if (me == 1)
                await(&all->ball, value + 1, from + LOST_NS);
            atomic_store_explicit(&all->ball, value + 1 + (unsigned)me, memory_order_release);
            if (me == 0)
                await(&all->ball, value + 2, from + LOST_NS);
        }
        int64_t took = now_ns() - from;
        best = took < best ? took : best;
    }
    return best * 1000 / TRIPS;
}

static void window(struct worker *mine, const struct worker *other, const struct entry *e, struct count *c,
                   int64_t start)
{
    unsigned turn = atomic_load(&mine->done) + 1;
    int64_t begin, now;
    while (now_ns() < start)
        ;
    do {
        perform(e, c);
        begin = now_ns();
    } while (begin < start + LEAD_NS);
    uint64_t operations = 0;
    do {
        perform(e, c);
        operations += (uint64_t)e->operations * e->rows;
        now = now_ns();
    } while (now < begin + WINDOW_NS);
    mine->ns = now - begin;
    mine->operations = operations;
    atomic_store(&mine->done, turn);
    while (other && atomic_load(&other->done) != turn && now_ns() < begin + LOST_NS)
        perform(e, c); /* nobody counts what is easy because the other has stopped */
}

static void find_rows(struct entry *e, struct count *c)
{
    for (e->rows = 1;; e->rows *= 2) {
        int64_t from = now_ns();
        perform(e, c);
        if (now_ns() - from > look_ns / 2)
            return;
    }
}

static void do_step(int me, int s, struct count *c)
{
    const struct step *step = &all->steps[s];
    struct worker *mine = &all->workers[me], *other = &all->workers[1 - me];
    struct entry *e = &all->entries[step->entry];
    c->shared = counts == 'n' ? e->object->near[me] : mine->far;
    mine->ns = 0;
    mine->operations = 0;
    int64_t before = round_trip(me);
    if (me == 0)
        atomic_store(&all->start, now_ns() + 30000);
    meet(me);
    int64_t start = atomic_load(&all->start);
    if (step->who < 0)
        atomic_store(&mine->done, 0);
    meet(me);
    if (step->who < 0 || step->who == me)
        window(mine, step->who < 0 ? other : NULL, e, c, start);
    else
        sleep_until(start + LEAD_NS + WINDOW_NS);
    meet(me);
    int64_t after = round_trip(me);
    if (me == 0) {
        int64_t row[4] = {mine->ns + other->ns, (int64_t)(mine->operations + other->operations), before,
                          after};
        memcpy(all->rows[s], row, sizeof row);
    }
    sleep_until(now_ns() + REST_NS);
}

static void *work(void *argument)
{
    int me = (int)(intptr_t)argument;
    static _Thread_local struct count count;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpus[me], &set);
    check(sched_setaffinity(0, sizeof set, &set) == 0, "affinity");
    check(mlockall(MCL_CURRENT | MCL_FUTURE) == 0, "mlockall");
    check(sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){.sched_priority = PRIORITY}) == 0,
          "SCHED_FIFO");
    for (int i = 0; i < entry_count; i++) {
        count.shared = all->workers[me].far;
        if (me == 0)
            find_rows(&all->entries[i], &count);
    }
    atomic_store(&all->start, now_ns());
    for (int s = 0; s < 3 * entry_count; s++)
        do_step(me, s, &count);
    return NULL;
}

/* --- rounds --------------------------------------------------------------------------------------------- */

static void shuffle(int *values, int count)
{
    for (int i = count; i > 1; i--) {
        int place = (int)(drand48() * i), last = values[i - 1];
        values[i - 1] = values[place];
        values[place] = last;
    }
}

static void plan(void)
{
    int order[ENTRIES_MAX];
    for (int i = 0; i < entry_count; i++)
        order[i] = i;
    shuffle(order, entry_count);
    for (int i = 0; i < entry_count; i++) {
        int who[3] = {-1, 0, 1};
        shuffle(who, 3);
        for (int k = 0; k < 3; k++)
            all->steps[3 * i + k] = (struct step){order[i], who[k]};
    }
}

static void run_threads(int first, int end)
{
    pthread_t threads[2];
    for (int i = first; i < end; i++)
        check(pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i) == 0, "thread");
    for (int i = first; i < end; i++)
        pthread_join(threads[i], NULL);
}

static void run_processes(void)
{
    int status;
    for (int i = 0; i < 2; i++)
        if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (workers_are == 'b')
                run_threads(i, i + 1);
            else
                work((void *)(intptr_t)i);
            _exit(0);
        }
    for (int i = 0; i < 2; i++)
        check(wait(&status) > 0 && status == 0, "a worker ended badly");
}

static void run_round(int round)
{
    memset(all->workers, 0, sizeof all->workers);
    for (int i = 0; i < entry_count; i++) {
        struct entry *e = &all->entries[i];
        e->object = map(sizeof *e->object);
        e->kind->make(e->object);
    }
    plan();
    if (workers_are == 't')
        run_threads(0, 2);
    else
        run_processes();
    for (int s = 0; s < 3 * entry_count; s++) {
        const struct step *step = &all->steps[s];
        const int64_t *r = all->rows[s];
        const struct entry *e = &all->entries[step->entry];
        printf("%d %s:%u %d %ld %ld %ld %ld\n", round, e->kind->name, e->operations, step->who, (long)r[0],
               (long)r[1], (long)r[2], (long)r[3]);
    }
    for (int i = 0; i < entry_count; i++) {
        struct entry *e = &all->entries[i];
        if (e->kind->end)
            e->kind->end(e->object);
        munmap(e->object, sizeof *e->object);
    }
}

static int read_entry(char *word)
{
    char *size = strchr(word, ':');
    struct entry *e = &all->entries[entry_count];
    if (!size || entry_count == ENTRIES_MAX)
        return 0;
    *size = 0;
    e->operations = (unsigned)strtoul(size + 1, NULL, 10);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, word) == 0)
            e->kind = &kinds[i];
    entry_count++;
    return e->kind && e->operations;
}

int main(int argc, char **argv)
{
    int option, fine = 1;
    all = map(sizeof *all);
    while ((option = getopt(argc, argv, "c:s:r:w:l:k:g:m:p")) != -1)
        switch (option) {
        case 'c':
            fine &= sscanf(optarg, "%d,%d", &cpus[0], &cpus[1]) == 2;
            break;
        case 's':
            seconds = atof(optarg);
            break;
        case 'r':
            srand48(atol(optarg));
            break;
        case 'w':
            workers_are = *optarg;
            break;
        case 'l':
            look_ns = atol(optarg);
            break;
        case 'p':
            private = 1;
            break;
        case 'k':
            counts = *optarg;
            break;
        case 'g':
            fine &= (guarded_words = atoi(optarg)) <= 8;
            break;
        case 'm':
            fine &= (message_bytes = (size_t)atol(optarg)) <= MESSAGE_MAX;
            break;
        default:
            fine = 0;
        }
    for (; optind < argc; optind++)
        fine &= read_entry(argv[optind]);
    if (!fine || entry_count == 0)
        return fprintf(stderr, "prices_outside: see the top of prices_outside.c\n"), 2;
    alarm((unsigned)(2 * seconds) + 20);
    int64_t began = now_ns();
    for (int round = 0; round == 0 || (double)(now_ns() - began) < seconds * 1e9; round++)
        run_round(round);
    return 0;
}
