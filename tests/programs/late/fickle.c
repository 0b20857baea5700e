/* A loop of 5 ms, and a second one, which do at each start what the first word of the file `modes` says, and
 * cross it out: ordinary, fifo, none (they do not begin), skip (each tenth release), hang or end (the first
 * one, after 100 jobs).
 */
#include "../truth.h"

static const char *mode = "ordinary";

static void *loop(void *name)
{
    struct sched_param priority = {.sched_priority = 50};
    struct timespec at;
    pthread_setname_np(pthread_self(), name);
    if (!strcmp(mode, "fifo"))
        pthread_setschedparam(pthread_self(), SCHED_FIFO, &priority);
    clock_gettime(CLOCK_MONOTONIC, &at);
    for (int job = 0; job < 400; job++) {
        at = spec_of((int64_t)at.tv_sec * 1000 * MS + at.tv_nsec + 5 * MS);
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
            ;
        spin(10000);
        if (job % 10 == 9 && !strcmp(mode, "skip"))
            at = spec_of((int64_t)at.tv_sec * 1000 * MS + at.tv_nsec + 5 * MS);
        if (job == 100 && !strcmp(name, "control") && !strcmp(mode, "hang"))
            pause();
        if (job == 100 && !strcmp(name, "control") && !strcmp(mode, "end"))
            break;
    }
    return NULL;
}

int main(void)
{
    static char words[80];
    pthread_t threads[2];
    FILE *file = fopen("modes", "r+");
    if (file && fgets(words, sizeof words, file)) {
        char *rest = strchr(words, ' ');
        mode = strtok(words, " \n");
        rewind(file);
        if (rest)
            fprintf(file, "%-70s\n", rest + 1);
        fclose(file);
    }
    if (!strcmp(mode, "none")) {
        usleep(300000);
        return 0;
    }
    pthread_create(&threads[0], NULL, loop, "control");
    pthread_create(&threads[1], NULL, loop, "other");
    pthread_join(threads[1], NULL);
    return 0;
}
