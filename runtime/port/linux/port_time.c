/* Time and the scheduler's accounts on Linux. */
#include "deadbeat/cpu.h"
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

/* What a tick of the counter takes, in 2^-32 ns; 0: CLOCK_MONOTONIC is the clock. */
static uint64_t counter_scale;

#ifdef DB_COUNTER
static uint64_t counter_began;
static int64_t counter_began_ns;

static int64_t scaled(uint64_t ticks)
{
    return (int64_t)(((unsigned __int128)ticks * counter_scale) >> 32);
}

/* CLOCK_MONOTONIC_RAW, and the counter at that moment: of the shortest of some readings. */
static int64_t both(uint64_t *ticks)
{
    int64_t least = INT64_MAX, at = 0;
    for (int i = 0; i < 50; i++) {
        int64_t before = read_clock(CLOCK_MONOTONIC_RAW);
        uint64_t now = db_counter();
        int64_t took = read_clock(CLOCK_MONOTONIC_RAW) - before;
        if (took < least) {
            least = took;
            at = before + took / 2;
            *ticks = now;
        }
    }
    return at;
}

int port_use_counter(void)
{
    uint64_t first = 0, last = 0;
    int64_t began_ns = both(&first);
    const struct timespec pause = {.tv_nsec = 20000000};
    nanosleep(&pause, NULL);
    int64_t took_ns = both(&last) - began_ns;
    if (last <= first)
        return ENODEV;
    counter_scale = (uint64_t)(((unsigned __int128)took_ns << 32) / (last - first));
    counter_began = db_counter();
    counter_began_ns = read_clock(CLOCK_MONOTONIC);
    return 0;
}

int64_t port_now_ns(void)
{
    return counter_scale ? counter_began_ns + scaled(db_counter() - counter_began)
                         : read_clock(CLOCK_MONOTONIC);
}
#else
int port_use_counter(void)
{
    return ENOTSUP;
}

int64_t port_now_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}
#endif

int64_t port_realtime_ns(void)
{
    return read_clock(CLOCK_REALTIME);
}

void port_sleep_until_ns(int64_t at)
{
    do {
        int64_t until = counter_scale ? at + read_clock(CLOCK_MONOTONIC) - port_now_ns() : at;
        struct timespec t = {.tv_sec = until / 1000000000, .tv_nsec = until % 1000000000};
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
            ;
    } while (counter_scale && port_now_ns() < at);
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
