/* What FreeRTOSConfig.h asks of a board. */
#ifndef DEADBEAT_BOARD_CONFIG_H
#define DEADBEAT_BOARD_CONFIG_H

#define BOARD_HARTS 1
#define PORT_OPTIMISED_TASK_SELECTION 0
#define PORT_MINIMAL_STACK_WORDS 2048
#define PORT_USE_TICK_HOOK 1 /* ends sleeps: board.c */
#define PORT_USE_IDLE_HOOK 1 /* gives the processor back */

#endif
