/*
 * Positive controls: causes of lateness made on purpose. Each is a process of its own under the
 * guardian, active in the slots together, and has undone its doing when such a slot ends. What it may do is
 * bounded by the options' limits (options.c).
 */
#include "host_run.h"

#include <errno.h>

/* Above all tasks and ceilings, below agents and coordinator. */
#define INJECTOR_PRIORITY 84
_Static_assert(INJECTOR_PRIORITY > DB_PRIORITY_CEILING && INJECTOR_PRIORITY < DB_PRIORITY_AGENT,
               "an injector preempts tasks only");

/* Until then, or until the slot is over; whether it still lasts. */
static bool pause_until(int64_t at, int64_t end)
{
    port_sleep_until_ns(at < end ? at : end);
    return at < end;
}

static void hog(struct run *run, int64_t begin, int64_t end)
{
    const struct injection *inject = &host_of(run)->options->inject;
    for (int64_t at = begin + inject->hog_start_ns; pause_until(at, end); at += inject->hog_period_ns)
        for (int64_t until = port_now_ns() + inject->hog_length_ns; port_now_ns() < until;)
            ;
}

/* The CPU that a moved task visits: the next one after its own. */
static int away_cpu(struct run *run)
{
    const struct options *o = host_of(run)->options;
    return o->cpus[(run->set->tasks[o->inject.move_task].core + 1u) % o->cpu_count];
}

static void move(struct run *run, int64_t begin, int64_t end)
{
    const struct options *o = host_of(run)->options;
    int thread = run->tasks[o->inject.move_task].thread;
    int home = o->cpus[run->set->tasks[o->inject.move_task].core];
    int64_t half = o->inject.move_period_ns / 2, at = begin + half;
    for (; pause_until(at, end); at += half) {
        int error = port_move_thread(thread, away_cpu(run));
        pause_until(at += half, end);
        if (!error)
            error = port_move_thread(thread, home);
        if (error)
            fail_errno(&run->meeting->failure, "a task could not be moved", error);
    }
}

static void load(struct run *run, int64_t begin, int64_t end)
{
    (void)run;
    port_sleep_until_ns(begin);
    while (port_now_ns() < end)
        ;
}

/* Through the timetable, in its slots together; every slot's doing is undone by the slot's end. */
static void live(struct run *run, void (*act)(struct run *, int64_t begin, int64_t end))
{
    while (atomic_load(&run->meeting->signal) == SIGNAL_WAIT)
        port_wait(&run->meeting->signal, SIGNAL_WAIT, -1);
    for (uint32_t s = 0; s < run->slot_count; s++)
        if (run->slots[s].kind == DB_SLOT_TOGETHER)
            act(run, *run->base_ns + run->slots[s].begin_ns, *run->base_ns + run->slots[s].end_ns);
    say_done(run->meeting);
    for (;;) /* until it is killed: a child that ends tells of a failure */
        port_sleep_until_ns(port_now_ns() + DB_LONGEST_NS);
}

static bool start(struct host_run *host, const char *name, int cpu, enum db_policy policy,
                  void (*act)(struct run *, int64_t begin, int64_t end))
{
    struct run *run = &host->run;
    int pid = port_fork();
    if (pid < 0)
        return fail_errno(&run->meeting->failure, "fork", errno), false;
    if (pid) {
        host->injectors[host->injector_count++] = pid;
        return true;
    }
    port_name_thread(name);
    int error = port_set_cpu(cpu);
    if (!error && policy == DB_POLICY_FIFO)
        error = port_limit_realtime(run->bound_ns);
    if (!error)
        error = port_set_policy(policy, INJECTOR_PRIORITY);
    if (error) {
        fail_errno(&run->meeting->failure, "an injected thread could not be placed", error);
        port_exit(1);
    }
    live(run, act);
    port_exit(0);
}

bool injectors_start(struct host_run *host)
{
    struct run *run = &host->run;
    const struct options *o = host->options;
    const struct injection *inject = &o->inject;
    if (inject->move_task >= run->set->task_count)
        return fail_with(&run->meeting->failure, "inject", "no task of this number to move"), false;
    if (inject->move_task >= 0 && o->cpu_count < 2)
        return fail_with(&run->meeting->failure, "inject", "moving a task needs two CPUs"), false;
    bool ok = true;
    if (inject->hog_core >= 0)
        ok = start(host, "db-hog", o->cpus[inject->hog_core], o->policy, hog);
    if (ok && inject->move_task >= 0)
        ok = start(host, "db-mover", away_cpu(run), o->policy, move);
    if (ok && inject->fair_core >= 0)
        ok = start(host, "db-fair", o->cpus[inject->fair_core], DB_POLICY_OTHER, load);
    return ok;
}

void injectors_stop(struct host_run *host)
{
    for (uint32_t i = 0; i < host->injector_count; i++) {
        port_kill(host->injectors[i]);
        port_reap(host->injectors[i]);
    }
    host->injector_count = 0;
}
