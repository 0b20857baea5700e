/* What the recorder does where all is its own: says what tracing costs, and watches a command. */
#include "recorder.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LOOKS = 500, LOOK_US = 2000 };

static volatile sig_atomic_t stopped_late; /* its time was over */

/* -- cost */

static uint64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* CPU time of a call that does nothing, ns: of the quickest of many short stretches, as a hypervisor
 * takes its time from some. */
static double call_ns(void)
{
    enum { STRETCHES = 50, CALLS = 400 };
    static int word;
    double least = 1e9;
    for (int stretch = 0; stretch < STRETCHES; stretch++) {
        uint64_t begin = cpu_ns();
        for (int i = 0; i < CALLS; i++)
            syscall(SYS_futex, &word, 0x81 /* FUTEX_WAKE_PRIVATE */, 0, NULL, NULL, 0);
        double each = (double)(cpu_ns() - begin) / CALLS;
        least = each < least ? each : least;
    }
    return least;
}

void set_text(const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", instance, name);
    int file = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    if (write(file, text, strlen(text)) < 0)
        return; /* this kernel lacks it: know_events says so */
    close(file);
}

void set(const char *name, unsigned value)
{
    char text[16];
    snprintf(text, sizeof text, "%u", value);
    set_text(name, text);
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* CPU time of a sleep, ns: caches are cold after it, as they are for a job. */
static int64_t sleep_ns(void)
{
    uint64_t begin = cpu_ns();
    nanosleep(&(struct timespec){0, 500000}, NULL);
    return (int64_t)(cpu_ns() - begin);
}

static char chosen[1 << 14]; /* the instance's events, a line each */

static void choose(bool on)
{
    char path[512];
    if (!on) {
        set("events/enable", 0);
        return;
    }
    snprintf(path, sizeof path, "%s/set_event", instance);
    int file = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    for (ssize_t done = 0, count; chosen[done]; done += count)
        if ((count = write(file, chosen + done, strlen(chosen + done))) <= 0)
            break;
    close(file);
}

static int64_t median(int64_t *values, size_t count)
{
    qsort(values, count, sizeof *values, by_value);
    return values[count / 2];
}

/* Says what recording adds to a sleep, ns: the ends of an interval of the median over pairs of
 * stretches (its ranks have 96 % of 12), as a sleep on an idle virtual machine varies by more than
 * that, and drifts. */
static void say_recorded(void)
{
    enum { PAIRS = 12, SLEEPS = 40, LOW = 2, HIGH = 9 };
    int64_t more[PAIRS], took[SLEEPS];
    for (int pair = 0; pair < PAIRS; pair++) {
        more[pair] = 0;
        for (int turn = 0; turn < 2; turn++) {
            bool on = (pair + turn) % 2;
            choose(on);
            for (int i = 0; i < SLEEPS; i++)
                took[i] = sleep_ns();
            more[pair] += on ? median(took, SLEEPS) : -median(took, SLEEPS);
        }
    }
    qsort(more, PAIRS, sizeof *more, by_value);
    printf(" %" PRId64 " %" PRId64 "\n", more[LOW], more[HIGH]);
}

int say_cost(void)
{
    char path[512];
    snprintf(path, sizeof path, "%s/set_event", instance);
    FILE *file = fopen(path, "re");
    if (!file)
        return 1;
    fread(chosen, 1, sizeof chosen - 1, file);
    fclose(file);
    choose(false);
    double alone = call_ns();
    choose(true);
    set("set_event_pid", 1);
    set("tracing_on", 1);
    printf("%.1f", call_ns() - alone);
    set("set_event_pid", (unsigned)getpid());
    say_recorded();
    choose(true);
    set("tracing_on", 0);
    set("trace", 0); /* nobody reads what is in it */
    return 0;
}

/* -- a command */

void set_up(const char *names)
{
    char line[512], path[560], *filter;
    FILE *file = fopen(names, "re");
    instance = "/sys/kernel/tracing";
    set("tracing_on", 0);
    set_text("trace_clock", "mono");
    set("buffer_size_kb", 4096);
    set("options/event-fork", 1);
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = 0;
        if ((filter = strchr(line, ' '))) {
            *filter++ = 0;
            snprintf(path, sizeof path, "events/%s/filter", line);
            set_text(path, filter);
        }
        snprintf(path, sizeof path, "events/%s/enable", line);
        set(path, 1);
    }
    if (file)
        fclose(file);
}

/* Begins a command that waits at its gate; our input ends with it. */
pid_t at_gate(char **command, int *gate)
{
    int alive[2], go[2];
    char word;
    if (pipe(alive) != 0 || pipe(go) != 0)
        return -1;
    pid_t pid = fork();
    if (pid == 0) {
        setpgid(0, 0);
        close(alive[0]);
        close(go[1]);
        dup2(2, 1);
        if (read(go[0], &word, 1) != 1)
            _exit(126);
        close(go[0]);
        execvp(*command, command);
        perror(*command);
        _exit(127);
    }
    dup2(alive[0], 0);
    close(alive[0]);
    close(alive[1]);
    close(go[0]);
    fcntl(go[1], F_SETFD, FD_CLOEXEC);
    *gate = go[1];
    return pid;
}

void end_command(pid_t pid)
{
    int status = 0;
    bool ended = false;
    for (int look = 0; !ended && look < LOOKS && (look == 0 || !stopped_late); look++) {
        if (look > 0) /* its files are closed before it has ended */
            usleep(LOOK_US);
        ended = waitpid(pid, &status, WNOHANG) == pid;
    }
    kill(-pid, SIGKILL);
    if (!ended)
        waitpid(pid, &status, 0);
    set("tracing_on", 0);
    say_present(false);
    if (ended)
        printf("status %d\n", WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status));
    printf("lost %zu\n", lost_count);
}

static void on_alarm(int signal_number)
{
    stopped_late = 1;
    on_term(signal_number);
}

void begin_command(pid_t pid, int gate, const char *most_ns)
{
    set("set_event_pid", (unsigned)pid);
    set("tracing_on", 1);
    uint64_t ns = strtoull(most_ns, NULL, 10);
    struct itimerval most = {.it_value = {(time_t)(ns / 1000000000), (suseconds_t)(ns / 1000 % 1000000)}};
    struct sigaction over = {.sa_handler = on_alarm};
    sigaction(SIGALRM, &over, NULL);
    setitimer(ITIMER_REAL, &most, NULL);
    stopped = write(gate, "g", 1) != 1;
    close(gate);
}
