/* A loop of 100 Hz that reads its own CPU time until it has had 3 ms, each 100th time 12 ms: reads_its_time
 * SECONDS. */
#include "../truth.h"

int main(int argc, char **argv)
{
    int jobs = 100 * (argc > 1 ? atoi(argv[1]) : 10);
    int64_t at = now_ns();
    pthread_setname_np(pthread_self(), "poller");
    sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){50});
    for (int job = 0; job < jobs; job++) {
        struct timespec next = spec_of(at += 10 * MS), cpu;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
        int64_t begin = 0, had = 0;
        do {
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
            had = cpu.tv_sec * 1000 * MS + cpu.tv_nsec;
            begin = begin ? begin : had;
        } while (had < begin + (job % 100 == 99 ? 12 : 3) * MS);
    }
    return 0;
}
