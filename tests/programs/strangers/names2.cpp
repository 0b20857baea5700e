/* The other lock of this name. */
#include <pthread.h>
#include <unistd.h>

void estimate();

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void estimate()
{
    pthread_mutex_lock(&lock);
    usleep(20);
    pthread_mutex_unlock(&lock);
}
