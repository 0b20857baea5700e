/*
 * What the core of the runtime (runtime/src/core) needs of an operating system: it runs one task set in one
 * address space and hands over its records. An RTOS can supply all of it; deadbeat/port_host.h has what only
 * a host with processes has. A port is one folder under runtime/port, chosen at build time:
 * runtime/port/template is there to copy, runtime/port/posix is the shortest that works.
 *
 * Functions return 0 or a number of <errno.h> unless they say otherwise. Between the first release and the
 * last finish the core calls port_now_ns, port_sleep_until_ns, port_wait and port_wake alone; those allocate
 * nothing. Fragments that synchronise also call deadbeat/port_sync.h.
 */
#ifndef DEADBEAT_PORT_CORE_H
#define DEADBEAT_PORT_CORE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Priority bands: tasks, priority ceiling, coordinators, guardian. A higher number preempts a lower one; a
 * port with fewer levels maps the bands in their order, with one level for each task of a core. */
#define DB_PRIORITY_TASK_LOW 60
#define DB_PRIORITY_TASK_HIGH 79
#define DB_PRIORITY_CEILING 80
#define DB_PRIORITY_AGENT 85
#define DB_PRIORITY_GUARDIAN 90
#define DB_PRIORITY_HIGHEST 99

/* FIFO: fixed priority, preemptive, no time slices. RR: as FIFO, but equals take turns after a slice. OTHER:
 * whatever the system gives ordinary programs. */
enum db_policy { DB_POLICY_OTHER = 0, DB_POLICY_FIFO = 1, DB_POLICY_RR = 2 };

/* --- time ----------------------------------------------------------------------------------- */

/* Monotonic time in ns; a few tens of ns to call; comparable between cores. From any thread.
 * After: never less than what any earlier call on any core returned. */
int64_t port_now_ns(void);
/* Suspends the calling thread until port_now_ns() >= at; at once where that is so already.
 * After: port_now_ns() >= at. Never returns early. Others run meanwhile. */
void port_sleep_until_ns(int64_t at);

/* --- threads -------------------------------------------------------------------------------- */

/* Starts a thread that has policy, priority and CPU before its first instruction, and a stack of which the
 * body may use 32 KiB. OTHER: the priority has no meaning.
 * Before: cpu is one of port_usable_cpus(). After: 0, and *thread is what port_join_thread() takes. */
int port_start_thread(void *(*body)(void *), void *argument, enum db_policy policy, int priority, int cpu,
                      uint64_t *thread);
/* Suspends the caller until the thread's body has returned; once for each thread.
 * After: nothing of the thread runs any more; its stack may be used again. */
int port_join_thread(uint64_t thread);
/* What the calling thread really has, read back and not remembered: policy, priority as
 * port_start_thread() was given it (0 under OTHER) and the one CPU it is bound to (-1: many). */
int port_get_placement(int *policy, int *priority, int *cpu);
/* CPUs that threads may be started on, in ascending order, at most `most`; their number, at least 1. */
int port_usable_cpus(int *cpus, int most);

/* --- memory --------------------------------------------------------------------------------- */

/* Zeroed, already touched, aligned to a page or, where there is none, to DB_CACHE_LINE; NULL: there is not so
 * much. shared: also with processes forked later, where there are any. Not called while tasks run. */
void *port_map(size_t bytes, int shared);
/* Gives back what port_map() returned, of the same size; NULL: does nothing. A port that cannot may keep it.
 */
void port_unmap(void *memory, size_t bytes);
/* After: no access to present or future memory waits for a disc. 0 where that is always so. */
int port_lock_memory(void);

/* --- waiting for one another ------------------------------------------------------------------ */

/* Suspends the caller while *word == seen (spurious returns allowed): the comparison and the falling asleep
 * are one step, so that no wake-up in between is lost. timeout_ns < 0: without end.
 * Returns 0, ETIMEDOUT or EINTR. Works between processes on shared memory, where there are any. */
int port_wait(atomic_uint *word, unsigned seen, int64_t timeout_ns);
/* Wakes all that wait on the word, or one: of the highest priority where the system knows it.
 * From any thread, not from an interrupt. */
void port_wake(atomic_uint *word);
void port_wake_one(atomic_uint *word);

/* --- the end, and what is handed over ---------------------------------------------------------- */

/* Ends the program (on a host: the calling process) at once. */
_Noreturn void port_exit(int status);
/* Takes the next bytes of the record file (deadbeat/records.h), in order, from one thread, while no task
 * runs: to a file, a wire, memory that is read out. */
int port_put(const void *data, size_t bytes);
/* One line for a reader, without its end: an error, progress. While no task runs. */
void port_say(const char *text);
/* What a number of <errno.h> means, for a reader; any text where the system has none. */
const char *port_error_text(int error);

#endif
