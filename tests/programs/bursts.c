/* A producer posts a semaphore three times in a row; each take is a job, though two of three need no wait. */
#include "truth.h"

#include <semaphore.h>

static sem_t items;
static int over;

static void *producer(void *unused)
{
    struct task *task = be_task("producer", "periodic", 20 * MS, 60, 0);
    int64_t release = start_ns;
    for (; release < start_ns + length_ns; release += task->period) {
        until(release);
        job_begins(task);
        work(400 * US);
        for (int i = 0; i < 3; i++)
            sem_post(&items);
        job_ends(task);
    }
    until(release);
    __atomic_store_n(&over, 1, __ATOMIC_SEQ_CST);
    sem_post(&items);
    task_ends(task);
    return unused;
}

static void *consumer(void *unused)
{
    struct task *task = be_task("consumer", "bursty", 0, 50, 0);
    task->also = "chained";
    for (;;) {
        while (sem_wait(&items))
            ;
        if (__atomic_load_n(&over, __ATOMIC_SEQ_CST))
            break;
        job_begins(task);
        work(800 * US);
        job_ends(task);
    }
    task_ends(task);
    return unused;
}

int main(int argc, char **argv)
{
    setup(argc, argv);
    sem_init(&items, 0, 0);
    linked("producer", "consumer");
    run_threads(2, (void *(*const[])(void *)){producer, consumer});
    return print_truth();
}
