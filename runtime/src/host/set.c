/* The coordinator's part of a run: processes, start, clean-up. */
#include "host_run.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* --- one core's process ------------------------------------------------------------------------- */

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
    const struct options *o = host_of(run)->options;
    const bool all = o->one_process;
    name_thread("core", core);
    const bool paired = has_pairs(run, core);
    struct pair_thread pairs;
    struct task_thread *threads = port_map((run->set->task_count + 1u) * sizeof *threads, 0);
    uint32_t count = 0;
    bool ok = threads && place_agent(o, o->cpus[core], &run->meeting->failure, run->bound_ns);
    for (uint32_t c = all ? 0 : core; ok && c < (all ? run->set->cores : core + 1u); c++)
        ok = start_tasks(run, c, threads, &count);
    ok = ok && (!paired || pairs_start(&pairs, run, core));
    say_done(run->meeting);
    if (!ok)
        port_exit(1);
    for (uint32_t i = 0; i < count; i++)
        port_join_thread(threads[i].thread);
    if (paired)
        port_join_thread(pairs.thread);
    /* the end of a process counts as a death for as long as others tear down */
    while (atomic_load(&run->meeting->signal) == SIGNAL_STOP)
        port_wait(&run->meeting->signal, SIGNAL_STOP, -1);
    port_exit(0);
}

/* --- start and end --------------------------------------------------------------------------------- */

static bool start_cores(struct run *run, int *pids)
{
    for (uint32_t c = 0; c < process_count(host_of(run)->options, run->set->cores); c++) {
        pids[c] = port_fork();
        if (pids[c] == 0)
            core_main(run, c);
        if (pids[c] < 0) {
            fail_errno(&run->meeting->failure, "fork", errno);
            return false;
        }
    }
    /* every process and every task says once that it is set up */
    return wait_done(run->meeting,
                     process_count(host_of(run)->options, run->set->cores) + run->set->task_count);
}

/* False where they did not all end by themselves: what they left half-done is then no fault of objects. */
static bool stop_cores(struct run *run, const int *pids, bool orderly)
{
    if (orderly) {
        tell_all(run, SIGNAL_STOP);
        /* they check their work and tear down: a child may still die, and must be noticed */
        orderly = wait_done(run->meeting, run->set->task_count);
    }
    watch_children(NULL);
    if (orderly)
        tell_all(run, SIGNAL_END);
    for (uint32_t c = 0; c < run->set->cores; c++)
        if (pids[c] > 0) {
            if (!orderly)
                port_kill(pids[c]);
            int status = port_reap(pids[c]);
            if (orderly && status != 0)
                fail_with(&run->meeting->failure, "a core's process", "ended badly");
        }
    return orderly;
}

static bool measure(struct host_run *host, int64_t began)
{
    struct run *run = &host->run;
    int pids[DB_MAX_CORES] = {0};
    /* before the fork: what is set here is the same in every process */
    run->epoch_ns = port_now_ns();
    run->epoch_realtime_ns = port_realtime_ns();
    run->clock_cost_ps = clock_cost_ps();
    probes_fit_clock();
    watch_children(run->meeting);
    bool ok = start_cores(run, pids) && injectors_start(host);
    run->setup_ns = port_now_ns() - began;
    ok = ok && run_table(run, run->set->task_count + host->injector_count);
    ok = stop_cores(run, pids, ok);
    run->wall_ns = port_now_ns() - began;
    injectors_stop(host);
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

static int write_file(const struct run *run, const char *path)
{
    char part[4096];
    struct writer writer;
    if ((size_t)snprintf(part, sizeof part, "%s.part", path) >= sizeof part)
        return ENAMETOOLONG;
    int error = writer_open(&writer, part);
    if (error)
        return error;
    put_records(run, &writer.sink);
    return writer_close(&writer, part, path);
}

static void say_line(const char *line)
{
    puts(line);
}

static bool hand_over(struct host_run *host, uint32_t index, const char *path, char *reason)
{
    if (!path)
        return print_run(&host->run, index, say_line), true;
    int error = write_file(&host->run, path);
    if (error)
        snprintf(reason, DB_REASON_BYTES, "the result file could not be written: %s", strerror(error));
    else if (host->options->causes)
        say_threads(&host->run, index);
    return error == 0;
}

static struct run_options run_options(const struct options *o, uint32_t period_ppm)
{
    return (struct run_options){
        .cpus = o->cpus,
        .policy = o->policy,
        .seconds_ns = o->seconds_ns,
        .jobs = o->jobs,
        .slot_periods = o->slot_periods,
        .warmup = o->warmup,
        .solo = o->solo,
        .late = o->late,
        .details = o->causes,
        .counters = o->counters,
        .pairs = !o->one_process,
        .seed = o->seed,
        .period_ppm = period_ppm,
        .flags = (o->split ? DB_RUN_SPLIT : 0) | (o->one_process ? DB_RUN_ONE_PROCESS : 0) |
                 (o->private_ipc ? DB_RUN_PRIVATE_IPC : 0) | (o->memory_locked ? DB_RUN_LOCKED : 0),
        .owner_pid = o->owner_pid,
    };
}

bool run_set(uint32_t index, uint32_t period_ppm, const struct options *options, const char *path,
             char *reason, uint64_t *measured_ns)
{
    struct host_run host = {.options = options};
    struct run *run = &host.run;
    struct run_options asked = run_options(options, period_ppm);
    const struct db_task_set *set = db_task_sets[index];
    int64_t began = port_now_ns();
    if (set->cores > options->cpu_count) {
        snprintf(reason, DB_REASON_BYTES, "the set needs %u cores, %u are given", set->cores,
                 options->cpu_count);
        return false;
    }
    if (!run_prepare(run, set, &asked, reason))
        return false;
    run->extras = extras_for(options);
    *measured_ns = run->measured_ns;
    guard_allow(run->bound_ns);
    if (path) {
        printf("bound %u %lld\n", index, (long long)run->bound_ns);
        fflush(stdout);
    }
    bool ok = make_resources(run) && measure(&host, began);
    destroy_resources(run);
    snprintf(reason, DB_REASON_BYTES, "%s", run->meeting->failure.reason);
    ok = ok && hand_over(&host, index, path, reason);
    run_release(run);
    return ok;
}
