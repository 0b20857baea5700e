/* Background loads on Linux: timers, switches, and what all of them need of the system. */
#include "linux_load.h"

#include "deadbeat/port.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

const struct db_load_kind port_load_kinds[] = {
    {"hdd", "--hdd-bytes", INT64_C(1) << 30, 4096, INT64_C(1) << 40, load_hdd},
    {"iomix", "--iomix-bytes", INT64_C(1) << 30, 4096, INT64_C(1) << 40, load_iomix},
    {"timer", "--timer-freq", 1000000, 1, 1000000000, load_timer},
    {"timerfd", NULL, 0, 0, 0, load_timerfd},
    {"itimer", NULL, 0, 0, 0, load_itimer},
    {"switch", NULL, 0, 0, 0, load_switch},
    {"yield", NULL, 0, 0, 0, load_yield},
};
const uint32_t port_load_kind_count = sizeof port_load_kinds / sizeof *port_load_kinds;

int64_t port_cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static size_t kib_of(const char *path)
{
    size_t kib = 0;
    FILE *file = fopen(path, "r");
    if (file && fscanf(file, "%zuK", &kib) != 1)
        kib = 0;
    if (file)
        fclose(file);
    return kib;
}

size_t port_cache_bytes(void)
{
    size_t largest = 0;
    for (int i = 0; i < 8; i++) {
        char path[64];
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
        size_t kib = kib_of(path);
        largest = kib > largest ? kib : largest;
    }
    return largest * 1024;
}

size_t port_free_bytes(void)
{
    long pages = sysconf(_SC_AVPHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);
    uint64_t all = pages > 0 && bytes > 0 ? (uint64_t)pages * (uint64_t)bytes : 0;
    return all < SIZE_MAX ? (size_t)all : SIZE_MAX;
}

void port_give_way(void)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    ssize_t done = fd < 0 ? 0 : write(fd, "1000", 4);
    (void)done; /* the system then chooses by size */
    close(fd);
}

/* --- timers ----------------------------------------------------------------------------------------------
 */

#define TIMERS 256 /* of a timerfd worker */

static volatile sig_atomic_t expired;

static void on_timer(int signal_number)
{
    (void)signal_number;
    expired++;
}

static int on_signal(int number)
{
    struct sigaction action = {.sa_handler = on_timer};
    sigemptyset(&action.sa_mask);
    return sigaction(number, &action, NULL) == 0 ? 0 : errno;
}

/* So many since it was last asked: the handler only adds. */
static uint64_t fresh(void)
{
    static unsigned seen;
    unsigned now = (unsigned)expired, count = now - seen;
    seen = now;
    return count;
}

/* A POSIX timer whose every expiry is a signal that ends a sleep. */
int load_timer(struct db_load *load)
{
    int64_t ns = 1000000000 / load->amount;
    struct itimerspec every = {.it_value = {ns / 1000000000, ns % 1000000000},
                               .it_interval = {ns / 1000000000, ns % 1000000000}};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN};
    struct timespec nap = {.tv_nsec = 10000000};
    timer_t timer;
    if (on_signal(SIGRTMIN) != 0 || timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 ||
        timer_settime(timer, 0, &every, NULL) != 0)
        return db_load_fails(load, "setting its timer", errno);
    do
        nanosleep(&nap, NULL);
    while (db_load_count(load, fresh()));
    return 0;
}

/* Timers read as files, each of which has always expired when it is read and is set anew by that. */
int load_timerfd(struct db_load *load)
{
    struct itimerspec every = {.it_value = {0, 1000}, .it_interval = {0, 1000}};
    struct pollfd timers[TIMERS];
    uint64_t times, count;
    for (int i = 0; i < TIMERS; i++) {
        timers[i] = (struct pollfd){.fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK),
                                    .events = POLLIN};
        if (timers[i].fd < 0 || timerfd_settime(timers[i].fd, 0, &every, NULL) != 0)
            return db_load_fails(load, "making 256 timers", errno);
    }
    do {
        count = 0;
        if (poll(timers, TIMERS, -1) < 0)
            return db_load_fails(load, "waiting for its timers", errno);
        for (int i = 0; i < TIMERS; i++)
            if (timers[i].revents)
                count += read(timers[i].fd, &times, sizeof times) == (ssize_t)sizeof times;
    } while (db_load_count(load, count));
    return 0;
}

/* A timer of CPU time, asked for again and again: it expires at ticks of the system. */
int load_itimer(struct db_load *load)
{
    struct itimerval every = {.it_value = {0, 1}, .it_interval = {0, 1}}, left;
    if (on_signal(SIGPROF) != 0 || setitimer(ITIMER_PROF, &every, NULL) != 0)
        return db_load_fails(load, "setting its timer", errno);
    do
        getitimer(ITIMER_PROF, &left);
    while (db_load_count(load, fresh()));
    return 0;
}

/* --- scheduler ---------------------------------------------------------------------------------------------
 */

static bool pass(int from, int to)
{
    char byte = 0;
    return (from < 0 || read(from, &byte, 1) == 1) && (to < 0 || write(to, &byte, 1) == 1);
}

/* A byte goes to a partner and comes back: two switches. */
int load_switch(struct db_load *load)
{
    int there[2], back[2];
    if (pipe2(there, O_CLOEXEC) != 0 || pipe2(back, O_CLOEXEC) != 0)
        return db_load_fails(load, "making its pipes", errno);
    int partner = port_fork();
    if (partner == 0)
        while (pass(there[0], back[1]))
            ;
    if (partner <= 0)
        return db_load_fails(load, "starting its partner", errno);
    close(there[0]);
    close(back[1]);
    do
        if (!pass(-1, there[1]) || !pass(back[0], -1))
            return db_load_fails(load, "waiting for its partner", ECHILD);
    while (db_load_count(load, 1));
    port_kill(partner);
    port_reap(partner);
    return 0;
}

/* Two processes a CPU that do nothing but let others go first. */
int load_yield(struct db_load *load)
{
    int partner = port_fork();
    while (partner == 0)
        sched_yield();
    if (partner < 0)
        return db_load_fails(load, "starting its partner", errno);
    do
        sched_yield();
    while (db_load_count(load, 1));
    port_kill(partner);
    port_reap(partner);
    return 0;
}
