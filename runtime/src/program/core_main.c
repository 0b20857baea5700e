/* The core program (deadbeat/core.h): a coordinator above the tasks, all of them threads of one program. */
#include "../core/run.h"

#include "deadbeat/core.h"

#include <errno.h>
#include <string.h>

#define MOST_CORES 64

struct program {
    struct run run;
    struct task_thread *threads;
    uint32_t started;
};

static bool start_all(struct program *program)
{
    struct run *run = &program->run;
    program->threads = port_map((run->set->task_count + 1u) * sizeof *program->threads, 0);
    if (!program->threads)
        return fail_errno(&run->meeting->failure, "the tasks' threads", ENOMEM), false;
    for (uint32_t c = 0; c < run->set->cores; c++)
        if (!start_tasks(run, c, program->threads, &program->started))
            return false;
    return wait_done(run->meeting, run->set->task_count);
}

/* There is nobody to kill them: told to stop, all end by themselves, after the timetable at the latest. */
static void stop_all(struct program *program, bool orderly)
{
    tell_all(&program->run, SIGNAL_STOP);
    if (orderly)
        wait_done(program->run.meeting, program->run.set->task_count);
    for (uint32_t i = 0; i < program->started; i++)
        port_join_thread(program->threads[i].thread);
}

static void *coordinate(void *argument)
{
    struct program *program = argument;
    struct run *run = &program->run;
    int64_t began = port_now_ns();
    bool ok = make_resources(run);
    run->epoch_ns = began;
    run->clock_cost_ps = clock_cost_ps();
    probes_fit_clock();
    ok = ok && start_all(program);
    run->setup_ns = port_now_ns() - began;
    ok = ok && run_table(run, run->set->task_count);
    stop_all(program, ok);
    run->wall_ns = port_now_ns() - began;
    if (ok)
        check_resources(run);
    destroy_resources(run);
    return NULL;
}

static int hand_over(struct sink *sink, const void *data, size_t bytes)
{
    (void)sink;
    return port_put(data, bytes);
}

static int refused(const char *what, const char *why)
{
    char text[DB_REASON_BYTES];
    db_text(text, sizeof text, "deadbeat: %s: %s", what, why);
    port_say(text);
    return 1;
}

static int run_one(struct program *program, uint32_t index, const struct run_options *o)
{
    struct run *run = &program->run;
    struct sink sink = {.put = hand_over};
    uint64_t coordinator;
    char reason[DB_REASON_BYTES];
    if (!run_prepare(run, db_task_sets[index], o, reason))
        return refused("this set", reason);
    int error =
        port_start_thread(coordinate, program, o->policy, DB_PRIORITY_AGENT, o->cpus[0], &coordinator);
    if (!error)
        error = port_join_thread(coordinator);
    if (error)
        return refused("the coordinator's thread", port_error_text(error));
    if (has_failed(&run->meeting->failure))
        return refused("the run failed", run->meeting->failure.reason);
    put_records(run, &sink);
    error = sink_end(&sink);
    if (error)
        return refused("the records were not taken", port_error_text(error));
    print_run(run, index, port_say);
    return 0;
}

int db_core_main(uint32_t index, const struct db_core_options *options)
{
    const struct db_core_options *o = options ? options : &db_core_defaults;
    int cpus[MOST_CORES], count = port_usable_cpus(cpus, MOST_CORES);
    struct program program;
    if (db_tables_version != DB_TABLES_VERSION)
        return refused("the tables", "they are of another version than this runtime");
    if (index >= db_task_set_count)
        return refused("the number of the set", "there is none of this number");
    if (db_task_sets[index]->cores > count)
        return refused("this set", "it needs more cores than there are");
    memset(&program, 0, sizeof program);
    struct run_options asked = {
        .cpus = cpus,
        .policy = o->policy,
        .seconds_ns = o->seconds_ns,
        .jobs = o->jobs,
        .slot_periods = o->slot_periods,
        .warmup = o->warmup,
        .solo = o->solo,
        .late = o->late,
        .seed = o->seed,
        .period_ppm = o->period_ppm ? o->period_ppm : UNSCALED_PPM,
        .flags = DB_RUN_ONE_PROCESS | (port_lock_memory() == 0 ? DB_RUN_LOCKED : 0),
    };
    int status = run_one(&program, index, &asked);
    if (program.run.arena)
        run_release(&program.run);
    return status;
}
