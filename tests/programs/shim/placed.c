/* Threads that wait: each line of the input does one thing, and is answered when it is done. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static pthread_barrier_t ready;

static void *waits(void *name)
{
    pthread_setname_np(pthread_self(), name);
    pthread_barrier_wait(&ready);
    while (pause() != 0)
        ;
    return NULL;
}

static pthread_t one_more(char *name)
{
    pthread_t thread;
    pthread_create(&thread, NULL, waits, name);
    pthread_barrier_wait(&ready);
    return thread;
}

int main(void)
{
    char line[32];
    pthread_barrier_init(&ready, NULL, 2);
    pthread_t alpha = one_more("alpha");
    one_more("beta");
    one_more("worker");
    one_more("worker");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin) != NULL) {
        struct sched_param seven = {7};
        pid_t child = 0;
        if (strcmp(line, "set\n") == 0) /* its own doing, after it was placed */
            pthread_setschedparam(alpha, SCHED_FIFO, &seven);
        else if (strcmp(line, "more\n") == 0)
            one_more("worker");
        else if (strcmp(line, "fork\n") == 0 && (child = fork()) == 0) {
            pthread_setname_np(pthread_self(), "child");
            one_more("beta");
            for (;;)
                pause();
        }
        printf("%d\n", child);
        fflush(stdout);
    }
    return 0;
}
