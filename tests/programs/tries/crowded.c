/* Both on CPU 0, while CPU 1 is idle: `left` (every 10 ms, 3 ms) and `right` (every 20 ms, 9 ms) of one
 * priority. Apart, none waits. */
#include "../truth.h"

static void *loop(const char *name, int64_t period, int64_t ns, int64_t offset)
{
    be_task(name, "periodic", period, 50, 0);
    for (int64_t at = start_ns + offset; at < start_ns + length_ns; at += period) {
        until(at);
        work(ns);
    }
    return NULL;
}

static void *left(void *unused)
{
    (void)unused;
    return loop("left", 10 * MS, 3 * MS, MS);
}

static void *right(void *unused)
{
    (void)unused;
    return loop("right", 20 * MS, 9 * MS, 0);
}

MAIN(left, right)
