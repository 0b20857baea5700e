/* Perf events of a task, slot by slot: read by the task itself before and after its jobs. */
#include "host_run.h"

#include <errno.h>

static enum db_counter_status status_of(int error)
{
    switch (error) {
    case 0:
        return DB_COUNTED;
    case EPERM:
    case EACCES:
        return DB_COUNT_REFUSED;
    case ENOENT:
    case ENODEV:
    case EOPNOTSUPP:
    case ENOSYS:
        return DB_COUNT_UNSUPPORTED;
    default:
        return DB_COUNT_FAILED;
    }
}

void counters_open(struct counters *counters)
{
    for (int event = 0; event < DB_COUNT_EVENTS; event++) {
        int error = port_counter_open(event, &counters->handles[event]);
        if (error)
            counters->handles[event] = -error;
        counters->status[event] = (uint16_t)status_of(error);
    }
}

void counters_begin(struct counters *counters)
{
    for (int event = 0; event < DB_COUNT_EVENTS; event++)
        if (counters->handles[event] >= 0)
            port_counter_read(counters->handles[event], &counters->before[event]);
}

/* A counter that shared the processor's few with others counted part of the time. */
static uint16_t scaled(struct db_counter_row *count)
{
    if (count->running_ns >= count->enabled_ns)
        return DB_COUNTED;
    if (count->running_ns <= 0) { /* it never got one: as if there were none */
        count->value = 0;
        return DB_COUNT_UNSUPPORTED;
    }
    count->value = (int64_t)((double)count->value * (double)count->enabled_ns / (double)count->running_ns);
    return DB_COUNT_SCALED;
}

void counters_end(const struct counters *counters, uint32_t task, uint32_t slot,
                  struct db_counter_row rows[DB_COUNT_EVENTS])
{
    struct db_count after[DB_COUNT_EVENTS];
    for (int event = 0; event < DB_COUNT_EVENTS; event++)
        if (counters->handles[event] >= 0)
            port_counter_read(counters->handles[event], &after[event]);
    for (int event = 0; event < DB_COUNT_EVENTS; event++) {
        const struct db_count *before = &counters->before[event];
        struct db_counter_row *row = &rows[event];
        *row = (struct db_counter_row){.task = (uint16_t)task,
                                       .slot = (uint16_t)slot,
                                       .event = (uint16_t)event,
                                       .status = counters->status[event]};
        if (counters->handles[event] < 0) {
            row->value = row->status == DB_COUNT_FAILED ? -counters->handles[event] : 0;
            continue;
        }
        row->value = after[event].value - before->value;
        row->enabled_ns = after[event].enabled_ns - before->enabled_ns;
        row->running_ns = after[event].running_ns - before->running_ns;
        row->status = scaled(row);
    }
}

void counters_close(struct counters *counters)
{
    for (int event = 0; event < DB_COUNT_EVENTS; event++)
        if (counters->handles[event] >= 0)
            port_counter_close(counters->handles[event]);
}
