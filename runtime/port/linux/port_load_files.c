/* Background loads on Linux: files. None has a name while it is used: they end with whoever has them open. */
#include "linux_load.h"

#include "deadbeat/fragment.h"
#include "deadbeat/port.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BLOCK 65536
#define SHARED_BYTES 4096

static int open_nameless(struct db_load *load, int flags)
{
    char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/db-load-%d", load->folder, (int)getpid());
    int fd = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | flags, 0600);
    if (fd >= 0)
        (void)unlink(path);
    else
        load->doing = "making its file";
    return fd;
}

/* --- hdd: a file is written, read back and removed --------------------------------------------------------
 */

static int write_blocks(struct db_load *load, int fd, size_t bytes, const char *block)
{
    for (size_t at = 0; at < bytes; at += BLOCK) {
        ssize_t n = write(fd, block, BLOCK);
        if (n != BLOCK)
            return db_load_fails(load, "writing its file", n < 0 ? errno : ENOSPC);
    }
    return 0;
}

static int read_blocks(struct db_load *load, int fd, size_t bytes, const char *block)
{
    static char found[BLOCK];
    if (lseek(fd, 0, SEEK_SET) != 0)
        return db_load_fails(load, "reading its file", errno);
    for (size_t at = 0; at < bytes; at += BLOCK)
        if (read(fd, found, BLOCK) != BLOCK || memcmp(found, block, BLOCK) != 0)
            return db_load_fails(load, "reading back what it wrote to its file", EIO);
    return 0;
}

int load_hdd(struct db_load *load)
{
    static char block[BLOCK];
    size_t bytes = db_load_bytes(load, BLOCK);
    uint64_t random = db_seed_state(load->index);
    do {
        for (size_t i = 0; i < BLOCK; i += 512)
            block[i] = (char)db_random(&random);
        int fd = open_nameless(load, 0);
        if (fd < 0)
            return errno;
        int error = write_blocks(load, fd, bytes, block);
        error = error ? error : read_blocks(load, fd, bytes, block);
        close(fd);
        if (error)
            return error;
    } while (db_load_count(load, 1));
    return 0;
}

/* --- iomix: processes that do different things with one file ----------------------------------------------
 */

struct mix {
    int fd;
    size_t bytes, page;
    uint64_t random;
    volatile uint64_t *done;
};

static size_t draw(struct mix *mix, size_t below)
{
    return (size_t)(db_random(&mix->random) % below);
}

static void nap(int64_t ns)
{
    struct timespec t = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    nanosleep(&t, NULL);
}

/* Up to 255 pieces of up to 512 bytes, then a pause; `scattered`: each somewhere else. */
static bool burst(struct mix *mix, bool writing, bool scattered, int64_t pause_ns)
{
    char piece[512] = {0};
    size_t at = draw(mix, mix->bytes);
    for (size_t left = draw(mix, 256); left > 0; left--) {
        size_t bytes = 1 + draw(mix, sizeof piece);
        at = scattered || at + bytes > mix->bytes ? draw(mix, mix->bytes - sizeof piece) : at;
        ssize_t n =
            writing ? pwrite(mix->fd, piece, bytes, (off_t)at) : pread(mix->fd, piece, bytes, (off_t)at);
        if (n < 0)
            return false;
        at += (size_t)n;
        ++*mix->done;
    }
    nap((int64_t)draw(mix, (size_t)pause_ns));
    return true;
}

static bool write_bursts(struct mix *mix)
{
    return burst(mix, true, false, 1000000000);
}

static bool write_scattered(struct mix *mix)
{
    return burst(mix, true, true, 2000000000);
}

static bool read_bursts(struct mix *mix)
{
    return burst(mix, false, false, 1000000000);
}

static bool read_scattered(struct mix *mix)
{
    return burst(mix, false, true, 2000000000);
}

static bool write_byte(struct mix *mix)
{
    char byte = (char)draw(mix, 256);
    bool done = pwrite(mix->fd, &byte, 1, (off_t)(*mix->done % mix->bytes)) == 1;
    nap(1000000);
    ++*mix->done;
    return done;
}

static bool read_byte(struct mix *mix)
{
    char byte;
    bool done = pread(mix->fd, &byte, 1, (off_t)(mix->bytes - 1 - *mix->done % mix->bytes)) == 1;
    nap(1000000);
    ++*mix->done;
    return done;
}

static bool copy_piece(struct mix *mix)
{
    char piece[16384];
    size_t most = mix->bytes > sizeof piece ? mix->bytes - sizeof piece : 1;
    ssize_t n = pread(mix->fd, piece, sizeof piece, (off_t)draw(mix, most));
    bool done = n > 0 && pwrite(mix->fd, piece, (size_t)n, (off_t)draw(mix, most)) == n;
    nap(20000000);
    ++*mix->done;
    return done;
}

static bool synchronise(struct mix *mix)
{
    bool done = (*mix->done & 1 ? fdatasync(mix->fd) : fsync(mix->fd)) == 0;
    nap((int64_t)draw(mix, 2000000000));
    ++*mix->done;
    return done;
}

static bool map_page(struct mix *mix)
{
    off_t at = (off_t)(draw(mix, mix->bytes / mix->page) * mix->page);
    char *page = mmap(NULL, mix->page, PROT_READ | PROT_WRITE, MAP_SHARED, mix->fd, at);
    if (page == MAP_FAILED)
        return false;
    for (size_t i = 0; i < mix->page; i++)
        page[i]++;
    bool done = msync(page, mix->page, *mix->done & 1 ? MS_ASYNC : MS_SYNC) == 0;
    munmap(page, mix->page);
    nap(10000000);
    ++*mix->done;
    return done;
}

static bool forget(struct mix *mix)
{
    bool done = posix_fadvise(mix->fd, (off_t)draw(mix, mix->bytes), BLOCK, POSIX_FADV_DONTNEED) == 0;
    nap(100000000);
    ++*mix->done;
    return done;
}

/* Changes of what a file system keeps of a file beside its contents. Not all have such flags. */
static bool change_flags(struct mix *mix)
{
    long flags = 0, changed;
    if (ioctl(mix->fd, FS_IOC_GETFLAGS, &flags) != 0)
        nap(1000000000);
    changed = flags ^ FS_NOATIME_FL;
    if (ioctl(mix->fd, FS_IOC_SETFLAGS, &changed) != 0)
        nap(1000000000);
    ++*mix->done;
    return true;
}

static bool (*const mixed[])(struct mix *) = {
    write_bursts, write_scattered, read_bursts, read_scattered, write_byte,   read_byte,
    copy_piece,   synchronise,     map_page,    forget,         change_flags,
};
#define MIXED (sizeof mixed / sizeof *mixed)

/* Counts what they have done from time to time, until that is enough or one of them has ended. */
static int watch_mix(struct db_load *load, const volatile uint64_t *done)
{
    for (uint64_t before = 0, sum;; before = sum) {
        nap(10000000);
        sum = 0;
        for (size_t i = 0; i < MIXED; i++)
            sum += done[i];
        if (!db_load_count(load, sum - before))
            return 0;
        if (waitpid(-1, NULL, WNOHANG) != 0)
            return db_load_fails(load, "reading and writing its file", EIO);
    }
}

int load_iomix(struct db_load *load)
{
    int fd = open_nameless(load, O_SYNC), processes[MIXED];
    size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = db_load_bytes(load, page);
    volatile uint64_t *done = port_map(SHARED_BYTES, 1);
    if (fd < 0)
        return errno;
    if (!done || posix_fallocate(fd, 0, (off_t)bytes) != 0)
        return db_load_fails(load, "filling its file", done ? ENOSPC : ENOMEM);
    for (size_t i = 0; i < MIXED; i++) {
        struct mix mix = {fd, bytes, page, db_seed_state(load->index * MIXED + i), &done[i]};
        processes[i] = port_fork();
        if (processes[i] < 0)
            return db_load_fails(load, "starting its processes", errno);
        if (processes[i] == 0) {
            while (mixed[i](&mix))
                ;
            port_exit(1);
        }
    }
    int error = watch_mix(load, done);
    for (size_t i = 0; i < MIXED; i++)
        port_kill(processes[i]);
    for (size_t i = 0; !error && i < MIXED; i++)
        port_reap(processes[i]);
    return error;
}
