/* The coordinator's part of a run: objects, processes, start, clean-up. */
#include "run.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* From the start signal to the first possible release: time to wake all tasks. */
#define LEAD_NS (500 * INT64_C(1000))
#define LEAD_PER_TASK_NS (20 * INT64_C(1000))

/* --- one core's process ------------------------------------------------------------------------- */

static uint32_t tasks_of(const struct run *run, uint32_t core, struct task_thread *threads)
{
    uint32_t count = 0;
    for (uint32_t t = 0; t < run->set->task_count; t++)
        if (run->set->tasks[t].core == core) {
            threads[count] = (struct task_thread){
                .run = (struct run *)(uintptr_t)run, .task = &run->set->tasks[t], .index = t};
            count++;
        }
    return count;
}

/* What is not there in a plain run has memory of its own: the tasks' memory stays as it is. */
static bool give_extras(struct task_thread *thread, const struct options *o)
{
    if (o->causes)
        thread->clock = use_clock_new(thread->task, o->solo);
    if (o->counters)
        thread->counters = port_map(sizeof *thread->counters, 0);
    return (thread->clock || !o->causes) && (thread->counters || !o->counters);
}

static bool start_tasks(struct run *run, uint32_t core, struct task_thread *threads, uint32_t count)
{
    const struct options *o = run->options;
    for (uint32_t i = 0; i < count; i++) {
        threads[i].memory = port_map(task_memory_bytes(threads[i].task), 0);
        int error = threads[i].memory && give_extras(&threads[i], o)
                        ? port_start_thread(task_main, &threads[i], o->policy, threads[i].task->priority,
                                            o->cpus[core], &threads[i].thread)
                        : ENOMEM;
        if (error) {
            fail_errno(&run->meeting->failure, "a task's thread could not be started", error);
            return false;
        }
    }
    return true;
}

bool place_agent(const struct options *o, int cpu, struct failure *failure, int64_t bound_ns)
{
    int error = port_set_cpu(cpu);
    if (!error && o->policy == DB_POLICY_FIFO)
        error = port_limit_realtime(bound_ns);
    if (!error)
        error = port_set_policy(o->policy, DB_PRIORITY_AGENT);
    if (!error && o->lock_memory)
        error = port_lock_memory();
    if (error)
        fail_errno(failure, "a core's process could not be placed", error);
    return error == 0;
}

/* The process of one core, or in the one-process mode (core 0) of all. */
static void core_main(struct run *run, uint32_t core)
{
    const bool all = run->options->one_process;
    name_thread("core", core);
    struct task_thread *threads = port_map((run->set->task_count + 1u) * sizeof *threads, 0);
    uint32_t count = 0;
    bool ok =
        threads && place_agent(run->options, run->options->cpus[core], &run->meeting->failure, run->bound_ns);
    for (uint32_t c = all ? 0 : core; ok && c < (all ? run->set->cores : core + 1u); c++) {
        uint32_t more = tasks_of(run, c, threads + count);
        ok = start_tasks(run, c, threads + count, more);
        count += more;
    }
    say_done(run->meeting);
    if (!ok)
        port_exit(1);
    for (uint32_t i = 0; i < count; i++)
        port_join_thread(threads[i].thread);
    port_exit(0);
}

/* --- resources -------------------------------------------------------------------------------------- */

/* Each on pages of its own. */
static size_t object_bytes(const struct run *run, uint32_t r)
{
    const struct db_fragment *fragment = run->set->resources[r].fragment;
    const struct db_resource *resource = &run->resources[r];
    size_t bytes =
        fragment->shared_bytes ? fragment->shared_bytes(resource->participants, resource->max_size) : 0;
    return round_up(bytes + DB_CACHE_LINE, 4096);
}

/* In one mapping: every further one would make each of the cores' forks longer. */
static bool make_resources(struct run *run)
{
    uint32_t count = run->set->resource_count;
    for (uint32_t r = 0; r < count; r++) {
        if (run->resources[r].participants == 0)
            run->resources[r].participants = run->resources[r].cores = 1;
        run->objects_bytes += object_bytes(run, r);
    }
    unsigned char *shared = run->objects = port_map(run->objects_bytes + 4096, 1);
    for (uint32_t r = 0; r < count; r++) {
        const struct db_fragment *fragment = run->set->resources[r].fragment;
        int error = shared ? resource_create(&run->resources[r], fragment, shared, run->options) : ENOMEM;
        if (error) {
            fail_errno(&run->meeting->failure, fragment->name, error);
            return false;
        }
        shared += object_bytes(run, r);
        run->resources_made = r + 1;
    }
    return true;
}

static void check_resources(struct run *run)
{
    char why[120], text[DB_REASON_BYTES];
    for (uint32_t r = 0; r < run->resources_made; r++) {
        const struct db_fragment *fragment = run->set->resources[r].fragment;
        if (fragment->check_resource && fragment->check_resource(&run->resources[r], why, sizeof why)) {
            snprintf(text, sizeof text, "the object of %s is not intact: %s", fragment->name, why);
            fail_with(&run->meeting->failure, "check", text);
        }
    }
}

static void destroy_resources(struct run *run)
{
    for (uint32_t r = 0; r < run->resources_made; r++) {
        const struct db_fragment *fragment = run->set->resources[r].fragment;
        if (fragment->destroy)
            fragment->destroy(&run->resources[r]);
    }
    if (run->objects)
        port_unmap(run->objects, run->objects_bytes + 4096);
}

/* --- the run ------------------------------------------------------------------------------------------ */

static void tell_all(struct run *run, enum signal signal)
{
    atomic_store(&run->meeting->signal, signal);
    port_wake(&run->meeting->signal);
}

/* Between this and the end of the timetable nobody but the tasks does anything. */
static bool run_table(struct run *run)
{
    *run->base_ns = port_now_ns() + LEAD_NS + run->set->task_count * LEAD_PER_TASK_NS;
    tell_all(run, SIGNAL_RUN);
    return wait_done(run->meeting, run->set->task_count + run->injector_count);
}

/* --- start and end ---------------------------------------------------------------------------------------
 */

static bool start_cores(struct run *run, int *pids)
{
    for (uint32_t c = 0; c < process_count(run->options, run->set->cores); c++) {
        pids[c] = port_fork();
        if (pids[c] == 0)
            core_main(run, c);
        if (pids[c] < 0) {
            fail_errno(&run->meeting->failure, "fork", errno);
            return false;
        }
    }
    /* every process and every task says once that it is set up */
    return wait_done(run->meeting, process_count(run->options, run->set->cores) + run->set->task_count);
}

static void stop_cores(struct run *run, const int *pids, bool orderly)
{
    if (orderly) {
        tell_all(run, SIGNAL_STOP);
        /* they check their work and tear down: a child may still die, and must be noticed */
        orderly = wait_done(run->meeting, run->set->task_count);
    }
    watch_children(NULL);
    for (uint32_t c = 0; c < run->set->cores; c++)
        if (pids[c] > 0) {
            if (!orderly)
                port_kill(pids[c]);
            int status = port_reap(pids[c]);
            if (orderly && status != 0)
                fail_with(&run->meeting->failure, "a core's process", "ended badly");
        }
}

static bool measure(struct run *run, int64_t began)
{
    int pids[DB_MAX_CORES] = {0};
    /* before the fork: what is set here is the same in every process */
    run->epoch_ns = port_now_ns();
    run->epoch_realtime_ns = port_realtime_ns();
    run->clock_cost_ps = clock_cost_ps();
    probes_fit_clock();
    watch_children(run->meeting);
    bool ok = start_cores(run, pids) && injectors_start(run);
    run->setup_ns = port_now_ns() - began;
    ok = ok && run_table(run);
    stop_cores(run, pids, ok);
    run->wall_ns = port_now_ns() - began;
    injectors_stop(run);
    if (ok)
        check_resources(run);
    if (!ok && !has_failed(&run->meeting->failure))
        fail_with(&run->meeting->failure, "a core's process",
                  "died while its tasks ran (RLIMIT_RTTIME, memory or a fault)");
    return !has_failed(&run->meeting->failure);
}

static void say_threads(const struct run *run, uint32_t index)
{
    printf("threads %u ", index);
    for (uint32_t t = 0; t < run->set->task_count; t++)
        printf("%s%d", t ? "," : "", run->tasks[t].thread);
    printf("\n");
}

static bool hand_over(const struct run *run, uint32_t index, const char *path, char *reason,
                      uint64_t *measured_ns)
{
    if (!path)
        return run_print(run, index), true;
    int error = run_write(run, path, measured_ns);
    if (error)
        snprintf(reason, DB_REASON_BYTES, "the result file could not be written: %s", strerror(error));
    else if (run->options->causes)
        say_threads(run, index);
    return error == 0;
}

bool run_set(uint32_t index, uint32_t period_ppm, const struct options *options, const char *path,
             char *reason, uint64_t *measured_ns)
{
    struct run run;
    const struct db_task_set *set = db_task_sets[index];
    int64_t began = port_now_ns();
    if (set->cores > options->cpu_count) {
        snprintf(reason, DB_REASON_BYTES, "the set needs %u cores, %u are given", set->cores,
                 options->cpu_count);
        return false;
    }
    if (!run_prepare(&run, set, options, period_ppm, reason))
        return false;
    guard_allow(run.bound_ns);
    if (path) {
        printf("bound %u %lld\n", index, (long long)run.bound_ns);
        fflush(stdout);
    }
    bool ok = make_resources(&run) && measure(&run, began);
    destroy_resources(&run);
    snprintf(reason, DB_REASON_BYTES, "%s", run.meeting->failure.reason);
    ok = ok && hand_over(&run, index, path, reason, measured_ns);
    run_release(&run);
    return ok;
}
