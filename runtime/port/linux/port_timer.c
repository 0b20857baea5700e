/* The HPET as a device whose interrupt wakes a thread (Documentation/timers/hpet.rst). */
#include "deadbeat/port_host.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/hpet.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

/* Registers, as IA-PC HPET Specification 1.0a has them. */
#define PERIOD_FS 0x04
#define COUNTER 0xf0
#define COMPARATOR(timer) (0x108 + 0x20 * (timer))
#define REGISTERS 4096
#define FS_IN_S UINT64_C(1000000000000000)

/* The low half: differences of what lies less than half its range apart are right, whatever the upper is. */
static uint32_t read_register(const struct port_timer *timer, size_t at)
{
    return *(const volatile uint32_t *)((const char *)timer->registers + at);
}

static int begin(struct port_timer *timer, int64_t *period_ns)
{
    struct hpet_info info;
    unsigned long hz = (unsigned long)((1000000000 + *period_ns / 2) / *period_ns);
    if (ioctl(timer->handle, HPET_IRQFREQ, hz) || ioctl(timer->handle, HPET_EPI, 0) ||
        ioctl(timer->handle, HPET_INFO, &info) || ioctl(timer->handle, HPET_IE_ON, 0))
        return errno;
    timer->due = read_register(timer, COMPARATOR(info.hi_timer));
    timer->tick_fs = read_register(timer, PERIOD_FS);
    uint64_t ticks_in_s = (FS_IN_S + timer->tick_fs / 2) / timer->tick_fs;
    timer->period = (uint32_t)((ticks_in_s + hz / 2) / hz); /* as the kernel rounds it */
    *period_ns = (int64_t)((uint64_t)timer->period * timer->tick_fs / 1000000);
    return 0;
}

int port_timer_open(struct port_timer *timer, int64_t *period_ns)
{
    timer->handle = open("/dev/hpet", O_RDONLY | O_CLOEXEC);
    if (timer->handle < 0)
        return errno;
    timer->registers = mmap(NULL, REGISTERS, PROT_READ, MAP_SHARED, timer->handle, 0);
    return timer->registers == MAP_FAILED ? errno : begin(timer, period_ns);
}

int64_t port_timer_wait(struct port_timer *timer, uint64_t passed)
{
    unsigned long interrupts;
    int32_t late;
    timer->due += (uint32_t)passed * timer->period;
    do /* what is left of missed ones returns at once */
        if (read(timer->handle, &interrupts, sizeof interrupts) < 0 && errno != EINTR)
            return -errno;
    while ((late = (int32_t)(read_register(timer, COUNTER) - timer->due)) < 0);
    return (int64_t)((uint64_t)late * timer->tick_fs / 1000000);
}
