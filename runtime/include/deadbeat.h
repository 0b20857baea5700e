/* Marks release and finish of the jobs of a periodic program, for: deadbeat run -- PROGRAM
 *
 *     #include <deadbeat.h>                               // cc -I"$(deadbeat run --header)" ...
 *     DEADBEAT_TASK(0, "control", 1000000, 1000000);      // once: period and deadline in ns
 *     for (;;) {
 *         ... sleep until release_ns ...
 *         DEADBEAT_RELEASE(0, release_ns);                // on CLOCK_MONOTONIC; 0: it is released now
 *         ... the job ...
 *         DEADBEAT_FINISH(0);
 *     }
 *
 * Tasks are numbered from 0 to 62; a task belongs to one thread. Not started by deadbeat, a mark is
 * one comparison with a null pointer. A mark allocates nothing and makes no system call of its own.
 * The file is read by deadbeat.machine.targets.marks, which says what it holds; -std=gnu11 or later, or C++,
 * with gcc or clang.
 */
#ifndef DEADBEAT_H
#define DEADBEAT_H

#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#ifndef __cplusplus
extern int sched_getcpu(void); /* <sched.h> tells with _GNU_SOURCE alone */
#endif

#define DEADBEAT_TASKS 63
#define DEADBEAT_MAGIC UINT64_C(0x31534b52414d4244) /* "DBMARKS1" */

struct deadbeat_task {
    uint64_t period_ns, deadline_ns; /* 0: not told */
    char name[47];
    uint8_t known;
};

struct deadbeat_record {
    uint64_t release_ns, start_ns;
    uint32_t task, cpu;
    uint64_t finish_ns; /* written last: 0 is a record that was not finished */
};

struct deadbeat_marks {
    uint64_t magic, capacity, next; /* next: records asked for, also those beyond capacity */
    uint64_t reserved[5];
    struct deadbeat_task task[DEADBEAT_TASKS];
    struct deadbeat_record record[];
};

/* Weak: all files of a program share them. */
__attribute__((weak)) struct deadbeat_marks *deadbeat_marks_;
__attribute__((weak)) uint64_t deadbeat_release_[DEADBEAT_TASKS], deadbeat_start_[DEADBEAT_TASKS];

__attribute__((constructor, unused)) static void deadbeat_open_(void)
{
    const char *path = getenv("DEADBEAT_MARKS");
    struct stat status;
    if (path == NULL || deadbeat_marks_ != NULL)
        return;
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0)
        return;
    if (fstat(file, &status) == 0 && (size_t)status.st_size >= sizeof(struct deadbeat_marks)) {
        size_t bytes = (size_t)status.st_size;
        void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, 0);
        struct deadbeat_marks *marks = (struct deadbeat_marks *)at;
        if (at != MAP_FAILED && marks->magic == DEADBEAT_MAGIC &&
            marks->capacity <= (bytes - sizeof *marks) / sizeof marks->record[0])
            deadbeat_marks_ = marks;
        else if (at != MAP_FAILED)
            munmap(at, bytes);
    }
    close(file);
}

static inline uint64_t deadbeat_now_(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static inline void DEADBEAT_TASK(unsigned id, const char *name, uint64_t period_ns, uint64_t deadline_ns)
{
    if (deadbeat_marks_ == NULL || id >= DEADBEAT_TASKS)
        return;
    struct deadbeat_task *task = &deadbeat_marks_->task[id];
    task->period_ns = period_ns;
    task->deadline_ns = deadline_ns;
    strncpy(task->name, name, sizeof task->name - 1);
    task->known = 1;
}

static inline void DEADBEAT_RELEASE(unsigned id, uint64_t release_ns)
{
    if (deadbeat_marks_ == NULL || id >= DEADBEAT_TASKS)
        return;
    deadbeat_start_[id] = deadbeat_now_();
    deadbeat_release_[id] = release_ns ? release_ns : deadbeat_start_[id];
}

static inline void DEADBEAT_FINISH(unsigned id)
{
    struct deadbeat_marks *marks = deadbeat_marks_;
    if (marks == NULL || id >= DEADBEAT_TASKS || deadbeat_start_[id] == 0)
        return;
    uint64_t finish_ns = deadbeat_now_();
    uint64_t place = __atomic_fetch_add(&marks->next, 1, __ATOMIC_RELAXED);
    if (place < marks->capacity) {
        struct deadbeat_record *record = &marks->record[place];
        record->release_ns = deadbeat_release_[id];
        record->start_ns = deadbeat_start_[id];
        record->task = id;
        record->cpu = (uint32_t)sched_getcpu();
        __atomic_store_n(&record->finish_ns, finish_ns, __ATOMIC_RELEASE);
    }
    deadbeat_start_[id] = 0;
}

#endif
