/*
 * Runs NS fragments on their own, for tests and for a first look at a cost.
 *
 *   ns_driver list                                  name, one a line
 *   ns_driver NAME SIZE CALLS [SEED]                ns per call (least and median of batches), verdict
 *   ns_driver threads NAME SIZE CALLS N             N threads at once, a context each; all checked
 *   ns_driver spread NAME SIZE CALLS                quantiles of the cost of single calls
 *   ns_driver emptied NAME SIZE CALLS               a no-op instead of run(): check() must refuse
 *   ns_driver stale NAME SIZE CALLS                 parts of the last result replaced by the previous one's
 *   ns_driver fresh NAME SIZE CALLS                 determinism, fresh data a call, other data a seed
 *
 * Exit status 0: the verdict is good; 1: it is not, and stdout says why; 2: wrong usage.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "deadbeat/tables.h"

#define WHY_BYTES 160
#define MAX_THREADS 64
#define BATCHES 16
/* Words of a context that one more call, and another seed, must change: more than the state of the
 * random generator alone. */
#define MIN_FRESH_BY_CALL 2
#define MIN_FRESH_BY_SEED 3
/* Positions at which `stale` tries an old word. */
#define STALE_TRIALS 256

static void give_up(const char *what, const char *detail)
{
    fprintf(stderr, "ns_driver: %s: %s\n", what, detail);
    exit(2);
}

static const struct db_fragment *find(const char *name)
{
    for (uint32_t i = 0; i < db_fragment_count; i++)
        if (strcmp(db_fragments[i]->name, name) == 0)
            return db_fragments[i];
    give_up("no such fragment", name);
    return NULL;
}

static uint64_t number(const char *text, uint64_t least, uint64_t most)
{
    char *end;
    errno = 0;
    const unsigned long long value = strtoull(text, &end, 0);
    if (errno != 0 || end == text || *end != '\0' || value < least || value > most)
        give_up("not a number in range", text);
    return value;
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void *allocate(size_t bytes)
{
    void *memory = aligned_alloc(DB_CACHE_LINE, (bytes / DB_CACHE_LINE + 1) * DB_CACHE_LINE);
    if (memory == NULL)
        give_up("allocation", strerror(ENOMEM));
    return memory;
}

/* A context in its own heap block, so that AddressSanitizer sees its exact end. */
static void prepare(const struct db_fragment *fragment, struct db_context *context, uint32_t size,
                    uint64_t seed)
{
    const size_t bytes = fragment->context_bytes(size);
    void *memory = NULL;
    if (posix_memalign(&memory, DB_CACHE_LINE, bytes > 0 ? bytes : 1) != 0)
        give_up("allocation", strerror(ENOMEM));
    memset(memory, 0, bytes);
    *context = (struct db_context){.memory = memory, .size = size, .seed = seed};
    const int error = fragment->setup(context);
    if (error != 0)
        give_up(fragment->name, strerror(error));
}

static void discard(const struct db_fragment *fragment, struct db_context *context)
{
    if (fragment->teardown != NULL)
        fragment->teardown(context);
    free(context->memory);
}

static void repeat(const struct db_fragment *fragment, struct db_context *context, uint64_t calls)
{
    for (uint64_t i = 0; i < calls; i++)
        fragment->run(context);
}

static int verdict(const struct db_fragment *fragment, const struct db_context *context, char *why)
{
    why[0] = '\0';
    const int wrong = fragment->check(context, why, WHY_BYTES);
    if (wrong && why[0] == '\0')
        snprintf(why, WHY_BYTES, "check() failed without a reason");
    return wrong != 0;
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int measure(const struct db_fragment *fragment, uint32_t size, uint64_t calls, uint64_t seed)
{
    struct db_context context;
    char why[WHY_BYTES];
    double per_call[BATCHES];
    const uint64_t batches = calls < BATCHES ? calls : BATCHES;
    prepare(fragment, &context, size, seed);
    for (uint64_t b = 0; b < batches; b++) {
        const uint64_t batch = calls * (b + 1) / batches - calls * b / batches;
        const int64_t start = now_ns();
        repeat(fragment, &context, batch);
        per_call[b] = (double)(now_ns() - start) / (double)batch;
    }
    qsort(per_call, batches, sizeof per_call[0], compare_doubles);
    const int wrong = verdict(fragment, &context, why);
    printf("%s/%u %.1f %.1f ns %s%s\n", fragment->name, size, per_call[0], per_call[batches / 2],
           wrong ? "WRONG: " : "ok", why);
    discard(fragment, &context);
    return wrong;
}

static int spread(const struct db_fragment *fragment, uint32_t size, uint64_t calls)
{
    struct db_context context;
    double *cost = allocate(calls * sizeof *cost);
    prepare(fragment, &context, size, 1);
    repeat(fragment, &context, calls / 10 + 1);
    for (uint64_t i = 0; i < calls; i++) {
        const int64_t start = now_ns();
        fragment->run(&context);
        cost[i] = (double)(now_ns() - start);
    }
    qsort(cost, calls, sizeof *cost, compare_doubles);
    const double median = cost[calls / 2], low = cost[calls / 20], high = cost[calls - 1 - calls / 20];
    printf("%s/%u p05 %.0f p50 %.0f p95 %.0f ns, (p95 - p05) / p50 %.3f\n", fragment->name, size, low, median,
           high, (high - low) / median);
    free(cost);
    discard(fragment, &context);
    return 0;
}

struct worker {
    const struct db_fragment *fragment;
    pthread_barrier_t *start;
    uint64_t calls, seed;
    uint32_t size;
    int wrong;
    char why[WHY_BYTES];
};

static void *work(void *argument)
{
    struct worker *w = argument;
    struct db_context context;
    prepare(w->fragment, &context, w->size, w->seed);
    pthread_barrier_wait(w->start);
    repeat(w->fragment, &context, w->calls);
    w->wrong = verdict(w->fragment, &context, w->why);
    discard(w->fragment, &context);
    return NULL;
}

static int run_threads(const struct db_fragment *fragment, uint32_t size, uint64_t calls, uint64_t count)
{
    pthread_barrier_t start;
    pthread_t threads[MAX_THREADS];
    struct worker workers[MAX_THREADS];
    int wrong = 0;
    if (pthread_barrier_init(&start, NULL, (unsigned)count) != 0)
        give_up("pthread_barrier_init", "failed");
    for (uint64_t i = 0; i < count; i++) {
        workers[i] = (struct worker){
            .fragment = fragment, .start = &start, .calls = calls, .seed = i + 1, .size = size};
        const int error = pthread_create(&threads[i], NULL, work, &workers[i]);
        if (error != 0)
            give_up("pthread_create", strerror(error));
    }
    for (uint64_t i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
        if (workers[i].wrong)
            printf("%s/%u thread %llu WRONG: %s\n", fragment->name, size, (unsigned long long)i,
                   workers[i].why);
        wrong |= workers[i].wrong;
    }
    pthread_barrier_destroy(&start);
    if (!wrong)
        printf("%s/%u %llu threads ok\n", fragment->name, size, (unsigned long long)count);
    return wrong;
}

/* What the compiler would leave of a kernel whose results nobody needs. */
static void emptied_run(struct db_context *context)
{
    db_keep(context);
}

static int run_emptied(const struct db_fragment *fragment, uint32_t size, uint64_t calls)
{
    struct db_fragment emptied = *fragment;
    struct db_context context;
    char why[WHY_BYTES];
    emptied.run = emptied_run;
    prepare(fragment, &context, size, 1);
    repeat(&emptied, &context, calls);
    const int refused = verdict(fragment, &context, why);
    printf("%s/%u %s%s\n", fragment->name, size, refused ? "refused: " : "WRONG: an emptied run() passes",
           why);
    discard(fragment, &context);
    return !refused;
}

static size_t differing_words(const uint64_t *a, const uint64_t *b, size_t words)
{
    size_t count = 0;
    for (size_t i = 0; i < words; i++)
        count += a[i] != b[i];
    return count;
}

/* A context runs `calls` + 1 times. Each trial puts one word back to what it was before the last
 * call. A check() that looks at the results refuses at least one of these. */
static int run_stale(const struct db_fragment *fragment, uint32_t size, uint64_t calls)
{
    struct db_context context;
    char why[WHY_BYTES], first_why[WHY_BYTES] = "";
    const size_t words = fragment->context_bytes(size) / sizeof(uint64_t);
    uint64_t *before = allocate(words * sizeof *before), *after = allocate(words * sizeof *after);
    prepare(fragment, &context, size, 1);
    repeat(fragment, &context, calls);
    memcpy(before, context.memory, words * sizeof *before);
    fragment->run(&context);
    memcpy(after, context.memory, words * sizeof *after);
    const size_t changed = differing_words(before, after, words);
    const size_t step = changed / STALE_TRIALS + 1;
    size_t seen = 0, trials = 0, refused = 0;
    for (size_t i = 0; i < words; i++) {
        if (before[i] == after[i] || seen++ % step != 0)
            continue;
        memcpy((uint64_t *)context.memory + i, before + i, sizeof *before);
        trials++;
        if (verdict(fragment, &context, why) && refused++ == 0)
            memcpy(first_why, why, sizeof why);
        memcpy(context.memory, after, words * sizeof *after);
    }
    printf("%s/%u %zu of %zu stale words refused%s%s\n", fragment->name, size, refused, trials,
           refused > 0 ? ": " : ", WRONG", first_why);
    discard(fragment, &context);
    free(before);
    free(after);
    return refused == 0;
}

static void run_afresh(const struct db_fragment *fragment, struct db_context *context, uint64_t seed,
                       uint64_t calls, size_t bytes)
{
    if (fragment->teardown != NULL)
        fragment->teardown(context);
    memset(context->memory, 0, bytes);
    context->seed = seed;
    const int error = fragment->setup(context);
    if (error != 0)
        give_up(fragment->name, strerror(error));
    repeat(fragment, context, calls);
}

/* All in the same memory: addresses in a context are then equal, and only data can differ. */
static int run_fresh(const struct db_fragment *fragment, uint32_t size, uint64_t calls)
{
    struct db_context context;
    const size_t bytes = fragment->context_bytes(size), words = bytes / sizeof(uint64_t);
    uint64_t *first = allocate(words * sizeof *first);
    prepare(fragment, &context, size, 1);
    repeat(fragment, &context, calls);
    memcpy(first, context.memory, words * sizeof *first);
    run_afresh(fragment, &context, 1, calls, bytes);
    const size_t by_nothing = differing_words(first, context.memory, words);
    fragment->run(&context);
    const size_t by_call = differing_words(first, context.memory, words);
    run_afresh(fragment, &context, 2, calls, bytes);
    const size_t by_seed = differing_words(first, context.memory, words);
    const int wrong = by_nothing != 0 || by_call < MIN_FRESH_BY_CALL || by_seed < MIN_FRESH_BY_SEED;
    printf(
        "%s/%u of %zu words, %zu differ for the same seed, %zu after one more call, %zu for another seed%s\n",
        fragment->name, size, words, by_nothing, by_call, by_seed, wrong ? ", WRONG" : "");
    discard(fragment, &context);
    free(first);
    return wrong;
}

static int list(void)
{
    for (uint32_t i = 0; i < db_fragment_count; i++)
        puts(db_fragments[i]->name);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *word;
        int (*run)(const struct db_fragment *fragment, uint32_t size, uint64_t calls);
    } verbs[] = {{"spread", spread}, {"emptied", run_emptied}, {"stale", run_stale}, {"fresh", run_fresh}};
    if (argc == 2 && strcmp(argv[1], "list") == 0)
        return list();
    if (argc < 4)
        give_up("usage", "list | NAME SIZE CALLS [SEED] | threads NAME SIZE CALLS N | "
                         "(spread | emptied | stale | fresh) NAME SIZE CALLS");
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++)
        if (strcmp(argv[1], verbs[i].word) == 0 && argc == 5)
            return verbs[i].run(find(argv[2]), (uint32_t)number(argv[3], 1, UINT32_MAX),
                                number(argv[4], 1, 1000000000));
    if (strcmp(argv[1], "threads") == 0 && argc == 6)
        return run_threads(find(argv[2]), (uint32_t)number(argv[3], 1, UINT32_MAX),
                           number(argv[4], 1, 1000000000), number(argv[5], 1, MAX_THREADS));
    if (argc > 5)
        give_up("unknown verb", argv[1]);
    return measure(find(argv[1]), (uint32_t)number(argv[2], 1, UINT32_MAX), number(argv[3], 1, 1000000000),
                   argc == 5 ? number(argv[4], 0, UINT64_MAX) : 1);
}
