/* What port_core.h and port_host.h promise of time, threads and waiting, on whatever machine it runs. */
#include "deadbeat/port.h"

#include <errno.h>
#include <stdio.h>

static atomic_uint word;
static int cpu_seen, policy_seen, number_seen;

static void *body(void *wanted)
{
    int priority;
    port_get_placement(&policy_seen, &priority, &cpu_seen);
    number_seen = port_thread_number();
    atomic_store(&word, 1);
    port_wake(&word);
    return wanted;
}

static int failed(const char *what)
{
    printf("%s\n", what);
    return 1;
}

int main(void)
{
    int cpus[1024];
    uint64_t thread;
    int count = port_usable_cpus(cpus, 1024), last = cpus[count - 1], policy, priority, cpu;
    int64_t start = port_now_ns();
    if (port_wait(&word, 0, 3000000) != ETIMEDOUT || port_now_ns() < start + 3000000)
        return failed("a wait with a bound");
    if (port_wait(&word, 1, 3000000) != 0)
        return failed("a wait on a word that has changed");
    port_sleep_until_ns(start + 6000000);
    if (port_now_ns() < start + 6000000)
        return failed("a sleep");
    if (port_start_thread(body, NULL, DB_POLICY_OTHER, 0, last, &thread) != 0)
        return failed("a thread");
    while (atomic_load(&word) == 0)
        port_wait(&word, 0, -1);
    if (port_join_thread(thread) != 0 || cpu_seen != last || policy_seen != 0)
        return failed("the placement of a thread");
    if (number_seen == 0 || number_seen == port_thread_number())
        return failed("the number of a thread");
    if (port_get_placement(&policy, &priority, &cpu) != 0 || (count > 1 && cpu != -1))
        return failed("the CPUs of who started it");
    printf("ok\n");
    return 0;
}
