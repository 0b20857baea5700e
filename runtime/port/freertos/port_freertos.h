/* What the files of the FreeRTOS port share. */
#ifndef DEADBEAT_PORT_FREERTOS_H
#define DEADBEAT_PORT_FREERTOS_H

#include "deadbeat/port_core.h"

#include "FreeRTOS.h"

/* The kernel's priority for one of a band of port_core.h. */
UBaseType_t freertos_level(enum db_policy policy, int priority);

#endif
