/* Two locks without an init call, on CPU 1: `control` (FIFO 80, every 10 ms) waits for `relay` (FIFO 20),
 * which waits for `logger` (FIFO 10); `middle` (FIFO 40) keeps it from its CPU. Inheritance goes through
 * both. */
#include "../truth.h"

static pthread_mutex_t map_lock = PTHREAD_MUTEX_INITIALIZER, log_lock = PTHREAD_MUTEX_INITIALIZER;
#define EVERY (200 * MS)

static void *control(void *unused)
{
    be_task("control", "periodic", 10 * MS, 80, 1);
    for (int64_t at = start_ns; at < start_ns + length_ns; at += 10 * MS) {
        until(at);
        work(MS);
        pthread_mutex_lock(&map_lock);
        work(200 * US);
        pthread_mutex_unlock(&map_lock);
    }
    return unused;
}

static void *relay(void *unused)
{
    be_task("relay", "periodic", EVERY, 20, 1);
    for (int64_t at = start_ns + 92 * MS; at < start_ns + length_ns; at += EVERY) {
        until(at);
        pthread_mutex_lock(&map_lock);
        pthread_mutex_lock(&log_lock);
        work(500 * US);
        pthread_mutex_unlock(&log_lock);
        pthread_mutex_unlock(&map_lock);
    }
    return unused;
}

static void *middle(void *unused)
{
    be_task("middle", "periodic", EVERY, 40, 1);
    for (int64_t at = start_ns + 93 * MS; at < start_ns + length_ns; at += EVERY) {
        until(at);
        work(25 * MS);
    }
    return unused;
}

static void *logger(void *unused)
{
    be_task("logger", "periodic", EVERY, 10, 1);
    for (int64_t at = start_ns + 91 * MS; at < start_ns + length_ns; at += EVERY) {
        until(at);
        pthread_mutex_lock(&log_lock);
        work(4 * MS);
        pthread_mutex_unlock(&log_lock);
    }
    return unused;
}

MAIN(control, relay, middle, logger)
