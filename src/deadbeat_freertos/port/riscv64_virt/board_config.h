/* What FreeRTOSConfig.h asks of a board. */
#ifndef DEADBEAT_BOARD_CONFIG_H
#define DEADBEAT_BOARD_CONFIG_H

#define PORT_OPTIMISED_TASK_SELECTION 1
#define PORT_MINIMAL_STACK_WORDS 512
#define PORT_USE_TICK_HOOK 0 /* board.c has the timer's interrupt */
#define PORT_USE_IDLE_HOOK 1 /* waits for an interrupt instead of spinning */

#ifndef BOARD_HARTS
#define BOARD_HARTS 1 /* each has a FreeRTOS of its own */
#endif
#define BOARD_HARTS_MOST 4
#define BOARD_STACK 16384
#define BOARD_IDLE 4088 /* in shared memory: a byte for each hart that has nothing to do */
#define BOARD_ALL_IDLE (0x01010101 >> (32 - 8 * BOARD_HARTS))
#ifndef BOARD_TURN
#define BOARD_TURN 20 /* steps of mtime between two interruptions of all turns */
#endif

#endif
