/* What both parts of the placer share. */
#ifndef DB_OBSERVE_PLACER_H
#define DB_OBSERVE_PLACER_H

#include "comm.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    CPUS_MOST = 1024,
    THREADS_MOST = 1 << 16,
    MOST = 100,
    COMM = COMM_TEXT,
    LINE = 208,
    SHARE = 125,
    ROUNDS = 10
};
enum { OTHER = 0, FIFO = 1, RR = 2, DEADLINE = 6, RESET_ON_FORK = 1 };

enum part { POLICY, CPUS, PARTS };

struct state {
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime, deadline, period;
    } attr;
    uint64_t cpus[CPUS_MOST / 64];
};

struct rule {
    const char *name;
    int policy, priority; /* -1: as it is */
    uint64_t runtime, deadline, period;
    bool has_cpus;
    uint64_t cpus[CPUS_MOST / 64];
};

struct thread {
    uint32_t tid, pid;
    uint64_t start; /* when it was made, ticks */
    size_t found;   /* in which look */
    char comm[COMM];
    int comm_file, children_file;
    DIR *tasks;    /* of a process */
    nlink_t links; /* of this folder */
    bool ended, is_root;
    uint64_t slack_ns; /* of its timers: the kernel forgets it of a real-time thread; 0: not known */
    const struct rule *rule;
    struct state own, asked, set; /* as it would be; as we wanted it; as it then was */
    struct {
        bool touched, gave_up;
        bool was_set; /* once: set stays */
        bool changes_now;
        int changes, refused;
    } parts[PARTS];
};

enum { POLICIES_MOST = DEADLINE + 1 };
extern const char *const POLICIES[POLICIES_MOST];
extern uint64_t slice_ns; /* of an ordinary thread that asked for none */
extern bool may_reset;    /* RESET_ON_FORK, which an ordinary user cannot take back */

bool is_real_time(uint32_t policy);

bool read_state(uint32_t tid, struct state *state);

bool same(const struct state *a, const struct state *b, enum part part);

void copy(struct state *to, const struct state *from, enum part part);

/* Changes a part of a thread: 0, or errno. The slack of its timers comes back with an ordinary policy. */
int change_part(struct thread *thread, const struct state *to, enum part part);

/* What its rule makes of a thread. */
struct state ruled(const struct thread *thread);

#endif
