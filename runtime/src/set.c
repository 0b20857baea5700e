/* The coordinator's part of a run: objects, processes, windows, clean-up. */
#include "run.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* From the announcement of a window to its first possible release: time to wake all tasks. */
#define LEAD_NS (500 * INT64_C(1000))
/* A witness is rougher than a yardstick: a clock tick of 10 to 20 ns in half a microsecond. */
#define WITNESS_PERCENT 110
/* How often a host that is not quiet is asked again: its states last from milliseconds to seconds. */
#define QUIET_POLL_NS (5 * DB_MILLISECOND)

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
        thread->clock = use_clock_new(thread->task, o->solo_ns > 0);
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

/* An agent as a thread: in the one-process mode, for every core but the first. */
struct agent_thread {
    struct run *run;
    uint32_t core;
    uint64_t thread;
};

static void *agent_main(void *argument)
{
    struct agent_thread *agent = argument;
    name_thread("core", agent->core);
    say_done(agent->run->meeting);
    agent_loop(&agent->run->agents[agent->core], agent->run->meeting);
    return NULL;
}

static bool start_agents(struct run *run, struct agent_thread *agents)
{
    const struct options *o = run->options;
    for (uint32_t c = 1; c < run->set->cores; c++) {
        agents[c] = (struct agent_thread){.run = run, .core = c};
        int error = port_start_thread(agent_main, &agents[c], o->policy, DB_PRIORITY_AGENT, o->cpus[c],
                                      &agents[c].thread);
        if (error) {
            fail_errno(&run->meeting->failure, "a core's agent could not be started", error);
            return false;
        }
    }
    return true;
}

/* The process of one core, or in the one-process mode (core 0) of all. */
static void core_main(struct run *run, uint32_t core)
{
    const bool all = run->options->one_process;
    name_thread("core", core);
    struct agent_thread agents[run->set->cores];
    struct task_thread *threads = port_map((run->set->task_count + 1u) * sizeof *threads, 0);
    uint32_t count = 0;
    bool ok =
        threads && place_agent(run->options, run->options->cpus[core], &run->meeting->failure, run->bound_ns);
    for (uint32_t c = all ? 0 : core; ok && c < (all ? run->set->cores : core + 1u); c++) {
        uint32_t more = tasks_of(run, c, threads + count);
        ok = start_tasks(run, c, threads + count, more);
        count += more;
    }
    ok = ok && (!all || start_agents(run, agents));
    say_done(run->meeting);
    if (!ok)
        port_exit(1);
    agent_loop(&run->agents[core], run->meeting);
    for (uint32_t i = 0; i < count; i++)
        port_join_thread(threads[i].thread);
    for (uint32_t c = 1; all && c < run->set->cores; c++)
        port_join_thread(agents[c].thread);
    port_exit(0);
}

/* --- resources -------------------------------------------------------------------------------------- */

static bool make_resources(struct run *run, void **shared, size_t *shared_bytes)
{
    const struct db_task_set *set = run->set;
    for (uint32_t r = 0; r < set->resource_count; r++) {
        const struct db_fragment *fragment = set->resources[r].fragment;
        struct db_resource *resource = &run->resources[r];
        if (resource->participants == 0)
            resource->participants = resource->cores = 1;
        size_t bytes =
            fragment->shared_bytes ? fragment->shared_bytes(resource->participants, resource->max_size) : 0;
        shared_bytes[r] = round_up(bytes + DB_CACHE_LINE, 4096);
        shared[r] = port_map(shared_bytes[r], 1);
        int error = shared[r] ? resource_create(resource, fragment, shared[r], run->options) : ENOMEM;
        if (error) {
            fail_errno(&run->meeting->failure, fragment->name, error);
            port_unmap(shared[r], shared_bytes[r]);
            return false;
        }
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

static void destroy_resources(struct run *run, void **shared, size_t *shared_bytes)
{
    for (uint32_t r = 0; r < run->resources_made; r++) {
        const struct db_fragment *fragment = run->set->resources[r].fragment;
        if (fragment->destroy)
            fragment->destroy(&run->resources[r]);
        port_unmap(shared[r], shared_bytes[r]);
    }
}

/* --- windows ------------------------------------------------------------------------------------------ */

static void note_probe(struct run *run, uint32_t boundary, enum db_probe_kind kind, uint32_t a, uint32_t b)
{
    run->probes[run->probe_count++] = (struct db_probe_row){.boundary = (uint16_t)boundary,
                                                            .kind = (uint16_t)kind,
                                                            .core_a = (uint16_t)a,
                                                            .core_b = (uint16_t)b,
                                                            .at_ns = port_now_ns() - run->epoch_ns,
                                                            .value_ps = run->agents[a].result_ps};
}

static bool probe_boundary(struct run *run, uint32_t boundary)
{
    uint32_t cores = run->set->cores;
    /* one core after the other, as the references were taken: siblings would slow each other */
    for (uint32_t c = 0; c < cores; c++) {
        agent_tell(&run->agents[c], AGENT_YARDSTICK);
        if (!wait_done(run->meeting, 1))
            return false;
        run->yardsticks_ps[c] = run->agents[c].result_ps;
        note_probe(run, boundary, DB_PROBE_YARDSTICK, c, c);
    }
    /* Neighbours only: all pairs of 16 cores would take longer than a window. */
    for (uint32_t c = 0; c + 1 < cores; c++) {
        atomic_store(&run->meeting->ball, 0);
        agent_tell(&run->agents[c + 1], AGENT_PONG);
        agent_tell(&run->agents[c], AGENT_PING);
        if (!wait_done(run->meeting, 2))
            return false;
        note_probe(run, boundary, DB_PROBE_CACHE_LINE, c, c + 1);
    }
    return true;
}

static void tell_task(struct run *run, uint32_t task, uint32_t window)
{
    struct task_state *state = &run->tasks[task];
    state->window = window;
    atomic_fetch_add(&state->generation, 1);
    port_wake(&state->generation);
}

static bool do_window(struct run *run, uint32_t index)
{
    struct window *window = &run->windows[index];
    uint32_t taking_part = 0;
    window->base_ns = port_now_ns() + LEAD_NS;
    window->start_ns = window->base_ns + window->warmup_ns;
    window->end_ns = window->start_ns + window->length_ns;
    if (window->kind == DB_WINDOW_TOGETHER)
        injectors_begin(run);
    for (uint32_t t = 0; t < run->set->task_count; t++)
        if (window->kind == DB_WINDOW_TOGETHER || window->task == t) {
            tell_task(run, t, index);
            taking_part++;
        }
    bool ok = wait_done(run->meeting, taking_part);
    return window->kind == DB_WINDOW_TOGETHER ? injectors_end(run) && ok : ok;
}

/* Whether the cores that take part were quiet by their last yardsticks. */
static bool is_quiet(const struct run *run, const struct window *window)
{
    const struct options *o = run->options;
    for (uint32_t c = 0; c < run->set->cores; c++) {
        uint64_t reference = o->quiet_ps[c], seen = run->yardsticks_ps[c];
        bool in_use = window->kind == DB_WINDOW_TOGETHER || run->set->tasks[window->task].core == c;
        uint64_t distance = seen > reference ? seen - reference : reference - seen;
        if (in_use && reference && distance * 1000000 > reference * o->tolerance_ppm)
            return false;
    }
    return true;
}

/* Gives the host the time that is left of the set's allowance to become quiet. What was probed in
 * between is dropped: the boundary keeps its first probes and its last. */
static bool await_quiet(struct run *run, const struct window *next)
{
    uint32_t first = run->probe_count;
    while (!is_quiet(run, next) && run->waited_ns < run->options->wait_ns) {
        int64_t start = port_now_ns();
        port_sleep_until_ns(start + QUIET_POLL_NS);
        run->probe_count = first;
        if (!probe_boundary(run, run->window_count))
            return false;
        run->waited_ns += port_now_ns() - start;
    }
    return true;
}

static void note_witnesses(struct run *run, uint32_t index)
{
    const struct window *window = &run->windows[index];
    for (uint32_t t = 0; t < run->set->task_count; t++)
        if ((window->kind == DB_WINDOW_TOGETHER || window->task == t) && run->tasks[t].witness_ps)
            run->probes[run->probe_count++] = (struct db_probe_row){.boundary = (uint16_t)index,
                                                                    .kind = DB_PROBE_WITNESS,
                                                                    .core_a = run->set->tasks[t].core,
                                                                    .core_b = (uint16_t)t,
                                                                    .at_ns = window->end_ns - run->epoch_ns,
                                                                    .value_ps = run->tasks[t].witness_ps};
}

/* Whether the witnesses inside the window agree with the quiet yardsticks. */
static bool was_quiet(const struct run *run, uint32_t index)
{
    const struct window *window = &run->windows[index];
    for (uint32_t t = 0; t < run->set->task_count; t++) {
        uint64_t reference = run->options->quiet_ps[run->set->tasks[t].core];
        uint64_t expected = reference / DB_WITNESS_PART + (uint64_t)run->clock_cost_ps;
        if ((window->kind == DB_WINDOW_TOGETHER || window->task == t) && reference &&
            run->tasks[t].witness_ps * 100 > expected * WITNESS_PERCENT)
            return false;
    }
    return true;
}

static bool do_planned(struct run *run, const struct window *planned, uint32_t *extra)
{
    for (;;) {
        if (!await_quiet(run, planned))
            return false;
        uint32_t index = run->window_count++;
        run->windows[index] = *planned;
        bool before = is_quiet(run, planned);
        if (!do_window(run, index) || !probe_boundary(run, run->window_count))
            return false;
        note_witnesses(run, index);
        run->windows[index].off = !before || !is_quiet(run, planned) || !was_quiet(run, index);
        if (!run->windows[index].off || *extra == 0)
            return true;
        --*extra;
    }
}

static bool do_windows(struct run *run)
{
    uint32_t extra = run->options->extra_windows;
    bool ok = probe_boundary(run, 0);
    for (uint32_t w = 0; ok && w < run->plan_count; w++)
        ok = do_planned(run, &run->plan[w], &extra);
    return ok;
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
    /* every core's process and every task says once that it is set up */
    return wait_done(run->meeting, run->set->cores + run->set->task_count);
}

static void stop_cores(struct run *run, const int *pids, bool orderly)
{
    if (orderly) {
        for (uint32_t t = 0; t < run->set->task_count; t++)
            tell_task(run, t, STOP_WINDOW);
        /* they check their work and tear down: a child may still die, and must be noticed */
        orderly = wait_done(run->meeting, run->set->task_count);
    }
    watch_children(NULL);
    for (uint32_t c = 0; orderly && c < run->set->cores; c++)
        agent_tell(&run->agents[c], AGENT_STOP);
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
    watch_children(run->meeting);
    bool ok = start_cores(run, pids) && injectors_start(run);
    run->setup_ns = port_now_ns() - began;
    ok = ok && do_windows(run);
    stop_cores(run, pids, ok);
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

bool run_set(uint32_t index, const struct options *options, const char *path, char *reason,
             uint64_t *measured_ns)
{
    struct run run;
    const struct db_task_set *set = db_task_sets[index];
    int64_t began = port_now_ns();
    void *shared[set->resource_count + 1u];
    size_t shared_bytes[set->resource_count + 1u];
    if (set->cores > options->cpu_count) {
        snprintf(reason, DB_REASON_BYTES, "the set needs %u cores, %u are given", set->cores,
                 options->cpu_count);
        return false;
    }
    if (!run_possible(set, options, reason))
        return false;
    if (!run_prepare(&run, set, options)) {
        snprintf(reason, DB_REASON_BYTES, "no memory for the records of the run");
        return false;
    }
    guard_allow(run.bound_ns);
    bool ok = make_resources(&run, shared, shared_bytes) && measure(&run, began);
    destroy_resources(&run, shared, shared_bytes);
    snprintf(reason, DB_REASON_BYTES, "%s", run.meeting->failure.reason);
    ok = ok && hand_over(&run, index, path, reason, measured_ns);
    run_release(&run);
    return ok;
}
