#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
// name period_ms c_us section_us prio cpu ; as written by somebody who did not think
typedef struct {
    const char *n;
    long T, c, s;
    int prio, cpu;
    int lock;
    long n_, miss, max;
} task;
static task ts[] = {{"control", 5, 1000, 100, 20, 1, 0},  {"planner", 10, 2500, 0, 35, 1, -1},
                    {"logger", 20, 4000, 2500, 30, 1, 0}, {"vision", 40, 13000, 0, 40, 1, -1},
                    {"comms", 50, 6000, 1500, 45, 1, 1},  {"health", 100, 9000, 1200, 50, 1, 1}};
#define N 6
static pthread_mutex_t m[2];
static double secs = 5;
static long t0;
static long now(int c)
{
    struct timespec t;
    clock_gettime(c, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}
static void work(long us)
{
    long a = now(3);
    while (now(3) - a < us * 1000)
        ;
}
static void *go(void *p)
{
    task *t = p;
    pthread_setname_np(pthread_self(), t->n);
    cpu_set_t s;
    CPU_ZERO(&s);
    if (t->cpu < 0) {
        CPU_SET(0, &s);
        CPU_SET(1, &s);
    } else
        CPU_SET(t->cpu, &s);
    pthread_setaffinity_np(pthread_self(), sizeof s, &s);
    struct sched_param q = {t->prio};
    sched_setscheduler(0, SCHED_FIFO, &q);
    for (long r = t0; r < t0 + (long)(secs * 1e9); r += t->T * 1000000) {
        struct timespec u = {r / 1000000000, r % 1000000000};
        clock_nanosleep(1, 1, &u, 0);
        work(t->c - t->s);
        if (t->lock >= 0) {
            pthread_mutex_lock(&m[t->lock]);
            work(t->s);
            pthread_mutex_unlock(&m[t->lock]);
        }
        long R = now(1) - r;
        t->n_++;
        if (R > t->T * 1000000)
            t->miss++;
        if (R > t->max)
            t->max = R;
    }
    return 0;
}
int main(int c, char **v)
{ // studio secs pi name=prio:cpu...
    if (c > 1)
        secs = atof(v[1]);
    int pi = c > 2 ? atoi(v[2]) : 0;
    for (int i = 3; i < c; i++) {
        char n[32];
        int p, k;
        if (sscanf(v[i], "%31[^=]=%d:%d", n, &p, &k) == 3)
            for (int j = 0; j < N; j++)
                if (!strcmp(n, ts[j].n)) {
                    ts[j].prio = p;
                    ts[j].cpu = k;
                }
    }
    mlockall(3);
    pthread_mutexattr_t a;
    pthread_mutexattr_init(&a);
    if (pi)
        pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT);
    for (int i = 0; i < 2; i++)
        pthread_mutex_init(&m[i], &a);
    t0 = now(1) + 50000000;
    pthread_t h[N];
    for (int i = 0; i < N; i++)
        pthread_create(&h[i], 0, go, &ts[i]);
    for (int i = 0; i < N; i++)
        pthread_join(h[i], 0);
    for (int i = 0; i < N; i++)
        printf("%s jobs %ld miss %ld max_ms %.2f of %ld\n", ts[i].n, ts[i].n_, ts[i].miss, ts[i].max / 1e6,
               ts[i].T);
}
