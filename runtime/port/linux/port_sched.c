/* Policy, priority, affinity and threads on Linux. */
#include "deadbeat/port.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Fragments keep below 4 KiB of stack; thread start-up and signal frames need the rest. */
#define STACK_BYTES (256 * 1024)

static const int kinds[] = {
    [DB_POLICY_OTHER] = SCHED_OTHER, [DB_POLICY_FIFO] = SCHED_FIFO, [DB_POLICY_RR] = SCHED_RR};

/* By their numbers: musl's functions of these names refuse, because POSIX has them for processes and Linux
 * for threads. */
int port_set_policy(enum db_policy policy, int priority)
{
    struct sched_param p = {.sched_priority = policy == DB_POLICY_OTHER ? 0 : priority};
    return syscall(SYS_sched_setscheduler, 0, kinds[policy], &p) == 0 ? 0 : errno;
}

int port_set_cpu(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    if (cpu < 0 || cpu >= CPU_SETSIZE)
        return EINVAL;
    CPU_SET((size_t)cpu, &set);
    return sched_setaffinity(0, sizeof set, &set) == 0 ? 0 : errno;
}

int port_set_cpus(const int *cpus, size_t count)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    for (size_t i = 0; i < count; i++)
        if (cpus[i] >= 0 && cpus[i] < CPU_SETSIZE)
            CPU_SET((size_t)cpus[i], &set);
    return sched_setaffinity(0, sizeof set, &set) == 0 ? 0 : errno;
}

int port_get_placement(int *policy, int *priority, int *cpu)
{
    struct sched_param p;
    cpu_set_t set;
    *policy = (int)syscall(SYS_sched_getscheduler, 0);
    if (*policy < 0 || syscall(SYS_sched_getparam, 0, &p) != 0 || sched_getaffinity(0, sizeof set, &set) != 0)
        return errno;
    *priority = p.sched_priority;
    *cpu = -1;
    for (int i = 0; CPU_COUNT(&set) == 1 && i < CPU_SETSIZE; i++)
        if (CPU_ISSET((size_t)i, &set))
            *cpu = i;
    return 0;
}

/* A thread that bound itself could be kept by its parent from ever doing so: it must have its CPU before
 * it runs. musl has no attribute for that, but a thread has the CPUs of whoever starts it. */
static int create_bound(pthread_t *id, pthread_attr_t *attributes, void *(*body)(void *), void *argument,
                        const cpu_set_t *set)
{
#ifdef __GLIBC__
    int error = pthread_attr_setaffinity_np(attributes, sizeof *set, set);
    return error ? error : pthread_create(id, attributes, body, argument);
#else
    cpu_set_t own;
    if (sched_getaffinity(0, sizeof own, &own) != 0 || sched_setaffinity(0, sizeof *set, set) != 0)
        return errno;
    int error = pthread_create(id, attributes, body, argument);
    int back = sched_setaffinity(0, sizeof own, &own) == 0 ? 0 : errno;
    return error ? error : back;
#endif
}

int port_start_thread(void *(*body)(void *), void *argument, enum db_policy policy, int priority, int cpu,
                      uint64_t *thread)
{
    pthread_attr_t attributes;
    cpu_set_t set;
    pthread_t id;
    struct sched_param p = {.sched_priority = policy == DB_POLICY_OTHER ? 0 : priority};
    CPU_ZERO(&set);
    CPU_SET((size_t)cpu, &set);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&attributes, kinds[policy]);
    pthread_attr_setschedparam(&attributes, &p);
    int error = create_bound(&id, &attributes, body, argument, &set);
    pthread_attr_destroy(&attributes);
    if (error == 0)
        memcpy(thread, &id, sizeof id < sizeof *thread ? sizeof id : sizeof *thread);
    return error;
}

int port_join_thread(uint64_t thread)
{
    pthread_t id;
    memcpy(&id, &thread, sizeof id);
    return pthread_join(id, NULL);
}

void port_name_thread(const char *name)
{
    prctl(PR_SET_NAME, name, 0UL, 0UL, 0UL);
}

int port_thread_number(void)
{
    return (int)syscall(SYS_gettid);
}

int port_current_cpu(void)
{
    return sched_getcpu();
}

int port_usable_cpus(int *cpus, int most)
{
    cpu_set_t set;
    int count = 0;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 0;
    for (int i = 0; i < CPU_SETSIZE && count < most; i++)
        if (CPU_ISSET((size_t)i, &set))
            cpus[count++] = i;
    return count;
}

int port_move_thread(int thread, int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)cpu, &set);
    return sched_setaffinity(thread, sizeof set, &set) == 0 ? 0 : errno;
}

void port_minimal_timer_slack(void)
{
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
}

int port_limit_realtime(int64_t ns)
{
    struct rlimit now, limit;
    if (getrlimit(RLIMIT_RTTIME, &now) != 0)
        return errno;
    rlim_t us = (rlim_t)(ns / 1000);
    limit.rlim_max = now.rlim_max < us ? now.rlim_max : us;
    limit.rlim_cur = limit.rlim_max;
    return setrlimit(RLIMIT_RTTIME, &limit) == 0 ? 0 : errno;
}
