/* Three stages joined by condition variables: sensor -> filter -> actuator. */
#include "truth.h"

struct link {
    const char *name;
    pthread_mutex_t lock;
    pthread_cond_t filled;
    long items;
    int last;
};

static struct link raw = {"raw", PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0};
static struct link smooth = {"smooth", PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0};

static void put(struct task *task, struct link *link, int last)
{
    pthread_mutex_lock(&link->lock);
    struct section *at = section_begins(task, link->name, __LINE__ - 1);
    link->items++;
    link->last = last;
    pthread_cond_signal(&link->filled);
    section_ends(at);
    pthread_mutex_unlock(&link->lock);
}

/* Ends the job where it waits, and begins the next one: true where there is one. */
static int take(struct task *task, struct link *link, int first)
{
    pthread_mutex_lock(&link->lock);
    struct section *at = section_begins(task, link->name, __LINE__ - 1);
    if (!first)
        job_ends(task);
    while (!link->items) {
        section_ends(at);
        pthread_cond_wait(&link->filled, &link->lock);
        at = section_begins(task, link->name, __LINE__ - 1);
    }
    job_begins(task);
    link->items--;
    int more = !link->last || link->items;
    section_ends(at);
    pthread_mutex_unlock(&link->lock);
    return more;
}

static void *sensor(void *unused)
{
    struct task *task = be_task("sensor", "periodic", 10 * MS, 60, 0);
    int64_t release = start_ns;
    for (; release < start_ns + length_ns; release += task->period) {
        until(release);
        job_begins(task);
        work(500 * US);
        put(task, &raw, 0);
        job_ends(task);
    }
    until(release);
    put(task, &raw, 1);
    task_ends(task);
    return unused;
}

static void *filter(void *unused)
{
    struct task *task = be_task("filter", "chained", 0, 55, 1);
    for (int first = 1; take(task, &raw, first); first = 0) {
        work(1500 * US);
        put(task, &smooth, 0);
    }
    put(task, &smooth, 1);
    task_ends(task);
    return unused;
}

static void *actuator(void *unused)
{
    struct task *task = be_task("actuator", "chained", 0, 50, 0);
    for (int first = 1; take(task, &smooth, first); first = 0)
        work(300 * US);
    task_ends(task);
    return unused;
}

int main(int argc, char **argv)
{
    setup(argc, argv);
    linked("sensor", "filter");
    linked("filter", "actuator");
    run_threads(3, (void *(*const[])(void *)){sensor, filter, actuator});
    return print_truth();
}
