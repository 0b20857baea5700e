/* What the files of the FreeRTOS port share. */
#ifndef DEADBEAT_PORT_FREERTOS_H
#define DEADBEAT_PORT_FREERTOS_H

#include "deadbeat/port_core.h"

#include "FreeRTOS.h"

/* port_start_thread() for a processor that is not the caller's; NULL: there is none. */
typedef int freertos_start(void *(*body)(void *), void *argument, enum db_policy policy, int priority,
                           int cpu, uint64_t *thread);
extern freertos_start *freertos_start_elsewhere;

/* The kernel's priority for one of a band of port_core.h. */
UBaseType_t freertos_level(enum db_policy policy, int priority);

#endif
