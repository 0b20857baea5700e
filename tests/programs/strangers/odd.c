/* A thread name that would end a line and forge the next; no file may grow; its exit status is 7. */
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *none)
{
    prctl(PR_SET_NAME, "\nname 7 x");
    for (int job = 0; job < 100; job++) {
        usleep(5000);
        for (int n = 0; n < 20; n++) {
            pthread_mutex_lock(&lock);
            pthread_mutex_unlock(&lock);
        }
    }
    return none;
}

int main(void)
{
    struct rlimit none = {0, 0};
    pthread_t thread;
    setrlimit(RLIMIT_FSIZE, &none);
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    return 7;
}
