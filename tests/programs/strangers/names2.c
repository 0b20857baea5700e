/* The other lock of this name. */
#include <pthread.h>

void estimate(void);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void estimate(void)
{
    pthread_mutex_lock(&lock);
    for (volatile int n = 0; n < 20000; n++)
        ;
    pthread_mutex_unlock(&lock);
}
