/* What two instances do not have room for: `more SECONDS blind SET`. The slowest thread misses first, by
 * response-time analysis: by rate on one CPU (rates), with a lock of `control` and `logger` (shared), and
 * over two CPUs, where `reader` on CPU 0 releases `worker` on CPU 1, beside `log` (stages). */
#include "../truth.h"

struct row {
    const char *name;
    int64_t period, ns, section;
    int fifo, cpu;
    int *wait, *post;
};

static pthread_mutex_t map_lock;
static int ends[2], claimed;
static struct row sets[][4] = {
    {{"fast", 10 * MS, 1500 * US, 0, 60, 1, 0, 0},
     {"middle", 14 * MS, 2400 * US, 0, 50, 1, 0, 0},
     {"slow", 35 * MS, 6 * MS, 0, 40, 1, 0, 0}},
    {{"control", 10 * MS, 800 * US, 400 * US, 60, 1, 0, 0},
     {"filter", 14 * MS, 2800 * US, 0, 50, 1, 0, 0},
     {"logger", 70 * MS, 12 * MS, 1 * MS, 40, 1, 0, 0}},
    {{"reader", 10 * MS, 1 * MS, 0, 60, 0, 0, &ends[1]},
     {"worker", 10 * MS, 2200 * US, 0, 50, 1, &ends[0], 0},
     {"log", 35 * MS, 9 * MS, 0, 40, 1, 0, 0}},
};
static struct row *rows;

static void *loop(void *unused)
{
    struct row *row = &rows[__atomic_fetch_add(&claimed, 1, __ATOMIC_SEQ_CST)];
    be_task(row->name, "periodic", row->period, row->fifo, row->cpu);
    for (int64_t at = start_ns; at < start_ns + length_ns; at += row->period) {
        char one = 0;
        if (row->wait ? read(*row->wait, &one, 1) != 1 : (until(at), 0))
            break;
        work(row->ns);
        if (row->section) {
            pthread_mutex_lock(&map_lock);
            work(row->section);
            pthread_mutex_unlock(&map_lock);
        }
        if (row->post && write(*row->post, &one, 1) != 1)
            break;
    }
    return unused;
}

int main(int argc, char **argv)
{
    const char *name = argc > 3 ? argv[3] : "rates";
    setup(argc, argv);
    inheriting(&map_lock);
    if (pipe(ends))
        return 1;
    rows = sets[!strcmp(name, "shared") ? 1 : !strcmp(name, "stages") ? 2 : 0];
    run_threads(3, (void *(*const[])(void *)){loop, loop, loop});
    return 0;
}
