/*
 * A host port to copy, beside port_core.c: every function of deadbeat/port_host.h, doing nothing and saying
 * so. runtime/port/linux shows one that is complete.
 */
#include "deadbeat/port_host.h"

#include <errno.h>
#include <stdlib.h>

int port_use_counter(void)
{
    return ENOTSUP;
}

int port_timer_open(struct port_timer *timer, int64_t *period_ns)
{
    (void)timer;
    (void)period_ns;
    return ENOTSUP;
}

int64_t port_timer_wait(struct port_timer *timer, uint64_t passed)
{
    (void)timer;
    (void)passed;
    return -ENOTSUP;
}

int64_t port_realtime_ns(void)
{
    abort();
}

int port_set_policy(enum db_policy policy, int priority)
{
    (void)policy;
    (void)priority;
    return ENOSYS;
}

int port_set_cpu(int cpu)
{
    (void)cpu;
    return ENOSYS;
}

int port_set_cpus(const int *cpus, size_t count)
{
    (void)cpus;
    (void)count;
    return ENOSYS;
}

void port_name_thread(const char *name)
{
    (void)name;
}

int port_thread_number(void)
{
    return 0;
}

int port_current_cpu(void)
{
    return 0;
}

int port_move_thread(int thread, int cpu)
{
    (void)thread;
    (void)cpu;
    return ENOSYS;
}

/* ENOSYS here means: no such event on this system; a run goes on and says so. */
int port_counter_open(int event, int *handle)
{
    (void)event;
    (void)handle;
    return ENOSYS;
}

void port_counter_read(int handle, struct db_count *count)
{
    (void)handle;
    (void)count;
    abort();
}

void port_counter_close(int handle)
{
    (void)handle;
    abort();
}

void port_minimal_timer_slack(void)
{
    abort();
}

int port_usage_open(int *handle)
{
    (void)handle;
    return ENOSYS;
}

void port_usage(int handle, struct db_usage *usage, int ending)
{
    (void)handle;
    (void)usage;
    (void)ending;
    abort();
}

void port_usage_close(int handle)
{
    (void)handle;
}

int port_fork(void)
{
    return -1;
}

void port_kill(int pid)
{
    (void)pid;
    abort();
}

int port_reap(int pid)
{
    (void)pid;
    return -1;
}

void port_watch_children(atomic_uint *word, unsigned amount)
{
    (void)word;
    (void)amount;
    abort();
}

void port_lead_group(void)
{
    abort();
}

void port_kill_group(int pid)
{
    (void)pid;
    abort();
}

void port_allow_files(void)
{
    abort();
}

void port_on_end_asked(atomic_uint *word, int pid)
{
    (void)word;
    (void)pid;
    abort();
}

void port_await_input_end(void)
{
    abort();
}

int port_control_open(const char *path, int *handle)
{
    (void)path;
    (void)handle;
    return ENOSYS;
}

void port_control_write(int handle, const char *text)
{
    (void)handle;
    (void)text;
    abort();
}

int port_hold_wake_up_latency(void)
{
    return ENOSYS;
}

int port_limit_realtime(int64_t ns)
{
    (void)ns;
    return ENOSYS;
}

int port_die_after(int64_t ns)
{
    (void)ns;
    return ENOSYS;
}

int port_stand_above(int pid, int priority)
{
    (void)pid;
    (void)priority;
    return ENOSYS;
}

int port_bound_open(struct port_bound *bound)
{
    (void)bound;
    return ENOSYS;
}

void port_bound_set(const struct port_bound *bound, int64_t ns)
{
    (void)bound;
    (void)ns;
    abort();
}

int port_guard(int pid, struct port_bound *bound, int *status)
{
    (void)pid;
    (void)bound;
    (void)status;
    return ENOSYS;
}

void port_die_with(int parent)
{
    (void)parent;
    abort();
}

int port_parent(void)
{
    return ENOSYS;
}

int port_private_ipc(void)
{
    return ENOSYS;
}

void port_watch_stops(void)
{
    abort();
}

int port_stood(char *why, size_t bytes)
{
    (void)why;
    (void)bytes;
    return 0;
}

int port_run_foreign(const struct port_foreign *foreign, int *status)
{
    (void)foreign;
    (void)status;
    return ENOSYS;
}

int port_machine_lock(int64_t wait_ns, int *holder)
{
    (void)wait_ns;
    (void)holder;
    return ENOSYS;
}

int port_first_process(void)
{
    return ENOSYS;
}
