/* What the parts of the keeper share (recorder_keep.c): counts of a result, which outlive it. */
#ifndef DEADBEAT_KEEP_H
#define DEADBEAT_KEEP_H

#include <stdbool.h>
#include <stdint.h>

/* A power of two has 32 buckets: none is wider than 3.2 % of what it holds. */
enum { WATCHED_MOST = 64, SUB_BITS = 5, BUCKETS = 1248, NAME_BYTES = 64 };

/* Of a thread; as kept.py has it. */
struct tally {
    char name[NAME_BYTES];
    uint64_t deadline_ns, jobs, misses, worst_ns, sum_ns, bucket[BUCKETS];
};

/* ``windows`` were kept; of ``only_counted`` misses none is. ``lost``: events of the watch. */
struct state {
    char magic[8];
    uint64_t watched_ns, starts, windows, only_counted, lost, threads;
    struct tally thread[WATCHED_MOST];
};

/* Misses since the last window: how many, the first release, the last end. */
struct missed {
    uint64_t count, release, end;
};

extern struct state *state;
extern struct missed missed;

/* Maps the counts in a file, which is made where it is missing; -1: errno says why not. */
int open_state(const char *path);

/* A line of the plan: tid, period and deadline in ns (0: none), number of the call that ends a job (-1: any
 * sleep does), masks and values of its first two arguments, and the thread's name. */
bool know_watched(const char *line);

/* Filters of the watch: those threads, as ``field`` of an event; of one ``call`` (-1: of any other). */
bool watch_filter(char *text, size_t bytes, const char *field, int64_t call);

/* Counts jobs by records in order of time. */
int count_jobs(const struct record *records, size_t count);

/* Whether a job with a deadline goes on that began before an instant. */
bool is_in_progress(uint64_t since);

/* Writes the counts for a collector, whole or not at all, with the lines of ``more``; -1: errno. */
int write_metrics(const char *path, const char *process, const char *more);

#endif
