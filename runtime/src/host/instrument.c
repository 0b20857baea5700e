/* What recording a job costs. */
#include "host_run.h"

#include <string.h>

#define INSTRUMENTED_JOBS 20000
#define INSTRUMENTED_BATCH 100
#define INSTRUMENTED_USES 16

/* The job loop around next to no work: fastest batch, ps a job. */
static int64_t empty_job_ps(struct worker *w, const struct slot *slot)
{
    int64_t best = INT64_MAX;
    const struct host_task *task = w->extra;
    for (int done = 0; done < INSTRUMENTED_JOBS; done += INSTRUMENTED_BATCH) {
        w->state->record_count = 0;
        int64_t start = port_now_ns();
        for (int i = 0; i < INSTRUMENTED_BATCH; i++) {
            struct db_job_record *record = task_new_record(w, slot, start);
            (void)(task->clock ? run_timed_job(w, record) : run_accounted_job(w, record));
        }
        int64_t took = port_now_ns() - start;
        best = took < best ? took : best;
    }
    return best * 1000 / INSTRUMENTED_BATCH;
}

static void no_work(struct db_context *context)
{
    (void)context;
}

static size_t no_bytes(uint32_t size)
{
    (void)size;
    return 0;
}

/* A task of uses that do nothing. */
static const struct db_fragment nothing = {.name = "nothing", .context_bytes = no_bytes, .run = no_work};
static const struct db_context_spec nothing_context = {.fragment = &nothing, .resource = DB_NO_RESOURCE};
static const struct db_use nothing_uses[INSTRUMENTED_USES];

struct instrumented {
    struct db_job_record records[INSTRUMENTED_BATCH + 1];
    struct db_job_detail details[INSTRUMENTED_BATCH + 1];
    struct resolved_use uses[INSTRUMENTED_USES];
    struct db_task task;
    struct task_state state;
    struct slot slot;
    int64_t base_ns;
    struct host_task extra;
    struct host_run host;
    struct worker worker;
};

static bool instrument(struct instrumented *n)
{
    struct worker *w = &n->worker;
    int64_t plain = empty_job_ps(w, &n->slot);
    int error = port_usage_open(&n->extra.usage);
    if (error) {
        printf("error instrument %s\n", strerror(error));
        return false;
    }
    int64_t split = empty_job_ps(w, &n->slot);
    n->task.use_count = INSTRUMENTED_USES;
    n->extra.clock = use_clock_new(&n->task, false);
    if (!n->extra.clock)
        return false;
    n->task.use_count = n->extra.clock->count = 0;
    int64_t causes = empty_job_ps(w, &n->slot);
    n->task.use_count = n->extra.clock->count = INSTRUMENTED_USES;
    printf("instrument plain_ps %lld split_ps %lld causes_ps %lld use_ps %lld\n", (long long)plain,
           (long long)split, (long long)causes,
           (long long)((empty_job_ps(w, &n->slot) - causes) / INSTRUMENTED_USES));
    port_usage_close(n->extra.usage);
    return true;
}

int measure_instrumentation(const struct options *o)
{
    static struct instrumented n;
    struct failure failure = {0};
    n.task = (struct db_task){.contexts = &nothing_context, .uses = nothing_uses};
    n.state = (struct task_state){.deadline_ns = DB_MILLISECOND,
                                  .records = n.records,
                                  .details = n.details,
                                  .record_capacity = INSTRUMENTED_BATCH + 1};
    n.slot = (struct slot){.kind = DB_SLOT_TOGETHER};
    n.extra.usage = -1;
    n.host =
        (struct host_run){.options = o, .run = {.slots = &n.slot, .slot_count = 1, .base_ns = &n.base_ns}};
    n.host.run.options.solo = o->solo;
    n.worker = (struct worker){
        .run = &n.host.run, .task = &n.task, .state = &n.state, .extra = &n.extra, .uses = n.uses};
    for (int i = 0; i < INSTRUMENTED_USES; i++)
        n.uses[i] = (struct resolved_use){.run = no_work, .repeats = 1};
    guard_allow(60000 * DB_MILLISECOND);
    if (!place_agent(o, o->cpus[0], &failure, 60000 * DB_MILLISECOND)) {
        printf("error instrument %s\n", failure.reason);
        return 1;
    }
    bool ok = instrument(&n);
    fflush(stdout);
    return ok ? 0 : 1;
}
