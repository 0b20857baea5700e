/* A loop that is late on purpose: late CAUSE EXTRA_US..., an extra for each eighth job. Prints their
 * releases.
 *
 * `control` works 2 ms of 20 on CPU 0. CAUSE: work (it works longer), fault (it writes to new memory),
 * preempted (by `hog`), lock (held by `logger` on CPU 1), throttled (SCHED_DEADLINE, its runtime of 3 ms is
 * over).
 */
#include "../truth.h"

#define PERIOD (20 * MS)
#define EVERY 8
#define PAGE 4096

static pthread_mutex_t map_lock = PTHREAD_MUTEX_INITIALIZER;
static const char *cause;
static int64_t extra[64];
static int count;

/* Instant at which what is in the way begins, in the n-th late job; a lock is taken before the job. */
static int64_t instant(int n)
{
    return start_ns + (n + 1) * EVERY * PERIOD + (strcmp(cause, "lock") ? MS : -MS);
}

static void *beside(void *unused)
{
    int hog = !strcmp(cause, "preempted");
    be_task(hog ? "hog" : "logger", "none", 0, 90, !hog);
    for (int n = 0; n < count; n++) {
        until(instant(n));
        pthread_mutex_lock(&map_lock);
        for (int64_t end = instant(n) + extra[n] + 2 * MS; !hog && now_ns() < end;)
            spin(1000);
        if (hog)
            work(extra[n]);
        pthread_mutex_unlock(&map_lock);
    }
    return unused;
}

static void fault(int64_t ns)
{
    size_t bytes = 64u << 20;
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int64_t end = now_ns() + ns;
    if (memory == MAP_FAILED)
        abort();
    for (size_t at = 0; at < bytes && now_ns() < end; at += PAGE)
        memory[at] = 1;
}

static void *control(void *unused)
{
    struct dl_attr attr = {
        .size = sizeof attr, .policy = 6, .runtime = 3 * MS, .deadline = PERIOD, .period = PERIOD};
    int throttled = !strcmp(cause, "throttled");
    be_task("control", "periodic", PERIOD, 80, 0);
    if (throttled) {
        cpu_set_t all;
        memset(&all, 0xFF, sizeof all);
        sched_setaffinity(0, sizeof all, &all);
        if (syscall(SYS_sched_setattr, 0, &attr, 0))
            abort();
    }
    for (int job = 1; job < (count + 1) * EVERY; job++) {
        int64_t more = job % EVERY ? 0 : extra[job / EVERY - 1];
        until(start_ns + job * PERIOD);
        work(500 * US);
        if (!strcmp(cause, "lock"))
            pthread_mutex_lock(&map_lock);
        if (more && !strcmp(cause, "fault"))
            fault(more);
        work(1500 * US + (strcmp(cause, "work") ? 0 : more));
        if (more && throttled)
            work(8 * MS); /* the kernel looks at its ticks, 4 ms or less apart */
        if (!strcmp(cause, "lock"))
            pthread_mutex_unlock(&map_lock);
    }
    until(start_ns + (count + 1) * EVERY * PERIOD);
    return unused;
}

int main(int argc, char **argv)
{
    char *words[] = {argv[0], "5"};
    cause = argc > 2 ? argv[1] : "work";
    for (int i = 2; i < argc && count < 64; i++)
        extra[count++] = atoll(argv[i]) * US;
    setup(2, words);
    int two = !strcmp(cause, "preempted") || !strcmp(cause, "lock");
    run_threads(1 + two, (void *(*const[])(void *)){control, beside});
    for (int n = 0; n < count; n++)
        printf("%lld\n", (long long)(start_ns + (n + 1) * EVERY * PERIOD));
    return 0;
}
