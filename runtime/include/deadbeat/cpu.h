/* What depends on the processor, and nothing else does: the one place that asks which it is. */
#ifndef DEADBEAT_CPU_H
#define DEADBEAT_CPU_H

/* What two cores write lies so far apart: the longest line of a cache there is among the supported
 * machines, and two neighbours of 64 bytes that some prefetch together. One number for all, so that
 * every machine has the same layout. */
#define DB_CACHE_LINE 128
/* The line of most machines: what fragments count their data in, the same on all. */
#define DB_LINE_OF_DATA 64

/* The counter that the kernel may use as its clock source: no instruction before it is still under way when
 * it is read. */
#if defined(__x86_64__) || defined(__aarch64__) || (defined(__riscv) && __riscv_xlen == 64)
#define DB_COUNTER 1
static inline unsigned long db_counter(void)
{
    unsigned long ticks;
#if defined(__x86_64__)
    unsigned long high;
    __asm__ volatile("lfence; rdtsc" : "=a"(ticks), "=d"(high) : : "memory");
    ticks |= high << 32;
#elif defined(__aarch64__)
    __asm__ volatile("isb; mrs %0, cntvct_el0" : "=r"(ticks) : : "memory");
#else
    __asm__ volatile("fence; rdtime %0" : "=r"(ticks) : : "memory");
#endif
    return ticks;
}
#endif

/* In a loop that waits for another core: leaves the shared parts of this one to others meanwhile. */
static inline void db_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __asm__ volatile("pause" : : : "memory");
#elif defined(__aarch64__) || (defined(__arm__) && __ARM_ARCH >= 7)
    __asm__ volatile("yield" : : : "memory");
#elif defined(__riscv)
    /* pause (Zihintpause) by its encoding, a fence that does nothing elsewhere: old assemblers lack the
     * word, and processors without it take no notice */
    __asm__ volatile(".4byte 0x0100000f" : : : "memory");
#else
    __asm__ volatile("" : : : "memory");
#endif
}

#endif
