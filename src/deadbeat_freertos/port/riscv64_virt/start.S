/* From reset in machine mode to board_main(): stack, constants in registers, zeroed data, traps. With more
 * harts than one there is a copy of the program for each, in which hart_start is hartN_start. */
#include "board_config.h"

#define CLINT 0x2000000
#define MTIMECMP 0x2004000
#define MTIME 0x200bff8

    .section .text.start
    .globl _start, hart_start
_start:
    csrr t0, mhartid
    beqz t0, hart_start
#if BOARD_HARTS == 1
    j stand
#else
    li t1, BOARD_HARTS
    bgeu t0, t1, interrupt_turns
    li t1, 8                /* until hart 0 has zeroed the data and says so */
    csrw mie, t1
1:  wfi
    csrr t1, mip
    andi t1, t1, 8
    beqz t1, 1b
    li t1, CLINT
    slli t2, t0, 2
    add t1, t1, t2
    sw zero, 0(t1)
    csrw mie, zero
    la t1, starts
    slli t2, t0, 3
    add t1, t1, t2
    ld t1, 0(t1)
    jr t1

    .section .rodata
    .weak hart1_start, hart2_start, hart3_start
    .balign 8
starts:
    .dword 0, hart1_start, hart2_start, hart3_start
    .section .text.start

/* An emulator that lets harts take turns ends them no later than the next timer's interrupt. Two further harts
 * do nothing but cause some, in turn: a timer that is set while another comes sooner takes nobody's turn away. */
interrupt_turns:
    li t1, MTIMECMP
    slli t2, t0, 3
    add t1, t1, t2
    li t2, MTIME
    li t3, 0x80
    csrw mie, t3
    li t4, BOARD_TURN
    la a0, __shared
    li a1, BOARD_IDLE
    add a0, a0, a1
    li a1, BOARD_ALL_IDLE
1:  lw a2, 0(a0)
    bne a2, a1, 2f
    li t3, -1               /* all harts wait: so does this one, until board.c sets its timer */
    sd t3, 0(t1)
    lw a2, 0(a0)
    bne a2, a1, 2f
    wfi
    j 1b
2:  ld t3, 0(t2)
    divu t3, t3, t4
    addi t3, t3, 1
    xor t5, t3, t0          /* even multiples are of one, odd ones of the other */
    andi t5, t5, 1
    add t3, t3, t5
    mul t3, t3, t4
    sd t3, 0(t1)
    wfi
    j 1b
#endif

hart_start:
    .option push
    .option norelax
    la gp, __global_pointer$
    .option pop
    la tp, __tls_begin      /* one for all tasks: the C library's errno, which is not read */
    csrr t0, mhartid
    li t1, BOARD_STACK
    mul t1, t0, t1
    la sp, __stack_top
    sub sp, sp, t1
    li t1, 0x2000           /* mstatus.FS: Initial */
    csrs mstatus, t1
    la t1, freertos_risc_v_trap_handler
    csrw mtvec, t1
    bnez t0, 2f
    la t0, __bss_begin
    la t1, __bss_end
1:  bgeu t0, t1, 2f
    sd zero, 0(t0)
    addi t0, t0, 8
    j 1b
2:  call board_main
stand:
    wfi
    j stand
