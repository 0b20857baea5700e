/* QEMU's machine "virt", RISC-V harts in machine mode, under -icount: an instruction is a nanosecond. Where
 * there are several they take turns in it, and none waits for an interrupt before all do: each has its share
 * of the machine's time, and a nanosecond here is as many of the machine's as there are harts. */
#include "board.h"

#include "exchange.h"

#include "FreeRTOS.h"
#include "task.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define UART ((volatile uint8_t *)0x10000000)
#define UART_LINE_STATUS 5
#define UART_EMPTY 0x20
#define TEST_DEVICE ((volatile uint32_t *)0x100000)
#define MTIME ((volatile uint64_t *)0x200bff8)
#define MTIMECMP_OF(of) ((volatile uint64_t *)0x2004000)[of]
#define SOFTWARE_INTERRUPT ((volatile uint32_t *)0x2000000)
#define MTIME_NS 100 /* 10 MHz */
#define TICK_NS (INT64_C(1000000000) / configTICK_RATE_HZ)
#define CAUSE_TIMER ((UINT64_C(1) << 63) | 7)
#define CAUSE_SOFTWARE ((UINT64_C(1) << 63) | 3)

_Noreturn void board_main(void);
_Noreturn void port_main(void);
void freertos_risc_v_application_interrupt_handler(uint64_t cause);
void freertos_risc_v_application_exception_handler(uint64_t cause);
void vPortSetupTimerInterrupt(void);
void vApplicationIdleHook(void);

extern unsigned char __memory_begin[], __memory_end[], __shared[];
static struct exchange *const exchange = (struct exchange *)EXCHANGE_ADDRESS;
static int64_t cycles_to_ns, tick_at, one_shot_at = INT64_MAX;
static unsigned hart;

/* --- time ------------------------------------------------------------------------------------- */

static inline int64_t cycles(void)
{
    int64_t value;
    __asm__ volatile("csrr %0, cycle" : "=r"(value));
    return value;
}

/* Under -icount the cycle counter counts nanoseconds of virtual time, a hundred for each step of mtime. */
int64_t board_now_ns(void)
{
    return (cycles() + cycles_to_ns) / BOARD_HARTS;
}

/* Where the two disagree, time is not virtual, and no figure would be what it is called. */
static int64_t both(int64_t *at)
{
    int64_t ticks;
    do {
        ticks = (int64_t)*MTIME;
        *at = cycles();
    } while ((int64_t)*MTIME != ticks); /* no turn of another hart in between */
    return ticks;
}

static void fit_clock(void)
{
    int64_t start, end, ticks = both(&start), elapsed;
    cycles_to_ns = ticks * MTIME_NS - start;
    do
        elapsed = (both(&end) - ticks) * MTIME_NS;
    while (elapsed < 100000);
    int64_t off = end - start - elapsed;
    if (off < -2 * MTIME_NS || off > 2 * MTIME_NS)
        board_fail("the cycle counter is not virtual time: QEMU runs without -icount shift=0");
}

static void arm(void)
{
    int64_t at = tick_at < one_shot_at ? tick_at : one_shot_at;
    int64_t most = INT64_MAX / BOARD_HARTS - MTIME_NS;
    MTIMECMP_OF(hart) = (uint64_t)(((at < most ? at : most) * BOARD_HARTS + MTIME_NS - 1) / MTIME_NS);
}

void board_timer_at(int64_t at_ns)
{
    one_shot_at = at_ns;
    arm();
}

void vPortSetupTimerInterrupt(void)
{
    tick_at = board_now_ns() + TICK_NS;
    arm();
    __asm__ volatile("csrs mie, %0" ::"r"(BOARD_HARTS > 1 ? 0x88 : 0x80));
}

/* --- idle harts ------------------------------------------------------------------------------------ */

static volatile uint8_t *idle(unsigned of)
{
    return __shared + BOARD_IDLE + of;
}

static uint32_t idle_harts(void)
{
    return *(volatile uint32_t *)(__shared + BOARD_IDLE);
}

/* In an interrupt that ends this hart's idleness: where all wait, the others go on, after the two that end
 * turns. Who goes on because another has work stays idle. */
static void be_busy(void)
{
    bool all = *idle(hart) != 0;
    *idle(hart) = 0;
    all = all && idle_harts() == BOARD_ALL_IDLE - (1u << (8 * hart));
    for (unsigned ender = BOARD_HARTS; all && ender < BOARD_HARTS + 2; ender++)
        MTIMECMP_OF(ender) = *MTIME + BOARD_TURN * (ender - BOARD_HARTS + 1);
    for (unsigned other = 0; all && other < BOARD_HARTS; other++)
        if (other != hart)
            board_poke(other);
}

/* An emulator's idle time passes at once; while another hart works it passes as work does. */
void vApplicationIdleHook(void)
{
    if (BOARD_HARTS == 1) {
        __asm__ volatile("wfi");
        return;
    }
    *idle(hart) = 1;
    while (idle_harts() != BOARD_ALL_IDLE)
        *idle(hart) = 1; /* an interrupt may have cleared it */
    taskDISABLE_INTERRUPTS();
    if (idle_harts() == BOARD_ALL_IDLE)
        __asm__ volatile("wfi");
    taskENABLE_INTERRUPTS();
}

/* --- interrupts -------------------------------------------------------------------------------------- */

void freertos_risc_v_application_interrupt_handler(uint64_t cause)
{
    bool turn = false;
    if (BOARD_HARTS > 1 && cause == CAUSE_SOFTWARE) {
        SOFTWARE_INTERRUPT[hart] = 0;
        if (port_poked()) {
            be_busy();
            vTaskSwitchContext();
        }
        return;
    }
    if (cause != CAUSE_TIMER)
        board_fail("an interrupt of no known cause");
    if (BOARD_HARTS > 1)
        be_busy();
    int64_t now = board_now_ns();
    while (tick_at <= now) {
        tick_at += TICK_NS;
        turn |= xTaskIncrementTick() != pdFALSE;
    }
    turn |= port_timer_fired() != 0; /* arms the timer */
    if (turn)
        vTaskSwitchContext();
}

/* --- the way out --------------------------------------------------------------------------------- */

void board_say(const char *text)
{
    for (; *text; text++) {
        while (!(UART[UART_LINE_STATUS] & UART_EMPTY))
            ;
        *UART = (uint8_t)*text;
    }
}

_Noreturn void board_exit(int status)
{
    exchange->status = (uint32_t)status;
    exchange->state = status == 0 ? EXCHANGE_DONE : EXCHANGE_FAILED;
    __asm__ volatile("fence" ::: "memory");
    *TEST_DEVICE = status == 0 ? 0x5555 : 0x13333;
    for (;;)
        __asm__ volatile("wfi");
}

_Noreturn void board_fail(const char *what)
{
    if (exchange->words[0] == 0)
        strncpy(exchange->words, what, sizeof exchange->words - 1);
    board_say(what);
    board_say("\n");
    board_exit(1);
}

void freertos_risc_v_application_exception_handler(uint64_t cause)
{
    static char words[] = "trap ?? at 0x????????????????, value 0x????????????????";
    uint64_t at, value;
    __asm__ volatile("csrr %0, mepc" : "=r"(at));
    __asm__ volatile("csrr %0, mtval" : "=r"(value));
    words[5] = (char)('0' + cause / 10 % 10);
    words[6] = (char)('0' + cause % 10);
    for (int i = 0; i < 16; i++) {
        words[13 + i] = "0123456789abcdef"[at >> (60 - 4 * i) & 15];
        words[39 + i] = "0123456789abcdef"[value >> (60 - 4 * i) & 15];
    }
    board_fail(words);
}

void *board_memory(size_t *bytes)
{
    *bytes = (size_t)(__memory_end - __memory_begin) / BOARD_HARTS / 4096 * 4096;
    return __memory_begin + hart * *bytes;
}

unsigned board_hart(void)
{
    return hart;
}

void *board_shared(void)
{
    return __shared;
}

void board_poke(unsigned other)
{
    SOFTWARE_INTERRUPT[other] = 1;
}

int board_put(const void *data, size_t bytes)
{
    if (bytes > EXCHANGE_BYTES - sizeof *exchange - exchange->result_bytes)
        return ENOSPC;
    memcpy(exchange->result + exchange->result_bytes, data, bytes);
    exchange->result_bytes += bytes;
    return 0;
}

const char *board_job(size_t *bytes)
{
    *bytes = exchange->job_bytes;
    return exchange->job;
}

_Noreturn void board_main(void)
{
    __asm__ volatile("csrr %0, mhartid" : "=r"(hart));
    if (hart > 0) {
        fit_clock();
        port_main();
    }
    if (memcmp(exchange->magic, EXCHANGE_MAGIC, sizeof exchange->magic) != 0 ||
        exchange->state != EXCHANGE_ASKED || exchange->job_bytes > EXCHANGE_JOB_BYTES) {
        board_say("no job in memory: this program is started by deadbeat\n");
        *TEST_DEVICE = 0x23333;
        for (;;)
            __asm__ volatile("wfi");
    }
    exchange->state = EXCHANGE_STARTED;
    for (unsigned other = 1; other < BOARD_HARTS; other++)
        board_poke(other);
    fit_clock();
    port_main();
}
