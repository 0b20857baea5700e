/* What both parts of the recorder share. */
#ifndef DEADBEAT_RECORDER_H
#define DEADBEAT_RECORDER_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CPUS_MOST 1024
#define TEXT_BYTES 16384
#define STARTS 16

enum kind {
    SWITCH = 1,
    WAKING,
    RUNTIME,
    SLEEP_TIMER,
    DEADLINE_TIMER,
    ENTER,
    EXIT,
    FORK,
    EXEC,
    END,
    PRIORITY,
    MIGRATE,
    LOST,
    INTERRUPT,
    INTERRUPT_END,
    FAULT,
    FAULT_END,
    KILLED,
    SENT,
    TAKEN,
    READY,
    DROPPED
};

struct record {
    uint64_t ns;
    uint32_t tid;
    uint16_t kind, cpu;
    int64_t a, b, c;
};
_Static_assert(sizeof(struct record) == 40, "as records.py has it");

extern const char *instance; /* "-": none */
extern volatile sig_atomic_t stopped;
extern size_t lost_count, poll_count;

void on_term(int signal_number);

/* Says what a call of others takes, and a sleep. */
int say_cost(void);

/* Writes to a file of the instance; a kernel may lack it. */
void set_text(const char *name, const char *text);
void set(const char *name, unsigned value);

/* Formats of the instance's events and of its buffers; -1: these are of no known form. */
int know_events(const char *kallsyms);

/* What each record that is decoded goes to: those that wait for their turn in time, unless another is set. */
extern int (*sink)(const struct record *record);

/* What records go to in order of time once it is their turn; -1: errno says why not. */
extern int (*take)(const struct record *records, size_t count);
extern size_t pending_most;
int flush_until(uint64_t until);

/* Opens the buffers of the instance; how many. */
struct pollfd;
unsigned open_buffers(struct pollfd *files, uint16_t *cpus);

/* Decodes what a buffer of ``cpu`` has until an instant, for as long as ``give_up`` is not reached. */
int drain(int file, uint16_t cpu, uint64_t until, uint64_t give_up);

/* A line for each call that was seen. */
void say_calls(void);

/* Keeps what led to the misses of a process, for days; its exit status. */
int keep_misses(const char *plan, bool replayed);

/* Makes an instance of all tracing, for the events that a file names. */
void set_up(const char *names);

/* Makes a command that waits at its gate; our input ends with it. */
pid_t at_gate(char **command, int *gate);
void begin_command(pid_t pid, int gate, const char *most_ns);
void end_command(pid_t pid);

/* Addresses that calls return to, on a thread's stack down to here, those of the first calls first; how
 * many. */
unsigned find_starts(uint32_t pid, uint32_t tid, uintptr_t stack, uintptr_t found[STARTS]);

/* A process has other code from now on. */
void forget_code(uint32_t pid);

/* Lines of the maps of processes in which starts were sought. */
void say_code(void);

/* A call of thread ``tid`` names a number: what it is, is looked up if that is not known; ``closes``: then
 * it is no more. */
void see_file(uint32_t tid, int64_t file, bool closes);

/* Looks again at what is behind known numbers, now and then. */
void look_at_files(void);

/* A line for each that was a channel, and for each socket. */
void say_files(void);

/* Thread ``tid`` may be of another process from now on. */
void forget_home(uint32_t tid);

/* Process of a thread that is known; 0: it is not. */
uint32_t process_of(uint32_t tid);

uint64_t now_ns(void);

/* A small file as text; its length, -1 where it cannot be read. */
ssize_t text_of(const char *path, char *text, size_t bytes);

/* All of it; -1: errno says why not. */
int write_all(int file, const void *data, size_t bytes);

/* Says why there is no recording: 1. */
int fail(const char *what);

/* Knows process ``pid``: the next look finds its threads. */
void know_process(uint32_t pid);

void look_at_threads(void);

/* Threads that no look has found since are known no more. */
void forget_threads(uint64_t since);

/* Whether looks seek where threads begin. */
extern bool seek_starts;

/* Whether all that is known has ended. */
bool all_ended(void);

/* What an event says of threads; those that no look found are known by it alone. */
void follow(const struct record *record);

/* A line: the threads that there are, and the time of this look; what they had so far does not count. */
void say_present(bool count_from_now);

/* A line for each thread that there was. */
void say_threads(void);

/* Begins to look at what runs beside the program, or says a line for each thread that ran. */
void look_around(bool begins);

/* Thread ``tid`` of any program has this name (16 bytes) now. */
void name_of(uint32_t tid, const char *comm);

/* A line for each name, as far as there was room. */
void say_names(void);

#endif
