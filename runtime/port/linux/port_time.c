/* Time and the scheduler's accounts on Linux. */
#include "deadbeat/port.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static int64_t read_clock(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t port_now_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

int64_t port_realtime_ns(void)
{
    return read_clock(CLOCK_REALTIME);
}

void port_sleep_until_ns(int64_t at)
{
    struct timespec t = {.tv_sec = at / 1000000000, .tv_nsec = at % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
        ;
}

int port_usage_open(int *handle)
{
    *handle = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    return *handle < 0 ? errno : 0;
}

/* schedstat: "<ns on cpu> <ns ready but waiting> <time slices>\n" (Documentation/scheduler/sched-stats.rst)
 */
static int64_t second_number(const char *text, ssize_t length)
{
    ssize_t i = 0;
    while (i < length && text[i] != ' ')
        i++;
    int64_t value = 0;
    for (i++; i < length && text[i] >= '0' && text[i] <= '9'; i++)
        value = value * 10 + (text[i] - '0');
    return value;
}

void port_usage(int handle, struct db_usage *usage, int ending)
{
    char text[96];
    struct rusage r;
    if (ending)
        usage->cpu_ns = read_clock(CLOCK_THREAD_CPUTIME_ID);
    ssize_t length = pread(handle, text, sizeof text, 0);
    usage->run_delay_ns = length > 0 ? second_number(text, length) : 0;
    getrusage(RUSAGE_THREAD, &r);
    usage->voluntary = (uint32_t)r.ru_nvcsw;
    usage->involuntary = (uint32_t)r.ru_nivcsw;
    usage->minor_faults = (uint32_t)r.ru_minflt;
    usage->major_faults = (uint32_t)r.ru_majflt;
    if (!ending)
        usage->cpu_ns = read_clock(CLOCK_THREAD_CPUTIME_ID);
}

void port_usage_close(int handle)
{
    close(handle);
}
