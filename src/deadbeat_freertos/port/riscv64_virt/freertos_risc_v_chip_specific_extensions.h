/*
 * The kernel's RISC-V port leaves floating-point registers to this file. They are saved where the
 * task has written any since it was switched in (mstatus.FS is Dirty), as later kernels do it.
 */
#ifndef FREERTOS_RISC_V_EXTENSIONS_H
#define FREERTOS_RISC_V_EXTENSIONS_H

#define portasmHAS_MTIME 0                /* board.c shares the timer between ticks and one-shots */
#define portasmADDITIONAL_CONTEXT_SIZE 33 /* 32 registers and fcsr */
#define FRAME_MSTATUS (portasmADDITIONAL_CONTEXT_SIZE + 30) /* portMSTATUS_OFFSET, defined too late */

/* clang-format off */
/* The frame keeps a gap of one word at its foot for mepc, as the kernel's own extensions do. */
.macro portasmSAVE_ADDITIONAL_REGISTERS
    addi sp, sp, -(portasmADDITIONAL_CONTEXT_SIZE * portWORD_SIZE)
    csrr t0, mstatus
    srli t0, t0, 13
    andi t0, t0, 3
    li t1, 3
    bne t0, t1, 9f
    .irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
    fsd f\n, (1 + \n) * 8(sp)
    .endr
    frcsr t0
    sd t0, 33 * 8(sp)
9:
.endm

/* The task's own mstatus lies in its frame, above what is restored here. */
.macro portasmRESTORE_ADDITIONAL_REGISTERS
    ld t0, FRAME_MSTATUS * portWORD_SIZE(sp)
    srli t0, t0, 13
    andi t0, t0, 3
    li t1, 3
    bne t0, t1, 9f
    .irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
    fld f\n, (1 + \n) * 8(sp)
    .endr
    ld t0, 33 * 8(sp)
    fscsr t0
9:
    addi sp, sp, portasmADDITIONAL_CONTEXT_SIZE * portWORD_SIZE
.endm

#endif
