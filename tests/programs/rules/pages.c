/* Three page faults in each job: in the heap, in the stack, and in a file. Prints how many jobs there were.
 * cc -O2 -pthread pages.c -o pages && ./pages JOBS */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { PERIOD_NS = 2000000, PAGE = 4096, SEC = 1000000000, BLOCK = 16 * PAGE };

static int jobs;
static char *heap, *file;
static struct timespec next;

/* Each job is one deeper. */
static int loop(int job)
{
    volatile char page[PAGE]; /* written before and after the call */
    next.tv_nsec += PERIOD_NS;
    next.tv_sec += next.tv_nsec / SEC;
    next.tv_nsec %= SEC;
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
    page[0] = 1;
    heap[job * PAGE] = 1;
    file[job * PAGE] = 1;
    volatile int deeper = job < jobs ? loop(job + 1) : 0;
    return page[0] + deeper;
}

static void *begin(void *argument)
{
    struct sched_param how = {50};
    pthread_setname_np(pthread_self(), "loop");
    if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &how) != 0)
        abort();
    clock_gettime(CLOCK_MONOTONIC, &next);
    loop(0);
    return argument;
}

int main(int count, char **words)
{
    pthread_t made;
    int fd = open("pages.log", O_RDWR | O_CREAT | O_TRUNC, 0600);
    jobs = count > 1 ? atoi(words[1]) : 200;
    size_t bytes = (size_t)(jobs + 1) * PAGE;
    heap = malloc(BLOCK); /* the blocks behind it are as new */
    for (size_t at = 0; at < bytes; at += BLOCK)
        if (malloc(BLOCK) == NULL)
            abort();
    if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0)
        return 1;
    file = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    if (file == MAP_FAILED || pthread_create(&made, NULL, begin, NULL) != 0)
        return 1;
    pthread_join(made, NULL);
    printf("%d jobs\n", jobs);
    return unlink("pages.log");
}
