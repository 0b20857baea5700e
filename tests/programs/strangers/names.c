/* Threads without names of their own; locks on the heap, and two of one name, in this file and names2.c. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

void estimate(void);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t *made;

static void hold(pthread_mutex_t *which)
{
    pthread_mutex_lock(which);
    for (volatile int n = 0; n < 20000; n++)
        ;
    pthread_mutex_unlock(which);
}

static void *vision(void *none)
{
    for (int job = 0; job < 60; job++) {
        usleep(10000);
        hold(&lock);
        estimate();
    }
    return none;
}

static void *control(void *none)
{
    for (int job = 0; job < 120; job++) {
        usleep(5000);
        hold(made);
    }
    return none;
}

int main(void)
{
    pthread_t threads[3];
    made = malloc((unsigned)getpid() % 7 * 64 + sizeof *made);
    pthread_mutex_init(made, NULL);
    for (int n = 0; n < 3; n++)
        pthread_create(&threads[n], NULL, n == 1 ? vision : control, NULL);
    for (int n = 0; n < 3; n++)
        pthread_join(threads[n], NULL);
    return 0;
}
