/* What FreeRTOSConfig.h asks of a board. */
#ifndef DEADBEAT_BOARD_CONFIG_H
#define DEADBEAT_BOARD_CONFIG_H

#define PORT_OPTIMISED_TASK_SELECTION 1
#define PORT_MINIMAL_STACK_WORDS 512
#define PORT_USE_TICK_HOOK 0 /* board.c has the timer's interrupt */
#define PORT_USE_IDLE_HOOK 1 /* waits for an interrupt instead of spinning */

#endif
