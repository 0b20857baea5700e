/* One of each, by two threads; every count is exact, and who waits for whom. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER, inherits;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static sem_t ready, asked;
static pthread_barrier_t both;
static mtx_t modern;
static cnd_t changed;
static int turn;
static pid_t tid;

/* The other thread waits. */
static void until_asleep(void)
{
    char path[64], text[256], *state;
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", __atomic_load_n(&tid, __ATOMIC_ACQUIRE));
    do {
        FILE *file = fopen(path, "r");
        text[file == NULL ? 0 : fread(text, 1, sizeof text - 1, file)] = '\0';
        if (file != NULL)
            fclose(file);
    } while ((state = strrchr(text, ')')) == NULL || state[2] != 'S');
}

static void *other(void *unused)
{
    __atomic_store_n(&tid, gettid(), __ATOMIC_RELEASE);
    sem_wait(&asked);
    for (int at = 0; at < 100; at++) {
        pthread_mutex_lock(&inherits);
        pthread_mutex_unlock(&inherits);
    }
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&plain);
    turn = 1;
    pthread_cond_signal(&turned);
    pthread_mutex_unlock(&plain);
    mtx_lock(&modern);
    cnd_broadcast(&changed);
    mtx_unlock(&modern);
    return unused;
}

static void alone(void)
{
    for (int at = 0; at < 7; at++) {
        pthread_rwlock_rdlock(&table);
        pthread_rwlock_unlock(&table);
        pthread_rwlock_wrlock(&table);
        pthread_rwlock_unlock(&table);
        pthread_spin_lock(&spin);
        pthread_spin_unlock(&spin);
        pthread_mutex_trylock(&plain);
        errno = 77;
        if (pthread_mutex_trylock(&plain) != EBUSY || errno != 77)
            exit(2);
        pthread_mutex_unlock(&plain);
        sem_post(&ready);
        sem_wait(&ready);
        if (sem_trywait(&ready) == 0 || errno != EAGAIN)
            exit(3);
    }
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    struct rlimit little = {1 << 20, 1 << 20};
    pthread_mutexattr_t attributes;
    pthread_t thread;
    if (strcmp(how, "locked") == 0 &&
        (setrlimit(RLIMIT_MEMLOCK, &little) || mlockall(MCL_CURRENT | MCL_FUTURE)))
        return 4;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(&inherits, &attributes);
    pthread_spin_init(&spin, 0);
    sem_init(&ready, 0, 0);
    sem_init(&asked, 0, 0);
    pthread_barrier_init(&both, NULL, 2);
    mtx_init(&modern, mtx_plain);
    cnd_init(&changed);
    alone();
    if (strcmp(how, "fork") == 0) {
        if (fork() == 0) {
            alone();
            exit(0);
        }
        wait(NULL);
    }
    pthread_mutex_lock(&plain);
    mtx_lock(&modern);
    pthread_create(&thread, NULL, other, NULL);
    pthread_mutex_lock(&inherits);
    while (__atomic_load_n(&tid, __ATOMIC_ACQUIRE) == 0)
        ;
    until_asleep();
    sem_post(&asked);
    until_asleep();
    pthread_mutex_unlock(&inherits);
    pthread_barrier_wait(&both);
    while (!turn)
        pthread_cond_wait(&turned, &plain);
    pthread_mutex_unlock(&plain);
    cnd_wait(&changed, &modern);
    mtx_unlock(&modern);
    if (strcmp(how, "many") == 0)
        for (int at = 0; at < 300; at++)
            alone();
    if (strcmp(how, "killed") == 0)
        kill(getpid(), 9);
    pthread_join(thread, NULL);
    return 0;
}
