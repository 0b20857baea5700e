/*
 * What the runtime needs of a host beside deadbeat/port_core.h: processes and their guardian, foreign
 * programs, the machine's lock, accounts and events of threads, namespaces, control files. Functions return
 * 0 or an errno value unless they say otherwise. None allocates on the heap.
 */
#ifndef DEADBEAT_PORT_HOST_H
#define DEADBEAT_PORT_HOST_H

#include "deadbeat/port_core.h"

/* Time of day in ns since 1970. */
int64_t port_realtime_ns(void);

/* port_now_ns() reads the processor's counter from here on, scaled by CLOCK_MONOTONIC_RAW; takes 20 ms.
 * ENOTSUP: none is known here. Who calls it knows that the counter is invariant. */
int port_use_counter(void);

/* --- scheduling ----------------------------------------------------------------------------- */

/* Gives the calling thread a policy and priority; priority 0 of FIFO or RR is an error. */
int port_set_policy(enum db_policy policy, int priority);
/* Binds the calling thread to one CPU. */
int port_set_cpu(int cpu);
/* Lets the calling thread run on these CPUs only. */
int port_set_cpus(const int *cpus, size_t count);
/* The calling thread's name in the system's lists; longer ones are cut to 15 characters. */
void port_name_thread(const char *name);
/* Number of the calling thread on this machine. */
int port_thread_number(void);
/* CPU on which the caller runs right now; a few ns. */
int port_current_cpu(void);
/* Binds another thread, by its number, to one CPU; takes effect before it returns. */
int port_move_thread(int thread, int cpu);
/* Best-effort policies delay timers by a slack; this sets it to its minimum for the caller. */
void port_minimal_timer_slack(void);

/* --- a device that interrupts ------------------------------------------------------------------ */

/* A hardware timer of its own, whose counter says how long ago it was to interrupt. */
struct port_timer {
    int handle;
    void *registers;
    uint32_t due, period; /* ticks: of the next interrupt, and between two */
    uint64_t tick_fs;
};
/* It interrupts from now on, every *period_ns, which becomes what it really is. */
int port_timer_open(struct port_timer *timer, int64_t *period_ns);
/* Waits for the interrupt that is `passed` periods after the last; how long ago it was due, in ns, or -errno.
 */
int64_t port_timer_wait(struct port_timer *timer, uint64_t passed);

/* --- time the scheduler took, and page faults, of the calling thread
 * ------------------------------------------ */

struct db_usage {
    int64_t cpu_ns;       /* CPU time of the thread */
    int64_t run_delay_ns; /* time spent ready but not running */
    uint32_t voluntary;   /* context switches */
    uint32_t involuntary;
    uint32_t minor_faults, major_faults;
};
/* Opens what port_usage() reads; descriptor in *handle. */
int port_usage_open(int *handle);
/* `ending`: read the CPU clock first instead of last, so that the reading itself stays outside of
 * what lies between a beginning and an ending call. */
void port_usage(int handle, struct db_usage *usage, int ending);
void port_usage_close(int handle);

/* --- perf events of the calling thread --------------------------------------------------------- */

struct db_count {
    int64_t value; /* since the counter was opened */
    int64_t enabled_ns;
    int64_t running_ns; /* shorter: the counter was shared with others */
};
/* Starts to count one event (enum db_counter_event) of the calling thread, and of it alone.
 * EPERM or EACCES: refused; ENOENT, ENODEV, EOPNOTSUPP or ENOSYS: there is no such event here; any
 * other error: it may exist, and could not be opened. */
int port_counter_open(int event, int *handle);
void port_counter_read(int handle, struct db_count *count);
void port_counter_close(int handle);

/* --- processes ------------------------------------------------------------------------------- */

/* Forks; the child dies when its parent does. Returns as fork(). */
int port_fork(void);
void port_kill(int pid);
/* Waits for a child to end; its exit status, or 256 + signal number. */
int port_reap(int pid);
/* Adds `amount` to *word (and wakes who waits on it) whenever a child ends; NULL: no more. */
void port_watch_children(atomic_uint *word, unsigned amount);
/* Puts the caller at the head of a process group of its own. */
void port_lead_group(void);
void port_kill_group(int pid);
/* Lets the process open as many files as it may: a counter of a task is one. */
void port_allow_files(void);
/* Sets *word to 1, and wakes who waits on it, when the process is asked to end (SIGTERM), which then does
 * not end it; pid > 0: passes that on to it. NULL and 0: no more. */
void port_on_end_asked(atomic_uint *word, int pid);
/* Waits until standard input ends, discarding what comes. */
void port_await_input_end(void);
/* Notices from here on whether the caller, or what it forks later, is stopped or the machine suspended. */
void port_watch_stops(void);
/* Whether that happened since; *why says what. */
int port_stood(char *why, size_t bytes);
/* A file of the system that is written to in passing: opened before, then one short text. */
int port_control_open(const char *path, int *handle);
void port_control_write(int handle, const char *text);
/* Keeps CPUs from idling deeper than costs nothing to leave, until the process ends. */
int port_hold_wake_up_latency(void);
/* Limits the CPU time a real-time thread may use without suspending itself (backstop). */
int port_limit_realtime(int64_t ns);
/* The calling process is killed `ns` from now, with no thread of ours needed for it. A backstop: the
 * system may need the CPU of the process for it (PREEMPT_RT, whose soft interrupts are threads). */
int port_die_after(int64_t ns);
/* Puts the process `pid` (0: the caller) above whatever it may have to end: above every fixed priority
 * where the system has such a policy and allows it, else to `priority` of DB_POLICY_FIFO. What it starts
 * from then on is ordinary. Sleeps of the caller end without any thread of the system's. */
int port_stand_above(int pid, int priority);
/* A bound that processes forked later share: any of them may move it, one waits for it. */
struct port_bound {
    int told, tell;   /* ends of a pipe for moments */
    int64_t until_ns; /* the last of them, of whoever waits; INT64_MAX: none */
};
int port_bound_open(struct port_bound *bound);
/* The bound lies `ns` from now; ns < 0: there is none. Wakes whoever waits for it: not while measuring. */
void port_bound_set(const struct port_bound *bound, int64_t ns);
/* Waits for a child to end or the bound to pass, waking up only where the bound is moved. The caller
 * stands above the child, or may not get a CPU from it when the bound has passed.
 * Returns 0 with *status as port_reap(), or ETIMEDOUT. */
int port_guard(int pid, struct port_bound *bound, int *status);
/* The caller is killed when its parent dies, or at once when the parent is not `parent` any more. */
void port_die_with(int parent);
int port_parent(void);
/* Gives the caller System V and POSIX message queue namespaces of its own. */
int port_private_ipc(void);
/* A program that is not ours, for a bounded time. */
struct port_foreign {
    char **argv; /* the program and its arguments, then NULL */
    int64_t bound_ns;
    bool until_input_ends; /* the end of the caller's standard input asks it to end; it has none */
    int fifo_priority;     /* of all its threads, unless they ask for another; 0: ordinary */
};
/* Runs it, with its output the caller's; it and all its descendants are gone when this returns, and
 * also when the caller is killed. SIGTERM, SIGINT and SIGHUP ask it to end, and end it a little later.
 * Returns 0 with the *status a shell would give, ETIMEDOUT when the bound passed, EBUSY when a
 * process could not be ended. */
int port_run_foreign(const struct port_foreign *foreign, int *status);
/* Takes the machine-wide lock, waiting up to wait_ns; released when all holders have died.
 * EBUSY: *holder is the process that has it (0: unknown). */
int port_machine_lock(int64_t wait_ns, int *holder);
/* Carries out the job of a virtual machine whose first process the caller is, and turns it off. Returns
 * an errno value where it is not. */
int port_first_process(void);

#endif
