/* A loop that is made late now and then, for long: for_days SECONDS APART_MS PERIOD_US LOOPS SEED. A line for
 * each injection: instant (CLOCK_MONOTONIC, ns), cause. Loops `control`, `second`, ... work 100 us of their
 * period on CPU 0; the first of them is hit: work, fault, preempted (by `hog`), lock (held by `logger`),
 * waited (it sleeps in a job). APART_MS 0: none. At its end each loop says "jobs NAME COUNT", and CPU time of
 * a job, ns.
 */
#include "../truth.h"

static pthread_mutex_t map_lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int64_t hold_ns, hog_until, stop_ns;
static volatile int extra_of; /* 1 work, 2 fault, 3 waited */
static int64_t period_ns, length;

static void at_priority(const char *name, int priority, int cpu)
{
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(cpu, &cpus);
    pthread_setname_np(pthread_self(), name);
    sched_setaffinity(0, sizeof cpus, &cpus);
    sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){priority});
}

static void sleep_until(int64_t ns)
{
    struct timespec at = spec_of(ns);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
        ;
}

static void spin_for(int64_t ns)
{
    for (int64_t end = now_ns() + ns; now_ns() < end;)
        spin(100);
}

static void fault_for(int64_t ns)
{
    size_t bytes = 256u << 20;
    int64_t end = now_ns() + ns;
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (size_t at = 0; memory != MAP_FAILED && at < bytes && now_ns() < end; at += 4096)
        memory[at] = 1;
    munmap(memory, bytes);
}

static void *loop(void *number)
{
    static const char *const names[] = {"control", "second", "third", "fourth", "fifth"};
    int n = (int)(intptr_t)number;
    int64_t jobs = 0, took = 0, shown = 0, before = 0;
    at_priority(names[n], 80 - n, 0);
    for (int64_t at = stop_ns - length; at < stop_ns; at += period_ns) {
        sleep_until(at + n * 150 * US);
        spin(4000);
        if (n == 0) {
            int what = extra_of;
            extra_of = 0;
            pthread_mutex_lock(&map_lock);
            pthread_mutex_unlock(&map_lock);
            if (what == 1)
                spin_for(2 * period_ns);
            else if (what == 2)
                fault_for(2 * period_ns);
            else if (what == 3)
                usleep((useconds_t)(2 * period_ns / 1000));
        }
        spin(40000);
        int64_t end = now_ns(), response = end - at - n * 150 * US;
        if (response < period_ns / 2) { /* the others are late */
            took += response;
            jobs++;
        }
        if (n == 0 && end / (1000 * MS) != shown && jobs > before + 100) {
            printf("mean %lld %lld\n", (long long)end, (long long)(took / (jobs - before)));
            shown = end / (1000 * MS);
            before = jobs;
            took = 0;
        }
    }
    return NULL;
}

static void *hog(void *unused)
{
    at_priority("hog", 90, 0);
    while (now_ns() < stop_ns) {
        sleep_until(hog_until ? hog_until - 3 * period_ns : now_ns() + MS);
        if (hog_until)
            spin_for(3 * period_ns);
        hog_until = 0;
    }
    return unused;
}

static void *logger(void *unused)
{
    at_priority("logger", 10, 1);
    while (now_ns() < stop_ns) {
        usleep(1000);
        if (hold_ns) {
            pthread_mutex_lock(&map_lock);
            spin_for(hold_ns);
            pthread_mutex_unlock(&map_lock);
            hold_ns = 0;
        }
    }
    return unused;
}

int main(int argc, char **argv)
{
    static const char *const causes[] = {"work", "fault", "waited", "preempted", "lock"};
    pthread_t threads[TASKS];
    int64_t apart = (argc > 2 ? atoll(argv[2]) : 1000) * MS;
    int loops = argc > 4 ? atoi(argv[4]) : 1, count = 0;
    length = (argc > 1 ? atoll(argv[1]) : 60) * 1000 * MS;
    period_ns = (argc > 3 ? atoll(argv[3]) : 1000) * US;
    srand(argc > 5 ? (unsigned)atoi(argv[5]) : 1);
    setvbuf(stdout, NULL, _IOLBF, 0);
    stop_ns = now_ns() + length;
    for (int n = 0; n < loops; n++)
        pthread_create(&threads[count++], NULL, loop, (void *)(intptr_t)n);
    if (apart) {
        pthread_create(&threads[count++], NULL, hog, NULL);
        pthread_create(&threads[count++], NULL, logger, NULL);
    }
    for (int64_t at = now_ns() + 2 * apart; apart && at < stop_ns - apart;
         at += apart / 2 + rand() % 1000 * (apart / 1000)) {
        sleep_until(at);
        int which = rand() % 5;
        printf("%lld %s\n", (long long)now_ns(), causes[which]);
        if (which < 3)
            extra_of = which + 1;
        else if (which == 3)
            hog_until = now_ns() + 3 * period_ns;
        else
            hold_ns = 3 * period_ns;
    }
    for (int n = 0; n < count; n++)
        pthread_join(threads[n], NULL);
    return 0;
}
