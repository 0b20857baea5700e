/*
 * deadbeat/port_core.h on FreeRTOS: tasks, notifications, and the board's clock and one-shot timer.
 * One core, or a kernel on each of several that know of one another by shared memory and an interrupt alone.
 * A tick of 1 kHz would release jobs up to a millisecond late, so a sleep ends by the interrupt of
 * a compare-match timer, as where a product needs times below a tick.
 */
#include "port_freertos.h"

#include "board.h"

#include "deadbeat/fragment.h"
#include "deadbeat/port_core.h"

#include "FreeRTOS.h"
#include "task.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

void vApplicationStackOverflowHook(TaskHandle_t task, char *name);

#define STACK_BYTES 65536
#define ALIGNMENT 4096
/* Which notification of a task. */
#define FOR_WAITING 0
#define FOR_SLEEPING 1

/* Kernel priorities: the idle task has 0, best-effort threads 1, then the bands of port_core.h. */
#define LEVEL_OTHER 1
#define LEVEL_TASK_LOW 2
#define LEVEL_CEILING (LEVEL_TASK_LOW + DB_PRIORITY_CEILING - DB_PRIORITY_TASK_LOW)
#define LEVEL_AGENT (LEVEL_CEILING + 1)
#define LEVEL_GUARDIAN (LEVEL_AGENT + 1)

_Static_assert(LEVEL_GUARDIAN < configMAX_PRIORITIES, "the kernel has a level for each band");

#define HART (BOARD_HARTS > 1 ? (int)board_hart() : 0)

freertos_start *freertos_start_elsewhere;

/* --- memory: taken once, never given back; a program runs one job ------------------------------------ */

static unsigned char *memory_next;
static size_t memory_left;

void *port_map(size_t bytes, int shared)
{
    (void)shared;
    if (memory_next == NULL)
        memory_next = board_memory(&memory_left);
    size_t whole = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (whole < bytes || whole > memory_left)
        return NULL;
    void *found = memory_next;
    memory_next += whole;
    memory_left -= whole;
    return memset(found, 0, bytes);
}

void port_unmap(void *memory, size_t bytes)
{
    (void)memory;
    (void)bytes;
}

int port_lock_memory(void)
{
    return 0;
}

/* --- time ------------------------------------------------------------------------------------------ */

struct sleeper {
    struct sleeper *next;
    int64_t at;
    TaskHandle_t task;
    UBaseType_t reason; /* FOR_SLEEPING, or FOR_WAITING no longer */
};

static struct sleeper *sleepers; /* the first to wake up first; critical section */

int64_t port_now_ns(void)
{
    return board_now_ns();
}

/* In a critical section. */
static void lie_down(struct sleeper *me)
{
    struct sleeper **place = &sleepers;
    while (*place && (*place)->at <= me->at)
        place = &(*place)->next;
    me->next = *place;
    *place = me;
    if (sleepers == me)
        board_timer_at(me->at);
}

static void get_up(const struct sleeper *me)
{
    for (struct sleeper **place = &sleepers; *place; place = &(*place)->next)
        if (*place == me) {
            *place = me->next;
            return;
        }
}

void port_sleep_until_ns(int64_t at)
{
    struct sleeper me = {.at = at, .task = xTaskGetCurrentTaskHandle(), .reason = FOR_SLEEPING};
    if (board_now_ns() >= at)
        return;
    taskENTER_CRITICAL();
    lie_down(&me);
    taskEXIT_CRITICAL();
    ulTaskNotifyTakeIndexed(FOR_SLEEPING, pdTRUE, portMAX_DELAY);
}

int port_timer_fired(void)
{
    BaseType_t turn = pdFALSE;
    int64_t now = board_now_ns();
    while (sleepers && sleepers->at <= now) {
        struct sleeper *first = sleepers;
        sleepers = first->next;
        vTaskNotifyGiveIndexedFromISR(first->task, first->reason, &turn);
    }
    board_timer_at(sleepers ? sleepers->at : INT64_MAX);
    return turn != pdFALSE;
}

/* --- threads ----------------------------------------------------------------------------------------- */

struct thread {
    StaticTask_t task;
    void *(*body)(void *);
    void *argument;
    atomic_uint life, ended; /* bodies begun, bodies ended */
    int hart;
    struct thread *next_free;
    StackType_t stack[STACK_BYTES / sizeof(StackType_t)];
};

static struct thread *free_threads;

UBaseType_t freertos_level(enum db_policy policy, int priority)
{
    if (policy == DB_POLICY_OTHER || priority < DB_PRIORITY_TASK_LOW)
        return LEVEL_OTHER;
    if (priority <= DB_PRIORITY_CEILING)
        return (UBaseType_t)(LEVEL_TASK_LOW + priority - DB_PRIORITY_TASK_LOW);
    return priority <= DB_PRIORITY_AGENT ? LEVEL_AGENT : LEVEL_GUARDIAN;
}

static int priority_of(UBaseType_t level)
{
    if (level <= LEVEL_OTHER)
        return 0;
    if (level <= LEVEL_CEILING)
        return (int)(level - LEVEL_TASK_LOW) + DB_PRIORITY_TASK_LOW;
    return level == LEVEL_AGENT ? DB_PRIORITY_AGENT : DB_PRIORITY_GUARDIAN;
}

/* A thread is never deleted: it waits for another body. */
static void thread_main(void *argument)
{
    struct thread *thread = argument;
    for (unsigned life = 1;; life++) {
        thread->body(thread->argument);
        atomic_store(&thread->ended, life);
        port_wake(&thread->ended);
        while (atomic_load(&thread->life) == life)
            port_wait(&thread->life, life, -1);
    }
}

int port_start_thread(void *(*body)(void *), void *argument, enum db_policy policy, int priority, int cpu,
                      uint64_t *thread)
{
    UBaseType_t level = freertos_level(policy, priority);
    struct thread *it = free_threads;
    if (policy == DB_POLICY_RR) /* time slices are off */
        return EINVAL;
    if (cpu != HART)
        return freertos_start_elsewhere
                   ? freertos_start_elsewhere(body, argument, policy, priority, cpu, thread)
                   : EINVAL;
    if (it)
        free_threads = it->next_free;
    else if ((it = port_map(sizeof *it, 0)) == NULL)
        return ENOMEM;
    it->hart = HART;
    it->body = body;
    it->argument = argument;
    *thread = (uint64_t)(uintptr_t)it;
    if (atomic_fetch_add(&it->life, 1) == 0) {
        xTaskCreateStatic(thread_main, "deadbeat", STACK_BYTES / sizeof(StackType_t), it, level, it->stack,
                          &it->task);
    } else {
        vTaskPrioritySet((TaskHandle_t)&it->task, level);
        port_wake(&it->life);
    }
    return 0;
}

int port_join_thread(uint64_t thread)
{
    struct thread *it = (struct thread *)(uintptr_t)thread;
    unsigned life = atomic_load(&it->life), ended;
    while ((ended = atomic_load(&it->ended)) != life)
        port_wait(&it->ended, ended, -1);
    if (it->hart == HART) {
        it->next_free = free_threads;
        free_threads = it;
    }
    return 0;
}

int port_get_placement(int *policy, int *priority, int *cpu)
{
    UBaseType_t level = uxTaskPriorityGet(NULL);
    *policy = level == LEVEL_OTHER ? DB_POLICY_OTHER : DB_POLICY_FIFO;
    *priority = priority_of(level);
    *cpu = HART;
    return 0;
}

int port_usable_cpus(int *cpus, int most)
{
    for (int cpu = 0; cpu < BOARD_HARTS && cpu < most; cpu++)
        cpus[cpu] = cpu;
    return BOARD_HARTS;
}

/* --- waiting for one another ---------------------------------------------------------------------------- */

struct waiter {
    struct waiter *next;
    const atomic_uint *word;
    unsigned seen;
    TaskHandle_t task;
    UBaseType_t level;
};

static struct waiter *waiters; /* the highest priority first; critical section */

/* On which words the tasks of each hart wait, a bit of a hash each. */
static inline atomic_ullong *watched(int hart)
{
    return (atomic_ullong *)board_shared() + hart;
}

static unsigned long long bit_of(const atomic_uint *word)
{
    return 1ull << ((uintptr_t)word / sizeof *word % 61);
}

/* In a critical section, whenever a waiter has come or gone. */
static void watch(void)
{
    unsigned long long bits = 0;
    if (BOARD_HARTS == 1)
        return;
    for (const struct waiter *each = waiters; each; each = each->next)
        bits |= bit_of(each->word);
    atomic_store(watched(HART), bits);
}

/* A kernel knows its own tasks only: the others look for themselves. */
static void poke_others(const atomic_uint *word)
{
    for (int hart = 0; hart < BOARD_HARTS; hart++)
        if (hart != HART && (atomic_load(watched(hart)) & bit_of(word)))
            board_poke((unsigned)hart);
}

/* In the interrupt: wakes all whose word has changed. */
int port_poked(void)
{
    BaseType_t turn = pdFALSE;
    for (struct waiter **place = &waiters; *place;) {
        struct waiter *each = *place;
        if (atomic_load(each->word) == each->seen) {
            place = &each->next;
            continue;
        }
        *place = each->next;
        vTaskNotifyGiveIndexedFromISR(each->task, FOR_WAITING, &turn);
    }
    watch();
    return turn != pdFALSE;
}

/* Whether nobody had woken it: it was still on the list. */
static bool forget(const struct waiter *me)
{
    for (struct waiter **place = &waiters; *place; place = &(*place)->next)
        if (*place == me) {
            *place = me->next;
            watch();
            return true;
        }
    return false;
}

int port_wait(atomic_uint *word, unsigned seen, int64_t timeout_ns)
{
    TaskHandle_t self = xTaskGetCurrentTaskHandle();
    struct waiter me = {.word = word, .seen = seen, .task = self, .level = uxTaskPriorityGet(NULL)};
    struct sleeper bound = {.task = self, .reason = FOR_WAITING};
    bool woken = true;
    if (timeout_ns >= 0)
        bound.at = board_now_ns() + timeout_ns;
    taskENTER_CRITICAL();
    if (atomic_load(word) != seen) {
        taskEXIT_CRITICAL();
        return 0;
    }
    struct waiter **place = &waiters;
    while (*place && (*place)->level >= me.level)
        place = &(*place)->next;
    me.next = *place;
    *place = &me;
    watch();
    if (BOARD_HARTS > 1 && atomic_load(word) != seen) { /* by another hart, which did not see us wait */
        forget(&me);
        taskEXIT_CRITICAL();
        return 0;
    }
    if (timeout_ns >= 0)
        lie_down(&bound);
    taskEXIT_CRITICAL();
    ulTaskNotifyTakeIndexed(FOR_WAITING, pdTRUE, portMAX_DELAY);
    if (timeout_ns >= 0) {
        taskENTER_CRITICAL();
        woken = !forget(&me);
        get_up(&bound);
        taskEXIT_CRITICAL();
        ulTaskNotifyTakeIndexed(FOR_WAITING, pdTRUE, 0); /* both may have happened */
    }
    return woken ? 0 : ETIMEDOUT;
}

/* The first who waits on the word, taken off the list; NULL: nobody does. */
static TaskHandle_t next_waiter(const atomic_uint *word)
{
    TaskHandle_t found = NULL;
    taskENTER_CRITICAL();
    for (struct waiter **place = &waiters; *place; place = &(*place)->next)
        if ((*place)->word == word) {
            found = (*place)->task;
            *place = (*place)->next;
            watch();
            break;
        }
    taskEXIT_CRITICAL();
    return found;
}

void port_wake_one(atomic_uint *word)
{
    TaskHandle_t task = next_waiter(word);
    if (task)
        xTaskNotifyGiveIndexed(task, FOR_WAITING);
    if (BOARD_HARTS > 1 && !task)
        poke_others(word);
}

/* Nobody runs before all are woken: who waits again must not be met twice. */
void port_wake(atomic_uint *word)
{
    TaskHandle_t task;
    vTaskSuspendAll();
    while ((task = next_waiter(word)) != NULL)
        xTaskNotifyGiveIndexed(task, FOR_WAITING);
    xTaskResumeAll();
    if (BOARD_HARTS > 1)
        poke_others(word);
}

/* --- the end, and what is handed over ---------------------------------------------------------------------
 */

_Noreturn void port_exit(int status)
{
    board_exit(status);
}

int port_put(const void *data, size_t bytes)
{
    return board_put(data, bytes);
}

void port_say(const char *text)
{
    board_say(text);
    board_say("\n");
}

const char *port_error_text(int error)
{
    switch (error) {
    case ENOMEM:
        return "not enough memory";
    case ENOSPC:
        return "the results do not fit into their memory";
    case ENOSYS:
        return "this system has no such thing";
    default:
        return "an error of <errno.h>";
    }
}

/* --- from the board to the core
 * ------------------------------------------------------------------------------ */

void vApplicationStackOverflowHook(TaskHandle_t task, char *name)
{
    (void)task;
    (void)name;
    board_fail("a task has used more stack than there is");
}
