/* Each thread does in each job one thing that may make it late one day; "clean" does none. Prints how often.
 * cc -O2 -pthread faults.c -o faults && ./faults JOBS */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { PERIOD_NS = 5000000, PAGE = 4096, PAGES = 16, SEC = 1000000000 };

static int jobs;
static volatile unsigned work;
static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER, inherits;
static sem_t given;
static char *fresh;
static int out, from, to, timer;

static void later(struct timespec *at, long ns)
{
    at->tv_nsec += ns;
    at->tv_sec += at->tv_nsec / SEC;
    at->tv_nsec %= SEC;
}

static void take(pthread_mutex_t *lock)
{
    pthread_mutex_lock(lock);
    work++;
    pthread_mutex_unlock(lock);
}

static void *nothing(void *argument)
{
    return argument;
}

static void clean(int job)
{
    (void)job;
    take(&inherits);
}

static void relative(int job)
{
    struct timespec for_ns = {0, 100000};
    (void)job;
    nanosleep(&for_ns, NULL);
}

static void fault(int job)
{
    for (int page = 0; page < PAGES; page++)
        fresh[((size_t)job * PAGES + page) * PAGE] = 1;
}

static void wait_timer(int job)
{
    uint64_t count;
    (void)job;
    if (read(timer, &count, sizeof count) < 0)
        abort();
}

static void woken(int job)
{
    (void)job;
    sem_wait(&given);
}

static void lock(int job)
{
    (void)job;
    take(&plain);
}

static void memory(int job)
{
    (void)job;
    munmap(mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0), PAGE);
}

static void file(int job)
{
    if (write(out, &job, sizeof job) < 0)
        abort();
}

static void makes(int job)
{
    struct sched_param ordinary = {0};
    pthread_t made;
    pthread_attr_t attr;
    (void)job;
    pthread_attr_init(&attr);
    pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&attr, SCHED_OTHER);
    pthread_attr_setschedparam(&attr, &ordinary);
    pthread_create(&made, &attr, nothing, NULL);
    pthread_join(made, NULL);
}

static void receive(int job)
{
    (void)job;
    if (recv(from, &job, sizeof job, 0) < 0)
        abort();
}

static void once(int job)
{
    if (job == jobs * 2 / 3)
        memory(job);
}

static void early(int job)
{
    if (job < jobs / 20) {
        memory(job);
        take(&plain);
    }
}

/* Of what the others wait for. */
static void serve(int job)
{
    take(&plain);
    take(&inherits);
    sem_post(&given);
    if (send(to, &job, sizeof job, 0) < 0)
        abort();
}

static const struct thread {
    const char *name;
    void (*act)(int);
    int priority; /* 0: an ordinary one */
    clockid_t clock;
    bool waits; /* in its act, not until an instant */
} threads[] = {
    {"clean", clean, 60, CLOCK_MONOTONIC, false},     {"relative", relative, 59, CLOCK_MONOTONIC, false},
    {"wall", clean, 58, CLOCK_REALTIME, false},       {"fault", fault, 57, CLOCK_MONOTONIC, false},
    {"timer", wait_timer, 56, CLOCK_MONOTONIC, true}, {"woken", woken, 55, CLOCK_MONOTONIC, true},
    {"lock", lock, 54, CLOCK_MONOTONIC, false},       {"memory", memory, 53, CLOCK_MONOTONIC, false},
    {"file", file, 52, CLOCK_MONOTONIC, false},       {"makes", makes, 51, CLOCK_MONOTONIC, false},
    {"receive", receive, 50, CLOCK_MONOTONIC, true},  {"once", once, 49, CLOCK_MONOTONIC, false},
    {"early", early, 48, CLOCK_MONOTONIC, false},     {"equal", clean, 47, CLOCK_MONOTONIC, false},
    {"second", clean, 47, CLOCK_MONOTONIC, false},    {"server", serve, 0, CLOCK_MONOTONIC, false},
};

static void *loop(void *argument)
{
    const struct thread *mine = argument;
    volatile char stack[32 * PAGE];
    struct timespec next;
    for (size_t at = 0; at < sizeof stack; at += PAGE)
        stack[at] = 0;
    pthread_setname_np(pthread_self(), mine->name);
    clock_gettime(mine->clock, &next);
    for (int job = 0; job < jobs; job++) {
        if (!mine->waits) {
            later(&next, PERIOD_NS);
            clock_nanosleep(mine->clock, TIMER_ABSTIME, &next, NULL);
        }
        mine->act(job);
        for (unsigned i = 0; i < 10000; i++)
            work += i;
    }
    later(&next, PERIOD_NS);
    clock_nanosleep(mine->clock, TIMER_ABSTIME, &next, NULL); /* the last job ends here */
    return NULL;
}

static void begin(pthread_t *made, const struct thread *thread, int cpu)
{
    struct sched_param how = {thread->priority};
    cpu_set_t cpus;
    pthread_attr_t attr;
    CPU_ZERO(&cpus);
    CPU_SET(cpu, &cpus);
    pthread_attr_init(&attr);
    pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&attr, thread->priority ? SCHED_FIFO : SCHED_OTHER);
    pthread_attr_setschedparam(&attr, &how);
    pthread_attr_setaffinity_np(&attr, sizeof cpus, &cpus);
    if (pthread_create(made, &attr, loop, (void *)thread) != 0)
        abort();
}

int main(int count, char **words)
{
    enum { COUNT = sizeof threads / sizeof *threads };
    pthread_t made[COUNT];
    pthread_mutexattr_t inherit;
    struct itimerspec every = {{0, PERIOD_NS}, {0, PERIOD_NS}};
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof here;
    size_t bytes;
    jobs = count > 1 ? atoi(words[1]) : 300;
    bytes = (size_t)jobs * PAGES * PAGE;
    pthread_mutexattr_init(&inherit);
    pthread_mutexattr_setprotocol(&inherit, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(&inherits, &inherit);
    sem_init(&given, 0, 0);
    timer = timerfd_create(CLOCK_MONOTONIC, 0);
    timerfd_settime(timer, 0, &every, NULL);
    out = open("faults.log", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    from = socket(AF_INET, SOCK_DGRAM, 0);
    to = socket(AF_INET, SOCK_DGRAM, 0);
    if (bind(from, (struct sockaddr *)&here, size) != 0 ||
        getsockname(from, (struct sockaddr *)&here, &size) != 0 ||
        connect(to, (struct sockaddr *)&here, size) != 0 || mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
        return 1;
    fresh = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (fresh == MAP_FAILED || munlock(fresh, bytes) != 0 || madvise(fresh, bytes, MADV_DONTNEED) != 0 ||
        madvise(fresh, bytes, MADV_NOHUGEPAGE) != 0)
        return 1;
    for (int i = 0; i < COUNT; i++)
        begin(&made[i], &threads[i], i < COUNT - 3 ? 0 : 1);
    for (int i = 0; i < COUNT; i++)
        pthread_join(made[i], NULL);
    for (int i = 0; i < COUNT; i++)
        printf("%s: %d jobs\n", threads[i].name, jobs);
    return unlink("faults.log");
}
