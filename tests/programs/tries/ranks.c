/* Priorities the wrong way round, on CPU 1: `report` (every 100 ms, 30 ms) goes before `fast` (10 ms, 2 ms).
 * By rate, `fast` never waits. */
#include "../truth.h"

static void *loop(const char *name, int64_t period, int64_t ns, int fifo)
{
    be_task(name, "periodic", period, fifo, 1);
    for (int64_t at = start_ns; at < start_ns + length_ns; at += period) {
        until(at);
        work(ns);
    }
    return NULL;
}

static void *fast(void *unused)
{
    (void)unused;
    return loop("fast", 10 * MS, 2 * MS, 50);
}

static void *report(void *unused)
{
    (void)unused;
    return loop("report", 100 * MS, 30 * MS, 60);
}

MAIN(fast, report)
