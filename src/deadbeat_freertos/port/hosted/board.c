/*
 * FreeRTOS's own POSIX port: each task is a thread of Linux, of which one is let run; an interrupt is the
 * signal SIGALRM. The port's tick comes from a sleeping thread and drifts; sleeps end by a timer of Linux,
 * whose signal goes the same way. Words of the program:
 *   CPU fifo|other RESULT-FILE WORD...
 */
#include "board.h"

#include "FreeRTOS.h"
#include "task.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define MEMORY_BYTES ((size_t)1 << 30) /* room for it, that nothing takes before it is used */
#define PRIORITY 70 /* among the bands of port_core.h: below the guardian of deadbeat's other programs */
#define JOB_BYTES 65536
#define NS INT64_C(1000000000)

_Noreturn void port_main(void);
void vApplicationIdleHook(void);
void vApplicationTickHook(void);

static timer_t one_shot;
static FILE *result;
static const char *result_path;
static char part_path[4096], job[JOB_BYTES];
static size_t job_bytes;

int64_t board_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * NS + now.tv_nsec;
}

void board_timer_at(int64_t at_ns)
{
    struct itimerspec when = {.it_value = {.tv_sec = 0}};
    if (at_ns != INT64_MAX) {
        when.it_value.tv_sec = at_ns / NS;
        when.it_value.tv_nsec = at_ns % NS;
    }
    timer_settime(one_shot, TIMER_ABSTIME, &when, NULL);
}

/* In the handler of SIGALRM, whoever sent it. */
void vApplicationTickHook(void)
{
    (void)port_timer_fired(); /* a switch that is due is remembered by the kernel */
}

void vApplicationIdleHook(void)
{
    pause();
}

void board_say(const char *text)
{
    (void)!write(STDERR_FILENO, text, strlen(text));
}

_Noreturn void board_exit(int status)
{
    if (fclose(result) != 0 || (status == 0 && rename(part_path, result_path) != 0)) {
        perror(result_path);
        status = 1;
    }
    if (status != 0)
        remove(part_path);
    _exit(status);
}

_Noreturn void board_fail(const char *what)
{
    board_say(what);
    board_say("\n");
    if (part_path[0])
        remove(part_path);
    _exit(1);
}

void *board_memory(size_t *bytes)
{
    void *memory =
        mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    *bytes = memory == MAP_FAILED ? 0 : MEMORY_BYTES;
    return memory;
}

int board_put(const void *data, size_t bytes)
{
    errno = 0;
    return fwrite(data, bytes, 1, result) == 1 ? 0 : errno ? errno : EIO;
}

const char *board_job(size_t *bytes)
{
    *bytes = job_bytes;
    return job;
}

/* Threads made later inherit all of it. */
static void take_place(const char *cpu, const char *policy)
{
    char *end;
    long number = strtol(cpu, &end, 10);
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    if (*end || end == cpu || number < 0 || number >= CPU_SETSIZE)
        board_fail("usage: CPU fifo|other RESULT-FILE WORD...");
    CPU_SET(number, &cpus);
    if (sched_setaffinity(0, sizeof cpus, &cpus) != 0)
        board_fail("the CPU cannot be used");
    struct sched_param priority = {.sched_priority = PRIORITY};
    if (strcmp(policy, "fifo") != 0)
        return;
    if (sched_setscheduler(0, SCHED_FIFO, &priority) != 0)
        board_fail("SCHED_FIFO was refused");
    if (mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) != 0)
        board_fail("memory cannot be locked");
}

int main(int count, char **words)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
    if (count < 5)
        board_fail("usage: CPU fifo|other RESULT-FILE WORD...");
    for (int i = 4; i < count; i++) {
        size_t bytes = strlen(words[i]) + 1;
        if (bytes > sizeof job - job_bytes)
            board_fail("the job has too many words");
        memcpy(job + job_bytes, words[i], bytes);
        job_bytes += bytes;
    }
    result_path = words[3];
    snprintf(part_path, sizeof part_path, "%s.part", result_path);
    result = fopen(part_path, "wb");
    if (!result || timer_create(CLOCK_MONOTONIC, &event, &one_shot) != 0) {
        perror(result_path);
        return 1;
    }
    take_place(words[1], words[2]);
    port_main();
}
