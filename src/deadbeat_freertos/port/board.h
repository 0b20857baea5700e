/*
 * What a board supplies to the port: a clock, a timer, a way out for results. One folder each, chosen
 * at build time: riscv64_virt (QEMU's machine of that name) and hosted (FreeRTOS's own POSIX port).
 */
#ifndef DEADBEAT_BOARD_H
#define DEADBEAT_BOARD_H

#include <stddef.h>
#include <stdint.h>

/* Monotonic time, ns. */
int64_t board_now_ns(void);
/* The timer's interrupt comes at this time or as soon after it as it can; INT64_MAX: not at all.
 * Called with interrupts disabled. */
void board_timer_at(int64_t at_ns);
/* The board calls this in that interrupt, which may come early. Returns whether to switch tasks. */
int port_timer_fired(void);
/* The processor that runs this, 0 to BOARD_HARTS - 1. */
unsigned board_hart(void);
/* Memory of BOARD_SHARED bytes that all processors see, zeroed. */
#define BOARD_SHARED 4096
void *board_shared(void);
/* Interrupts another processor, which calls port_poked(). */
void board_poke(unsigned hart);
/* Returns whether to switch tasks. */
int port_poked(void);
/* Words for people, errors only: slow. */
void board_say(const char *text);
/* Ends the program: 0 when its job was done. */
_Noreturn void board_exit(int status);
/* Says what went wrong, to people and to who started the program, and ends it. */
_Noreturn void board_fail(const char *what);
/* Memory for all the program needs; its size in *bytes. */
void *board_memory(size_t *bytes);
/* Appends to the result; 0 or an errno. */
int board_put(const void *data, size_t bytes);
/* The job: words that each end with a NUL; their total length in *bytes. */
const char *board_job(size_t *bytes);

#endif
