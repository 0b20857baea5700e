/*
 * The first process of a virtual machine: mounts what programs expect, carries out the job that lies
 * beside it, hands over what was collected and turns the machine off.
 *
 * A job is lines of words, each at most once separated by a blank; an unknown one ends the job:
 *   read PREFIX PATTERN         collect the files that match, under PREFIX and their path
 *   log NAME                    collect the kernel's messages
 *   keep PATH                   collect a file under its path
 *   sleep NS
 *   write PATH WORD             into a file of the system
 *   run NAME NS INPUT WORDS...  a program to its end, for NS at most; INPUT: its standard input, or -
 *   start NAME WORDS...         a program in the background, until the job ends
 *   stop NAME                   ends it and all it started
 *   turn NS                     a timer of the machine goes off so often: an emulator whose processors take
 *                               turns until the next timer gives them short ones
 *   become PROGRAM              the first process is PROGRAM from now on, a child does the rest of the job
 * NAME.out, NAME.err and NAME.status (that of a shell) are collected where a program ends.
 */
#include "guest.h"

#include "deadbeat/port.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define JOB "/job"
#define WORDS_MOST 96
#define PROGRAMS_MOST 32
#define NAME_BYTES 64
#define LOG_BYTES (1 << 20)
/* Between being asked to end and being ended. */
#define GRACE_NS INT64_C(2000000000)
#define SECOND_NS INT64_C(1000000000)
/* The high-precision timer of a PC: its registers, in words of 64 bits (IA-PC HPET Specification 1.0a). */
#define HPET 0xfed00000
#define HPET_BYTES 4096
#define FS_IN_NS UINT64_C(1000000)
enum { CAPABILITIES = 0, ENABLE = 2, COUNTER = 30, TIMER_MODE = 32, TIMER_AT = 33 };
/* Periodic, its period is set, and it interrupts on pin 20, which is masked. */
#define PERIODIC ((20 << 9) | (1 << 6) | (1 << 3) | (1 << 2))

/* A program that was started in the background. */
struct program {
    char name[NAME_BYTES];
    pid_t pid;
};

struct job {
    int collected;
    struct program programs[PROGRAMS_MOST];
    size_t count;
};

/* --- the machine ---------------------------------------------------------------------------------- */

static void mount_all(void)
{
    static const struct {
        const char *kind, *at, *options;
    } mounts[] = {
        {"proc", "/proc", NULL},
        {"sysfs", "/sys", NULL},
        {"devtmpfs", "/dev", NULL},
        {"tmpfs", "/tmp", "mode=1777"},
        {"tmpfs", "/dev/shm", "mode=1777"},
        {"mqueue", "/dev/mqueue", NULL},
        {"debugfs", "/sys/kernel/debug", NULL},
        {"tracefs", "/sys/kernel/tracing", NULL},
    };
    for (size_t i = 0; i < sizeof mounts / sizeof *mounts; i++) {
        mkdir(mounts[i].at, 0755);
        (void)mount(mounts[i].kind, mounts[i].at, mounts[i].kind, 0, mounts[i].options);
    }
}

static _Noreturn void turn_off(void)
{
    fflush(stdout);
    sync();
    reboot(RB_POWER_OFF);
    reboot(RB_AUTOBOOT); /* a machine that cannot be turned off: the host ends it */
    for (;;)
        pause();
}

/* --- programs -------------------------------------------------------------------------------------- */

static void output_path(char *path, size_t bytes, const char *name, const char *what)
{
    snprintf(path, bytes, "/tmp/%.*s.%s", NAME_BYTES, name, what);
}

static void redirect(const char *path, int flags, int to)
{
    int fd = open(path, flags, 0600);
    if (fd >= 0 && fd != to)
        dup2(fd, to);
}

static pid_t begin(const char *name, const char *input, char **words)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    char path[NAME_BYTES + 16];
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setpgid(0, 0);
    redirect(strcmp(input, "-") == 0 ? "/dev/null" : input, O_RDONLY, 0);
    output_path(path, sizeof path, name, "out");
    redirect(path, O_WRONLY | O_CREAT | O_TRUNC, 1);
    output_path(path, sizeof path, name, "err");
    redirect(path, O_WRONLY | O_CREAT | O_TRUNC, 2);
    execv(words[0], words);
    fprintf(stderr, "%s: %s\n", words[0], strerror(errno));
    _exit(127);
}

static void collect_output(const struct job *job, const char *name, int status)
{
    char path[NAME_BYTES + 16], label[NAME_BYTES + 16], text[16];
    static const char *const kinds[] = {"out", "err"};
    for (size_t i = 0; i < 2; i++) {
        output_path(path, sizeof path, name, kinds[i]);
        collect_file(job->collected, "", path);
        unlink(path);
    }
    snprintf(label, sizeof label, "/tmp/%.*s.status", NAME_BYTES, name);
    int bytes = snprintf(text, sizeof text, "%d\n", status);
    collect_bytes(job->collected, label, text, (size_t)bytes);
}

/* Waits for one child, reaping all others; its status as of a shell, or -1 when the time is over. */
static int await(pid_t wanted, int64_t until_ns)
{
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    for (;;) {
        int status;
        for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
            if (pid == wanted)
                return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        int64_t left = until_ns - port_now_ns();
        if (left <= 0)
            return -1;
        struct timespec t = {.tv_sec = left / SECOND_NS, .tv_nsec = left % SECOND_NS};
        sigtimedwait(&child, NULL, &t);
    }
}

static int end(pid_t pid)
{
    kill(-pid, SIGTERM);
    int status = await(pid, port_now_ns() + GRACE_NS);
    kill(-pid, SIGKILL);
    return status < 0 ? await(pid, port_now_ns() + GRACE_NS) : status;
}

/* --- the lines of a job ---------------------------------------------------------------------------- */

static void do_read(const struct job *job, const char *prefix, const char *pattern)
{
    glob_t found;
    if (glob(pattern, 0, NULL, &found) != 0)
        return;
    for (size_t i = 0; i < found.gl_pathc; i++)
        collect_file(job->collected, prefix, found.gl_pathv[i]);
    globfree(&found);
}

static void do_log(const struct job *job, const char *name)
{
    char *text = malloc(LOG_BYTES);
    int bytes = text ? klogctl(3, text, LOG_BYTES) : -1; /* SYSLOG_ACTION_READ_ALL */
    if (bytes >= 0)
        collect_bytes(job->collected, name, text, (size_t)bytes);
    free(text);
}

static bool do_write(const char *path, const char *word)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool done = fd >= 0 && write(fd, word, strlen(word)) >= 0;
    close(fd);
    return done;
}

static bool do_turn(uint64_t ns)
{
    int fd = open("/dev/mem", O_RDWR | O_SYNC | O_CLOEXEC);
    void *at = mmap(NULL, HPET_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, HPET);
    close(fd);
    if (at == MAP_FAILED)
        return false;
    volatile uint64_t *timer = at;
    uint64_t tick_fs = timer[CAPABILITIES] >> 32;
    if (tick_fs == 0 || ns * FS_IN_NS < tick_fs)
        return false;
    uint64_t period = ns * FS_IN_NS / tick_fs;
    timer[ENABLE] = 0;
    timer[TIMER_MODE] = PERIODIC;
    timer[TIMER_AT] = timer[COUNTER] + period;
    timer[TIMER_AT] = period;
    timer[ENABLE] = 1;
    return true;
}

static bool do_run(const struct job *job, char **words)
{
    pid_t pid = begin(words[1], words[3], words + 4);
    int status = pid < 0 ? 126 : await(pid, port_now_ns() + strtoll(words[2], NULL, 10));
    if (status < 0) {
        printf("deadbeat: %s did not end in time\n", words[1]);
        end(pid);
        status = 124; /* as timeout(1) */
    }
    kill(-pid, SIGKILL);
    collect_output(job, words[1], status);
    return true;
}

static bool do_start(struct job *job, char **words)
{
    if (job->count == PROGRAMS_MOST)
        return false;
    struct program *program = &job->programs[job->count++];
    snprintf(program->name, sizeof program->name, "%s", words[1]);
    program->pid = begin(words[1], "-", words + 2);
    return program->pid > 0;
}

static bool do_stop(struct job *job, const char *name)
{
    for (size_t i = 0; i < job->count; i++) {
        struct program program = job->programs[i];
        if (strcmp(program.name, name) != 0)
            continue;
        job->programs[i] = job->programs[--job->count];
        collect_output(job, name, end(program.pid));
        return true;
    }
    return false;
}

/* Only a child returns: true once the program runs. */
static bool do_become(char *path)
{
    char *words[] = {path, NULL}, failed;
    int ends[2];
    sigset_t none;
    pid_t child = pipe2(ends, O_CLOEXEC) == 0 ? fork() : -1;
    if (child < 0)
        return false;
    if (child == 0) {
        close(ends[1]);
        return read(ends[0], &failed, 1) == 0; /* closed by exec */
    }
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execv(path, words);
    if (write(ends[1], "", 1) < 0)
        printf("deadbeat: %s did not start\n", path);
    for (;;)
        pause();
}

/* False: it is no line of a job, or could not be done. */
static bool do_line(struct job *job, char **words, int count)
{
    const char *verb = words[0];
    if (strcmp(verb, "read") == 0 && count == 3)
        return do_read(job, words[1], words[2]), true;
    if (strcmp(verb, "log") == 0 && count == 2)
        return do_log(job, words[1]), true;
    if (strcmp(verb, "keep") == 0 && count == 2)
        return collect_file(job->collected, "", words[1]);
    if (strcmp(verb, "sleep") == 0 && count == 2)
        return port_sleep_until_ns(port_now_ns() + strtoll(words[1], NULL, 10)), true;
    if (strcmp(verb, "write") == 0 && count == 3)
        return do_write(words[1], words[2]);
    if (strcmp(verb, "run") == 0 && count > 4)
        return do_run(job, words);
    if (strcmp(verb, "start") == 0 && count > 2)
        return do_start(job, words);
    if (strcmp(verb, "stop") == 0 && count == 2)
        return do_stop(job, words[1]);
    if (strcmp(verb, "turn") == 0 && count == 2)
        return do_turn(strtoull(words[1], NULL, 10));
    if (strcmp(verb, "become") == 0 && count == 2)
        return do_become(words[1]);
    return false;
}

static int split(char *line, char **words)
{
    int count = 0;
    char *rest;
    for (char *word = strtok_r(line, " \n", &rest); word && count < WORDS_MOST;
         word = strtok_r(NULL, " \n", &rest))
        words[count++] = word;
    words[count] = NULL;
    return count;
}

static void carry_out(struct job *job)
{
    static char line[16384];
    char *words[WORDS_MOST + 1], said[80];
    FILE *file = fopen(JOB, "re");
    if (!file)
        printf("deadbeat: there is no job\n");
    for (int number = 1; file && fgets(line, sizeof line, file); number++) {
        snprintf(said, sizeof said, "%.70s", line);
        int count = split(line, words);
        if (count > 0 && !do_line(job, words, count)) {
            int bytes = snprintf(line, sizeof line, "line %d of the job failed: %s\n", number, said);
            printf("deadbeat: %s", line);
            collect_bytes(job->collected, "/failed", line, (size_t)bytes);
            break;
        }
    }
    while (job->count)
        do_stop(job, job->programs[0].name);
    if (file)
        fclose(file);
}

int port_first_process(void)
{
    struct job job = {0};
    sigset_t child;
    if (getpid() != 1) {
        fprintf(stderr, "init is for the first process of a virtual machine\n");
        return EPERM;
    }
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, NULL);
    mount_all();
    redirect("/dev/console", O_RDWR, 0);
    redirect("/dev/console", O_RDWR, 1);
    redirect("/dev/console", O_RDWR, 2);
    job.collected = collect_open();
    carry_out(&job);
    hand_over(job.collected);
    turn_off();
}
