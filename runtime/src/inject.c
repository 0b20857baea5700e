/*
 * Positive controls: causes of lateness made on purpose. Each is a process of its own under the
 * guardian, active while a together window lasts, and has undone its doing before it says that it is
 * done. What it may do is bounded by the options' limits (options.c).
 */
#include "run.h"

#include <errno.h>

/* Above all tasks and ceilings, below agents and coordinator. */
#define INJECTOR_PRIORITY 84
_Static_assert(INJECTOR_PRIORITY > DB_PRIORITY_CEILING && INJECTOR_PRIORITY < DB_PRIORITY_AGENT,
               "an injector preempts tasks only");

static bool is_on(struct rendezvous *meeting)
{
    return atomic_load(&meeting->injecting) != 0;
}

/* Until then, or until the window is over; whether it still lasts. */
static bool pause_until(struct rendezvous *meeting, int64_t at)
{
    for (int64_t now; is_on(meeting) && (now = port_now_ns()) < at;)
        port_wait(&meeting->injecting, 1, at - now);
    return is_on(meeting);
}

static void hog(struct run *run)
{
    const struct injection *inject = &run->options->inject;
    int64_t at = port_now_ns() + inject->hog_start_ns;
    for (; pause_until(run->meeting, at); at += inject->hog_period_ns)
        for (int64_t end = port_now_ns() + inject->hog_length_ns; port_now_ns() < end;)
            ;
}

/* The CPU that a moved task visits: the next one after its own. */
static int away_cpu(const struct run *run)
{
    const struct options *o = run->options;
    return o->cpus[(run->set->tasks[o->inject.move_task].core + 1u) % o->cpu_count];
}

static void move(struct run *run)
{
    const struct options *o = run->options;
    int thread = run->tasks[o->inject.move_task].thread;
    int home = o->cpus[run->set->tasks[o->inject.move_task].core];
    int64_t half = o->inject.move_period_ns / 2, at = port_now_ns() + half;
    for (; pause_until(run->meeting, at); at += half) {
        int error = port_move_thread(thread, away_cpu(run));
        pause_until(run->meeting, at += half);
        if (!error)
            error = port_move_thread(thread, home);
        if (error)
            fail_errno(&run->meeting->failure, "a task could not be moved", error);
    }
}

static void load(struct run *run)
{
    while (is_on(run->meeting))
        ;
}

static void live(struct run *run, void (*act)(struct run *))
{
    for (;;) {
        while (!is_on(run->meeting))
            port_wait(&run->meeting->injecting, 0, -1);
        act(run); /* until the window is over; the next begins only when all have said so */
        say_done(run->meeting);
    }
}

static bool start(struct run *run, const char *name, int cpu, enum db_policy policy,
                  void (*act)(struct run *))
{
    int pid = port_fork();
    if (pid < 0)
        return fail_errno(&run->meeting->failure, "fork", errno), false;
    if (pid) {
        run->injectors[run->injector_count++] = pid;
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

bool injectors_start(struct run *run)
{
    const struct options *o = run->options;
    const struct injection *inject = &o->inject;
    if (inject->move_task >= run->set->task_count)
        return fail_with(&run->meeting->failure, "inject", "no task of this number to move"), false;
    if (inject->move_task >= 0 && o->cpu_count < 2)
        return fail_with(&run->meeting->failure, "inject", "moving a task needs two CPUs"), false;
    bool ok = true;
    if (inject->hog_core >= 0)
        ok = start(run, "db-hog", o->cpus[inject->hog_core], o->policy, hog);
    if (ok && inject->move_task >= 0)
        ok = start(run, "db-mover", away_cpu(run), o->policy, move);
    if (ok && inject->fair_core >= 0)
        ok = start(run, "db-fair", o->cpus[inject->fair_core], DB_POLICY_OTHER, load);
    return ok;
}

void injectors_begin(struct run *run)
{
    atomic_store(&run->meeting->injecting, 1);
    if (run->injector_count)
        port_wake(&run->meeting->injecting);
}

bool injectors_end(struct run *run)
{
    atomic_store(&run->meeting->injecting, 0);
    if (!run->injector_count)
        return true;
    port_wake(&run->meeting->injecting);
    return wait_done(run->meeting, run->injector_count);
}

void injectors_stop(struct run *run)
{
    for (uint32_t i = 0; i < run->injector_count; i++) {
        port_kill(run->injectors[i]);
        port_reap(run->injectors[i]);
    }
    run->injector_count = 0;
}
