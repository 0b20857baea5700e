/* From reset in machine mode to board_main(): stack, constants in registers, zeroed data, traps. */
    .section .text.start
    .globl _start
_start:
    csrr t0, mhartid
    bnez t0, 3f             /* one core: FreeRTOS's RISC-V port knows no more */
    .option push
    .option norelax
    la gp, __global_pointer$
    .option pop
    la tp, __tls_begin      /* one for all tasks: the C library's errno, which nobody reads */
    la sp, __stack_top
    li t0, 0x2000           /* mstatus.FS: Initial */
    csrs mstatus, t0
    la t0, freertos_risc_v_trap_handler
    csrw mtvec, t0
    la t0, __bss_begin
    la t1, __bss_end
1:  bgeu t0, t1, 2f
    sd zero, 0(t0)
    addi t0, t0, 8
    j 1b
2:  call board_main
3:  wfi
    j 3b
