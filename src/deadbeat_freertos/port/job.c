/*
 * The program on FreeRTOS: one job, then the end. Its words:
 *   run SET PERIOD_PPM SECONDS_NS SLOT_PERIODS WARMUP SOLO LATE JOBS
 *   calibrate SECONDS_NS SEED (FRAGMENT SIZE)...
 * It hands over a record file or a samples file (deadbeat/records.h, deadbeat/samples.h).
 */
#include "board.h"
#include "core/bench.h"
#include "port_freertos.h"

#include "deadbeat/core.h"

#include "FreeRTOS.h"
#include "task.h"

#include <errno.h>
#include <string.h>

#define MOST_WORDS 4096

_Noreturn void port_main(void);

/* Every job says all of it. */
const struct db_core_options db_core_defaults = {.policy = DB_POLICY_FIFO, .period_ppm = 1000000};

static const char *words[MOST_WORDS];
static uint32_t word_count;

static void read_words(void)
{
    size_t bytes;
    const char *text = board_job(&bytes), *end = text + bytes;
    if (bytes == 0 || end[-1] != 0)
        board_fail("the job's last word has no end");
    for (; text < end && word_count < MOST_WORDS; text += strlen(text) + 1)
        words[word_count++] = text;
    if (text < end)
        board_fail("the job has too many words");
}

static int64_t number(uint32_t word, int64_t most)
{
    int64_t value = 0;
    const char *text = word < word_count ? words[word] : "";
    do {
        if (*text < '0' || *text > '9' || value > (most - (*text - '0')) / 10)
            board_fail("a number of the job cannot be used");
        value = value * 10 + (*text - '0');
    } while (*++text);
    return value;
}

static int run(void)
{
    struct db_core_options o = db_core_defaults;
    if (word_count != 9)
        board_fail("run wants eight numbers");
    o.period_ppm = (uint32_t)number(2, UINT32_MAX);
    o.seconds_ns = number(3, DB_LONGEST_NS);
    o.slot_periods = (uint32_t)number(4, UINT32_MAX);
    o.warmup = (uint32_t)number(5, 1000000);
    o.solo = number(6, 1) == 1;
    o.late = number(7, 1) == 1;
    o.jobs = (uint32_t)number(8, UINT16_MAX);
    return db_core_main((uint32_t)number(1, UINT16_MAX), &o);
}

/* --- calibration ------------------------------------------------------------------------------------ */

static int hand_over(struct sink *sink, const void *data, size_t bytes)
{
    (void)sink;
    return port_put(data, bytes);
}

static void plan(struct bench *b)
{
    if (word_count < 5 || word_count % 2 == 0)
        board_fail("calibrate wants a time, a seed, and fragments with their sizes");
    for (uint32_t i = 3; i + 1 < word_count; i += 2)
        if (!bench_add_entry(b, words[i], (uint32_t)number(i + 1, UINT32_MAX)))
            board_fail("there is no such fragment in this program, or there are too many");
    bench_number_objects(b);
    if (!bench_lay_out(b))
        board_fail("no memory for a calibration this long");
}

static void *measure_costs(void *argument)
{
    struct bench *b = argument;
    uint64_t thread;
    if (!bench_start(b, 0, &thread))
        board_fail(b->meeting->failure.reason);
    bool ok = wait_done(b->meeting, 1) && bench_visits(b);
    bench_tell(b, 0, BENCH_STOP);
    port_join_thread(thread);
    if (!ok)
        board_fail(b->meeting->failure.reason);
    return NULL;
}

static int calibrate(void)
{
    static struct entry entries[BENCH_ENTRIES_MAX];
    static const int core = 0;
    uint64_t coordinator;
    struct sink sink = {.put = hand_over};
    struct bench b = {.options = {.cpus = &core, .cpu_count = 1, .policy = DB_POLICY_FIFO},
                      .entries = entries,
                      .visited = &core,
                      .visited_count = 1,
                      .kind_count = 1};
    b.options.seconds_ns = number(1, DB_LONGEST_NS);
    b.options.seed = (uint64_t)number(2, INT64_MAX);
    b.random = db_seed_state(b.options.seed);
    b.clock_ps = clock_cost_ps();
    probes_fit_clock();
    plan(&b);
    bench_make_objects(&b);
    int error = port_start_thread(measure_costs, &b, DB_POLICY_FIFO, DB_PRIORITY_AGENT, 0, &coordinator);
    if (error)
        board_fail(port_error_text(error));
    port_join_thread(coordinator);
    bench_destroy_objects(&b);
    bench_put(&b, NULL, 0, &sink);
    error = sink_end(&sink);
    if (error)
        board_fail(port_error_text(error));
    return 0;
}

/* --- tasks of the other harts ------------------------------------------------------------------------ */

/* Each hart has a copy of this program, of which hart 0 does the job: it asks the others to start the tasks
 * of their cores, with their own code, on objects that it has made. */
struct errand {
    atomic_uint asked, done;
    struct task_thread *thread;
    uint32_t set;
    enum db_policy policy;
    int priority, error;
    uint64_t started;
};

static struct errand *errand_of(int hart)
{
    return (struct errand *)((unsigned char *)board_shared() + BOARD_SHARED / 2) + hart;
}

static int start_elsewhere(void *(*body)(void *), void *argument, enum db_policy policy, int priority,
                           int cpu, uint64_t *thread)
{
    if (body != task_main || cpu < 0 || cpu >= BOARD_HARTS)
        return EINVAL;
    struct errand *errand = errand_of(cpu);
    errand->thread = argument;
    for (errand->set = 0; db_task_sets[errand->set] != errand->thread->run->set; errand->set++)
        ;
    errand->policy = policy;
    errand->priority = priority;
    unsigned number = atomic_fetch_add(&errand->asked, 1) + 1, done;
    port_wake(&errand->asked);
    while ((done = atomic_load(&errand->done)) != number)
        port_wait(&errand->done, done, -1);
    *thread = errand->started;
    return errand->error;
}

static void *run_errands(void *unused)
{
    static struct run run;
    struct errand *errand = errand_of((int)board_hart());
    for (unsigned done = 0;; atomic_store(&errand->done, ++done), port_wake(&errand->done)) {
        while (atomic_load(&errand->asked) == done)
            port_wait(&errand->asked, done, -1);
        run = *errand->thread->run;
        run.set = db_task_sets[errand->set];
        errand->thread->run = &run;
        errand->thread->task = &run.set->tasks[errand->thread->index];
        errand->error = port_start_thread(task_main, errand->thread, errand->policy, errand->priority,
                                          (int)board_hart(), &errand->started);
    }
    return unused;
}

static void *do_job(void *unused)
{
    if (BOARD_HARTS > 1)
        freertos_start_elsewhere = start_elsewhere;
    read_words();
    if (strcmp(words[0], "run") == 0)
        port_exit(run());
    if (strcmp(words[0], "calibrate") == 0)
        port_exit(calibrate());
    board_fail("the job is none that is known");
    return unused;
}

_Noreturn void port_main(void)
{
    uint64_t thread;
    int hart = BOARD_HARTS > 1 ? (int)board_hart() : 0;
    if (port_start_thread(hart ? run_errands : do_job, NULL, DB_POLICY_FIFO, DB_PRIORITY_GUARDIAN, hart,
                          &thread) != 0)
        board_fail("no memory for a thread");
    vTaskStartScheduler();
    board_fail("the scheduler has ended");
}
