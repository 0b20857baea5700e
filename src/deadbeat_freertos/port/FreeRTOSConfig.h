/* The kernel's configuration: what a small real-time product would choose, the same for every board. */
#ifndef FREERTOS_CONFIG_H
#define FREERTOS_CONFIG_H

#include "board_config.h"

#define configUSE_PREEMPTION 1
#define configUSE_TIME_SLICING 0 /* as SCHED_FIFO: equals do not take the processor from one another */
#define configUSE_PORT_OPTIMISED_TASK_SELECTION PORT_OPTIMISED_TASK_SELECTION
#define configMAX_PRIORITIES 32 /* board.h maps the bands of port_core.h to them */
#define configCPU_CLOCK_HZ 0    /* the kernel's own timer is not used */
#define configTICK_RATE_HZ 1000 /* times finer than a tick come from the board's one-shot timer */
#define configTICK_TYPE_WIDTH_IN_BITS TICK_TYPE_WIDTH_64_BITS
#define configMINIMAL_STACK_SIZE PORT_MINIMAL_STACK_WORDS
#define configMAX_TASK_NAME_LEN 16
#define configIDLE_SHOULD_YIELD 1

#define configSUPPORT_STATIC_ALLOCATION 1
#define configSUPPORT_DYNAMIC_ALLOCATION 0
#define configKERNEL_PROVIDED_STATIC_MEMORY 1

#define configUSE_TASK_NOTIFICATIONS 1
#define configTASK_NOTIFICATION_ARRAY_ENTRIES 2 /* port.c: to wait, to sleep */
#define configUSE_MUTEXES 1
#define configUSE_RECURSIVE_MUTEXES 0
#define configUSE_COUNTING_SEMAPHORES 1
#define configUSE_TIMERS 0
#define configUSE_IDLE_HOOK PORT_USE_IDLE_HOOK
#define configUSE_TICK_HOOK PORT_USE_TICK_HOOK
#define configCHECK_FOR_STACK_OVERFLOW 2

#define configMTIME_BASE_ADDRESS 0 /* the board has the timer: ticks and one-shots share it */
#define configMTIMECMP_BASE_ADDRESS 0
#define configISR_STACK_SIZE_WORDS 1024

#define INCLUDE_vTaskPrioritySet 1
#define INCLUDE_uxTaskPriorityGet 1
#define INCLUDE_vTaskSuspend 1 /* waits without end */
#define INCLUDE_xTaskGetCurrentTaskHandle 1
#define INCLUDE_xTaskGetSchedulerState 1

#ifndef __ASSEMBLER__
_Noreturn void board_fail(const char *what);
#define configASSERT(condition)                                                                              \
    do {                                                                                                     \
        if (!(condition))                                                                                    \
            board_fail("an assertion of the kernel: " #condition);                                           \
    } while (0)
#endif

#endif
