/*
 * What the runtime needs of an operating system. A port is one folder under runtime/port that
 * implements every function here, chosen at build time; runtime/port/template is there to copy.
 * Functions return 0 or an errno value unless they say otherwise. None allocates on the heap.
 */
#ifndef DEADBEAT_PORT_H
#define DEADBEAT_PORT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Priority bands: tasks, priority ceiling, per-core agents and coordinator, guardian. */
#define DB_PRIORITY_TASK_LOW 60
#define DB_PRIORITY_TASK_HIGH 79
#define DB_PRIORITY_CEILING 80
#define DB_PRIORITY_AGENT 85
#define DB_PRIORITY_GUARDIAN 90
#define DB_PRIORITY_HIGHEST 99

enum db_policy { DB_POLICY_OTHER = 0, DB_POLICY_FIFO = 1 };

/* --- time ----------------------------------------------------------------------------------- */

/* Monotonic time in ns; a few tens of ns to call; comparable between cores. */
int64_t port_now_ns(void);
int64_t port_realtime_ns(void);
/* Suspends the caller until port_now_ns() >= at. Never returns early. */
void port_sleep_until_ns(int64_t at);

/* --- scheduling ----------------------------------------------------------------------------- */

/* Gives the calling thread a policy and priority; FIFO priority 0 is an error. */
int port_set_policy(enum db_policy policy, int priority);
/* Binds the calling thread to one CPU. */
int port_set_cpu(int cpu);
/* Lets the calling thread run on these CPUs only. */
int port_set_cpus(const int *cpus, size_t count);
/* What the calling thread really has: policy, priority and the one CPU it is bound to (-1: many). */
int port_get_placement(int *policy, int *priority, int *cpu);
/* Starts a thread that has policy, priority and CPU before its first instruction. */
int port_start_thread(void *(*body)(void *), void *argument, enum db_policy policy, int priority, int cpu,
                      uint64_t *thread);
int port_join_thread(uint64_t thread);
/* The calling thread's name in the system's lists; longer ones are cut to 15 characters. */
void port_name_thread(const char *name);
/* Number of the calling thread on this machine. */
int port_thread_number(void);
/* CPU on which the caller runs right now; a few ns. */
int port_current_cpu(void);
/* CPUs that this process may use, in ascending order, at most `most`; their number. */
int port_usable_cpus(int *cpus, int most);
/* Binds another thread, by its number, to one CPU; takes effect before it returns. */
int port_move_thread(int thread, int cpu);
/* Best-effort policies delay timers by a slack; this sets it to its minimum for the caller. */
void port_minimal_timer_slack(void);

/* --- time the scheduler took, of the calling thread ------------------------------------------ */

struct db_usage {
    int64_t cpu_ns;       /* CPU time of the thread */
    int64_t run_delay_ns; /* time spent ready but not running */
    uint32_t voluntary;   /* context switches */
    uint32_t involuntary;
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

/* --- memory --------------------------------------------------------------------------------- */

/* Zeroed, page-aligned and already touched; shared with processes forked later, or private. */
void *port_map(size_t bytes, int shared);
void port_unmap(void *memory, size_t bytes);
/* Locks present and future memory of the process. */
int port_lock_memory(void);

/* --- waiting for one another ------------------------------------------------------------------ */

/* Suspends while *word == seen (spurious returns allowed). timeout_ns < 0: without end.
 * Returns 0, ETIMEDOUT or EINTR. Works between processes on shared memory. */
int port_wait(atomic_uint *word, unsigned seen, int64_t timeout_ns);
void port_wake(atomic_uint *word);

/* --- processes ------------------------------------------------------------------------------- */

/* Forks; the child dies when its parent does. Returns as fork(). */
int port_fork(void);
/* Ends the calling process at once. */
_Noreturn void port_exit(int status);
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
};
/* Runs it, with its output the caller's; it and all its descendants are gone when this returns, and
 * also when the caller is killed. SIGTERM, SIGINT and SIGHUP ask it to end, and end it a little later.
 * Returns 0 with the *status a shell would give, ETIMEDOUT when the bound passed, EBUSY when a
 * process could not be ended. */
int port_run_foreign(const struct port_foreign *foreign, int *status);
/* Takes the machine-wide lock, waiting up to wait_ns; released when all holders have died.
 * EBUSY: *holder is the process that has it (0: unknown). */
int port_machine_lock(int64_t wait_ns, int *holder);

#endif
