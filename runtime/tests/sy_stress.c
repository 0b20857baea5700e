/*
 * Stresses one SY fragment outside the runtime, or compares its contended with its parallel use.
 *
 *   sy_stress NAME SIZE OPERATIONS PARTICIPANTS PROCESSES [--fifo] [--equal] [--limit SECONDS]
 *   sy_stress --con-par NAME SIZE [--threads] [--fifo] [--rounds N]
 *
 * The first form makes one object in a shared arena, forks PROCESSES processes, spreads PARTICIPANTS
 * threads over them, pins round robin over the cpus, lets each call run() until OPERATIONS calls are
 * done by all together (at least one each), checks every context and the object, and prints one line
 * of key=value. --fifo: SCHED_FIFO 60 and up, one priority a participant (--equal: 60 for all), with
 * short pauses so that lower priorities run and are preempted in the middle of an operation.
 *
 * The second form runs two participants on two cpus, in turns: alone, PAR (an object each) and CON
 * (one object), and prints the cost of a call as the median over the rounds.
 *
 * A hang ends after the limit with one line; exit status 0 only if everything was checked and right.
 */
#include "deadbeat/sy/common.h"
#include "deadbeat/tables.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_PARTICIPANTS 64
#define PAGE 4096
#define CEILING 80
#define LOWEST_PRIORITY 60
#define CALLS_BETWEEN_PAUSES 32
#define PAUSE_NS 50000
#define WINDOW_NS 20000000 /* one variant in one round of --con-par */
#define MAX_ROUNDS 101

enum variant { SOLO = 0, PARALLEL = 1, CONTENDED = 2, VARIANTS = 3 };

struct options {
    const struct db_fragment *fragment;
    uint32_t size;
    uint64_t operations;
    uint32_t participants;
    uint32_t processes;
    uint32_t rounds;
    unsigned limit_seconds;
    bool fifo;
    bool equal;
    bool threads;
    bool compare;
};

struct worker {
    alignas(DB_CACHE_LINE) struct db_context context;
    const struct options *options;
    struct arena *arena;
    uint64_t calls; /* asked for; 0: until the window ends */
    uint64_t done;
    int64_t elapsed_ns;
    uint32_t cpu;
    int32_t ran_on;
    int32_t priority;
    bool failed;
    char why[160];
};

/* Shared by all processes; the objects' memory lies behind it. */
struct arena {
    pthread_barrier_t start;
    pthread_barrier_t finish; /* nobody tears down while another still runs */
    struct db_resource resources[2];
    struct worker workers[MAX_PARTICIPANTS];
};

static struct options chosen;
static struct arena *the_arena;
static pid_t children[MAX_PARTICIPANTS];
static volatile sig_atomic_t child_count;

static void die(const char *what, const char *detail)
{
    fprintf(stderr, "sy_stress: %s: %s\n", what, detail);
    exit(2);
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static size_t round_up(size_t bytes, size_t grain)
{
    return (bytes + grain - 1) / grain * grain;
}

static const struct db_fragment *find(const char *name)
{
    for (uint32_t i = 0; i < db_fragment_count; i++) {
        if (strcmp(db_fragments[i]->name, name) == 0 && db_fragments[i]->kind == DB_SY) {
            return db_fragments[i];
        }
    }
    die("no SY fragment of this name", name);
    return NULL;
}

/* --- one participant ------------------------------------------------------------------------ */

static void fail(struct worker *worker, const char *what, int error)
{
    worker->failed = true;
    snprintf(worker->why, sizeof worker->why, "%s: %s", what, strerror(error));
}

static void work(struct worker *worker)
{
    void (*run)(struct db_context *) = worker->options->fragment->run;
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    const int64_t start = now_ns();
    if (worker->calls > 0) {
        for (uint64_t i = 0; i < worker->calls; i++) {
            run(&worker->context);
            if (worker->options->fifo && i % CALLS_BETWEEN_PAUSES == CALLS_BETWEEN_PAUSES - 1) {
                clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
            }
        }
        worker->done = worker->calls;
    } else {
        while (now_ns() - start < WINDOW_NS) {
            for (unsigned i = 0; i < 16; i++) {
                run(&worker->context);
            }
            worker->done += 16;
        }
    }
    worker->elapsed_ns = now_ns() - start;
    worker->ran_on = sched_getcpu();
}

static void *participate(void *argument)
{
    struct worker *worker = argument;
    const struct db_fragment *fragment = worker->options->fragment;
    const size_t bytes = round_up(fragment->context_bytes(worker->context.size) + 1, DB_CACHE_LINE);
    worker->context.memory = aligned_alloc(DB_CACHE_LINE, bytes);
    if (!worker->context.memory) {
        die("a context does not fit into memory", fragment->name);
    }
    memset(worker->context.memory, 0, bytes);
    const int error = fragment->setup(&worker->context);
    if (error) {
        fail(worker, "setup", error);
    }
    pthread_barrier_wait(&worker->arena->start);
    if (!error) {
        work(worker);
    }
    pthread_barrier_wait(&worker->arena->finish);
    if (!error) {
        worker->failed = fragment->check(&worker->context, worker->why, sizeof worker->why) != 0;
        if (fragment->teardown) {
            fragment->teardown(&worker->context);
        }
    }
    free(worker->context.memory);
    return NULL;
}

/* Policy, priority and cpu are attributes: a thread never runs without them. */
static pthread_t launch(struct worker *worker)
{
    pthread_attr_t attributes;
    cpu_set_t cpus;
    pthread_t thread;
    const struct sched_param param = {.sched_priority = worker->priority};
    pthread_attr_init(&attributes);
    CPU_ZERO(&cpus);
    CPU_SET(worker->cpu, &cpus);
    int error = pthread_attr_setaffinity_np(&attributes, sizeof cpus, &cpus);
    if (!error && worker->options->fifo) {
        (void)pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
        (void)pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
        error = pthread_attr_setschedparam(&attributes, &param);
    }
    if (!error) {
        error = pthread_create(&thread, &attributes, participate, worker);
    }
    if (error) {
        die("a participant cannot be started", strerror(error));
    }
    pthread_attr_destroy(&attributes);
    return thread;
}

/* --- one process ------------------------------------------------------------------------------ */

static void run_process(struct arena *arena, uint32_t process, uint32_t processes, uint32_t participants)
{
    pthread_t threads[MAX_PARTICIPANTS];
    uint32_t count = 0;
    for (uint32_t i = process; i < participants; i += processes) {
        threads[count++] = launch(&arena->workers[i]);
    }
    for (uint32_t i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
    }
}

static void run_processes(struct arena *arena, uint32_t processes, uint32_t participants)
{
    child_count = 0;
    for (uint32_t i = 0; i < processes; i++) {
        const pid_t child = fork();
        if (child < 0) {
            die("fork", strerror(errno));
        }
        if (child == 0) {
            (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
            (void)signal(SIGALRM, SIG_DFL);
            run_process(arena, i, processes, participants);
            exit(0);
        }
        children[child_count] = child;
        child_count++;
    }
    for (uint32_t i = 0; i < processes; i++) {
        int status = 0;
        while (waitpid(children[i], &status, 0) < 0 && errno == EINTR) {
        }
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
            die("a process of participants died", chosen.fragment->name);
        }
    }
    child_count = 0;
}

/* --- objects ------------------------------------------------------------------------------------ */

/* Every object begins on a page of its own: what lies beside it (a worker, another object) must not
 * be fetched into or aliased with its lines, or PAR costs a nanosecond more than solo. */
static unsigned char *object_memory(struct arena *arena, const struct options *options, uint32_t nth)
{
    const size_t bytes =
        round_up(options->fragment->shared_bytes(options->participants, options->size), PAGE);
    return (unsigned char *)arena + round_up(sizeof *arena, PAGE) + nth * bytes;
}

static struct arena *make_arena(const struct options *options)
{
    const size_t bytes = (size_t)(object_memory((struct arena *)0, options, 2) - (unsigned char *)0);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        die("the arena", strerror(errno));
    }
    return memory;
}

static void make_object(struct arena *arena, const struct options *options, uint32_t number,
                        uint32_t participants, uint32_t cores)
{
    struct db_resource *resource = &arena->resources[number];
    memset(resource, 0, sizeof *resource);
    resource->shared = object_memory(arena, options, number);
    memset(resource->shared, 0, options->fragment->shared_bytes(participants, options->size));
    resource->participants = participants;
    resource->cores = cores;
    resource->max_size = options->size;
    resource->ceiling = options->fifo ? CEILING : 0;
    resource->owner_pid = getpid();
    for (unsigned i = 0; i < DB_RESOURCE_FDS; i++) {
        resource->fds[i] = -1;
    }
    const int error = options->fragment->create(resource);
    if (error) {
        die("create", strerror(error));
    }
}

static void make_worker(struct arena *arena, const struct options *options, uint32_t i, uint32_t resource,
                        uint32_t participant)
{
    struct worker *worker = &arena->workers[i];
    memset(worker, 0, sizeof *worker);
    worker->options = options;
    worker->arena = arena;
    worker->context.size = options->size;
    worker->context.participant = participant;
    worker->context.seed = i;
    worker->context.resource = &arena->resources[resource];
    worker->priority = LOWEST_PRIORITY + (options->equal ? 0 : (int32_t)(i % (CEILING - LOWEST_PRIORITY)));
}

static void make_barriers(struct arena *arena, uint32_t parties)
{
    pthread_barrierattr_t attributes;
    pthread_barrierattr_init(&attributes);
    pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&arena->start, &attributes, parties);
    pthread_barrier_init(&arena->finish, &attributes, parties);
    pthread_barrierattr_destroy(&attributes);
}

static bool all_right(struct arena *arena, const struct options *options, uint32_t participants,
                      uint32_t objects)
{
    bool right = true;
    char why[200];
    for (uint32_t i = 0; i < participants; i++) {
        if (arena->workers[i].failed) {
            right = false;
            printf("FAILED %s/%" PRIu32 " participant %" PRIu32 ": %s\n", options->fragment->name,
                   options->size, i, arena->workers[i].why);
        }
    }
    for (uint32_t i = 0; i < objects; i++) {
        if (options->fragment->check_resource(&arena->resources[i], why, sizeof why)) {
            right = false;
            printf("FAILED %s/%" PRIu32 " object: %s\n", options->fragment->name, options->size, why);
        }
        options->fragment->destroy(&arena->resources[i]);
    }
    return right;
}

/* --- a bound on everything ------------------------------------------------------------------------ */

static void on_alarm(int number)
{
    static const char line[] = "FAILED hang: the participants did not finish within the limit\n";
    (void)number;
    (void)!write(STDOUT_FILENO, line, sizeof line - 1);
    for (int i = 0; i < child_count; i++) {
        (void)kill(children[i], SIGKILL);
    }
    for (unsigned i = 0; the_arena && i < 2; i++) {
        if (the_arena->resources[i].shared) {
            chosen.fragment->destroy(&the_arena->resources[i]);
        }
    }
    _exit(3);
}

/* RLIMIT_RTTIME ends a real-time thread that computes for so long without once blocking. */
static void bound(const struct options *options)
{
    const struct rlimit realtime = {.rlim_cur = 3000000, .rlim_max = 4000000};
    if (options->fifo) {
        (void)setrlimit(RLIMIT_RTTIME, &realtime);
    }
    (void)signal(SIGALRM, on_alarm);
    (void)alarm(options->limit_seconds);
}

static uint32_t nth_cpu(uint32_t n)
{
    cpu_set_t cpus;
    if (sched_getaffinity(0, sizeof cpus, &cpus)) {
        die("sched_getaffinity", strerror(errno));
    }
    uint32_t skip = n % (uint32_t)CPU_COUNT(&cpus);
    for (uint32_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &cpus) && skip-- == 0) {
            return cpu;
        }
    }
    die("sched_getaffinity", "no cpu");
    return 0;
}

/* Pairs of a process and a cpu from which operations reached the object, by its accounts. */
static uint32_t places_seen(const struct arena *arena, uint32_t participants)
{
    const struct db_account *accounts = arena->resources[0].shared;
    uint32_t seen = 0;
    for (uint32_t i = 0; i < participants; i++) {
        bool fresh = accounts[i].operations > 0;
        for (uint32_t earlier = 0; earlier < i && fresh; earlier++) {
            fresh = accounts[earlier].process != accounts[i].process ||
                    arena->workers[earlier].ran_on != arena->workers[i].ran_on;
        }
        seen += fresh;
    }
    return seen;
}

/* --- the first form: stress ------------------------------------------------------------------------ */

static int stress(struct arena *arena, const struct options *options)
{
    const uint32_t participants = options->participants;
    const uint64_t share = options->operations / participants;
    make_object(arena, options, 0, participants, options->processes);
    for (uint32_t i = 0; i < participants; i++) {
        make_worker(arena, options, i, 0, i);
        arena->workers[i].calls = share ? share : 1;
        arena->workers[i].cpu = nth_cpu(options->processes > 1 ? i % options->processes : i);
    }
    make_barriers(arena, participants);
    if (options->processes == 1) { /* threads of this process, for ThreadSanitizer */
        run_process(arena, 0, 1, participants);
    } else {
        run_processes(arena, options->processes, participants);
    }
    if (!all_right(arena, options, participants, 1)) {
        return 1;
    }
    int64_t longest_ns = 0;
    uint64_t calls = 0;
    for (uint32_t i = 0; i < participants; i++) {
        const struct worker *worker = &arena->workers[i];
        longest_ns = worker->elapsed_ns > longest_ns ? worker->elapsed_ns : longest_ns;
        calls += worker->done;
    }
    printf("ok %s/%" PRIu32 " participants=%" PRIu32 " processes=%" PRIu32 " calls=%" PRIu64
           " reached_from=%" PRIu32 " operations=%" PRIu64 " ns_per_call=%.1f\n",
           options->fragment->name, options->size, participants, options->processes, calls,
           places_seen(arena, participants), db_operations(&arena->resources[0]),
           (double)longest_ns * participants / (double)calls);
    return 0;
}

/* --- the second form: CON beside PAR ---------------------------------------------------------------- */

/* Nanoseconds of a call, mean of the participants. */
static double measure(struct arena *arena, const struct options *options, enum variant variant)
{
    const uint32_t participants = variant == SOLO ? 1 : 2;
    const uint32_t objects = variant == PARALLEL ? 2 : 1;
    for (uint32_t i = 0; i < objects; i++) {
        make_object(arena, options, i, participants / objects, participants / objects);
    }
    for (uint32_t i = 0; i < participants; i++) {
        make_worker(arena, options, i, objects == 2 ? i : 0, objects == 2 ? 0 : i);
        arena->workers[i].cpu = nth_cpu(i);
    }
    make_barriers(arena, participants);
    if (options->threads) {
        run_process(arena, 0, 1, participants);
    } else {
        run_processes(arena, participants, participants);
    }
    if (!all_right(arena, options, participants, objects)) {
        exit(1);
    }
    double sum = 0;
    for (uint32_t i = 0; i < participants; i++) {
        sum += (double)arena->workers[i].elapsed_ns / (double)arena->workers[i].done;
    }
    return sum / participants;
}

static int ascending(const void *a, const void *b)
{
    const double left = *(const double *)a;
    const double right = *(const double *)b;
    return (left > right) - (left < right);
}

static int compare(struct arena *arena, const struct options *options)
{
    static double ns[VARIANTS][MAX_ROUNDS];
    double median[VARIANTS];
    for (uint32_t round = 0; round < options->rounds; round++) {
        for (enum variant variant = SOLO; variant < VARIANTS; variant++) {
            ns[variant][round] = measure(arena, options, variant);
        }
    }
    for (enum variant variant = SOLO; variant < VARIANTS; variant++) {
        qsort(ns[variant], options->rounds, sizeof ns[variant][0], ascending);
        median[variant] = ns[variant][options->rounds / 2];
    }
    printf("ok %s/%" PRIu32 " solo_ns=%.1f par_ns=%.1f con_ns=%.1f par/solo=%.3f con/par=%.3f\n",
           options->fragment->name, options->size, median[SOLO], median[PARALLEL], median[CONTENDED],
           median[PARALLEL] / median[SOLO], median[CONTENDED] / median[PARALLEL]);
    return 0;
}

/* --- arguments ---------------------------------------------------------------------------------------- */

static uint64_t number(const char *text, uint64_t highest)
{
    char *end = NULL;
    errno = 0;
    const unsigned long long value = strtoull(text, &end, 10);
    if (errno || end == text || *end || value < 1 || value > highest) {
        die("not a number in range", text);
    }
    return value;
}

static void read_options(struct options *options, int count, char **words)
{
    const char *plain[5] = {0};
    unsigned plain_count = 0;
    *options = (struct options){.limit_seconds = 60, .rounds = 15, .participants = 2, .processes = 2};
    for (int i = 1; i < count; i++) {
        if (strcmp(words[i], "--fifo") == 0) {
            options->fifo = true;
        } else if (strcmp(words[i], "--equal") == 0) {
            options->equal = true;
        } else if (strcmp(words[i], "--threads") == 0) {
            options->threads = true;
        } else if (strcmp(words[i], "--con-par") == 0) {
            options->compare = true;
        } else if (strcmp(words[i], "--limit") == 0 && i + 1 < count) {
            options->limit_seconds = (unsigned)number(words[++i], 3600);
        } else if (strcmp(words[i], "--rounds") == 0 && i + 1 < count) {
            options->rounds = (uint32_t)number(words[++i], MAX_ROUNDS);
        } else if (words[i][0] != '-' && plain_count < 5) {
            plain[plain_count++] = words[i];
        } else {
            die("unknown argument", words[i]);
        }
    }
    if (plain_count != (options->compare ? 2u : 5u)) {
        die("usage", "NAME SIZE OPERATIONS PARTICIPANTS PROCESSES, or --con-par NAME SIZE");
    }
    options->fragment = find(plain[0]);
    options->size = (uint32_t)number(plain[1], UINT32_MAX);
    if (!options->compare) {
        options->operations = number(plain[2], UINT64_MAX);
        options->participants = (uint32_t)number(plain[3], MAX_PARTICIPANTS);
        options->processes = (uint32_t)number(plain[4], options->participants);
    }
}

int main(int count, char **words)
{
    read_options(&chosen, count, words);
    the_arena = make_arena(&chosen);
    bound(&chosen);
    return chosen.compare ? compare(the_arena, &chosen) : stress(the_arena, &chosen);
}
