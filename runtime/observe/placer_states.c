/* Policy, priority, CPUs and slack of timers of threads: read and set. */
#include "placer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

uint64_t slice_ns;
bool may_reset;

const char *const POLICIES[POLICIES_MOST] = {
    [OTHER] = "other", [FIFO] = "fifo", [RR] = "rr", [DEADLINE] = "deadline"};

bool is_real_time(uint32_t policy)
{
    return policy == FIFO || policy == RR;
}

bool read_state(uint32_t tid, struct state *state)
{
    memset(state, 0, sizeof *state);
    if (syscall(SYS_sched_getattr, tid, &state->attr, (unsigned)sizeof state->attr, 0) != 0 ||
        syscall(SYS_sched_getaffinity, tid, sizeof state->cpus, state->cpus) <= 0)
        return false;
    state->attr.flags &= 7;
    if (state->attr.policy != DEADLINE &&
        (is_real_time(state->attr.policy) || state->attr.runtime == slice_ns))
        state->attr.runtime = 0; /* a slice that nothing asked for */
    return true;
}

bool same(const struct state *a, const struct state *b, enum part part)
{
    return part == CPUS ? memcmp(a->cpus, b->cpus, sizeof a->cpus) == 0
                        : memcmp(&a->attr, &b->attr, sizeof a->attr) == 0;
}

void copy(struct state *to, const struct state *from, enum part part)
{
    if (part == CPUS)
        memcpy(to->cpus, from->cpus, sizeof to->cpus);
    else
        to->attr = from->attr;
}

static int change(uint32_t tid, const struct state *to, enum part part)
{
    long result = part == CPUS ? syscall(SYS_sched_setaffinity, tid, sizeof to->cpus, to->cpus)
                               : syscall(SYS_sched_setattr, tid, &to->attr, 0);
    return result == 0 ? 0 : errno;
}

/* What a rule makes of a state. */
struct state ruled(const struct thread *thread)
{
    const struct rule *rule = thread->rule;
    const struct state *own = &thread->own;
    struct state to = *own;
    bool was_fair = own->attr.policy != DEADLINE && !is_real_time(own->attr.policy), is_fair = was_fair;
    if (rule->has_cpus)
        memcpy(to.cpus, rule->cpus, sizeof to.cpus);
    if (rule->policy >= 0) {
        to.attr.policy = (uint32_t)rule->policy;
        to.attr.runtime = to.attr.deadline = to.attr.period = 0;
        is_fair = rule->policy == OTHER;
        to.attr.nice = !is_fair ? 0 : was_fair ? own->attr.nice : getpriority(PRIO_PROCESS, thread->tid);
    }
    if (rule->policy == DEADLINE || /* may make no threads without it */
        (may_reset && thread->is_root && is_real_time(to.attr.policy) && own->attr.policy == OTHER &&
         own->attr.nice >= 0)) /* those that it makes are as if it had no other policy */
        to.attr.flags |= RESET_ON_FORK;
    if (rule->policy == DEADLINE) {
        to.attr.runtime = rule->runtime;
        to.attr.deadline = rule->deadline ? rule->deadline : rule->period;
        to.attr.period = rule->period ? rule->period : to.attr.deadline;
    }
    if (!is_real_time(to.attr.policy))
        to.attr.priority = 0;
    else if (rule->priority > 0)
        to.attr.priority = (uint32_t)rule->priority;
    else if (to.attr.priority == 0)
        to.attr.priority = 1;
    return to;
}

static void with_slack(uint32_t tid, uint64_t *ns, bool write_it)
{
    char path[64], text[24] = "";
    snprintf(path, sizeof path, "/proc/%u/timerslack_ns", tid);
    int file = open(path, (write_it ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
    if (file < 0)
        return;
    if (write_it)
        (void)!write(file, text, (size_t)snprintf(text, sizeof text, "%" PRIu64, *ns));
    else if (read(file, text, sizeof text - 1) > 0)
        *ns = strtoull(text, NULL, 10);
    close(file);
}

int change_part(struct thread *thread, const struct state *to, enum part part)
{
    bool is_fair = !is_real_time(to->attr.policy) && to->attr.policy != DEADLINE;
    if (part == POLICY && !thread->parts[POLICY].touched)
        with_slack(thread->tid, &thread->slack_ns, false);
    int error = change(thread->tid, to, part);
    if (part == POLICY && error == 0 && is_fair && thread->slack_ns != 0)
        with_slack(thread->tid, &thread->slack_ns, true);
    return error;
}
