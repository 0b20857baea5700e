/* Perf events on Linux (perf_event_open(2)). */
#include "deadbeat/port.h"
#include "deadbeat/records.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
    uint32_t type;
    uint64_t config;
} events[DB_COUNT_EVENTS] = {
    [DB_COUNT_CONTEXT_SWITCHES] = {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
    [DB_COUNT_CPU_MIGRATIONS] = {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS},
    [DB_COUNT_PAGE_FAULTS] = {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
    [DB_COUNT_MINOR_FAULTS] = {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN},
    [DB_COUNT_MAJOR_FAULTS] = {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ},
    [DB_COUNT_TASK_CLOCK] = {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
    [DB_COUNT_CYCLES] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    [DB_COUNT_INSTRUCTIONS] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    [DB_COUNT_CACHE_REFERENCES] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES},
    [DB_COUNT_CACHE_MISSES] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    [DB_COUNT_BRANCHES] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
    [DB_COUNT_BRANCH_MISSES] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
};

int port_counter_open(int event, int *handle)
{
    struct perf_event_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.size = sizeof attributes;
    attributes.type = events[event].type;
    attributes.config = events[event].config;
    attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    *handle = (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (*handle >= 0)
        return 0;
    /* A processor's driver that lacks one of the general hardware events may say EINVAL; nothing else
     * in this call is newer than the kernels that this runs on, or differs between the events. */
    return errno == EINVAL ? ENOENT : errno;
}

void port_counter_read(int handle, struct db_count *count)
{
    uint64_t words[3] = {0, 0, 0};
    if (read(handle, words, sizeof words) != (ssize_t)sizeof words)
        memset(words, 0, sizeof words);
    *count = (struct db_count){
        .value = (int64_t)words[0], .enabled_ns = (int64_t)words[1], .running_ns = (int64_t)words[2]};
}

void port_counter_close(int handle)
{
    close(handle);
}
