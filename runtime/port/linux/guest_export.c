/*
 * How results leave a virtual machine. QEMU's device ivshmem-plain is a piece of memory that the host has,
 * too; a sysfs file gives it to us, so no kernel needs a driver. A machine without PCI writes base64 to its
 * console, which takes seconds for each MB.
 *
 *   memory   64 bytes "deadbeat-guest 1 BYTES CRC32\n", then what was collected
 *   console  the same line, lines of base64, "deadbeat-guest end"
 */
#include "guest.h"

#include <endian.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADER_BYTES 64
/* Of one file: what is larger is cut. */
#define FILE_MOST (UINT32_C(256) << 20)
#define LINE_BYTES 57 /* 76 letters */

static void put_all(int to, const void *data, size_t bytes)
{
    const char *at = data;
    for (ssize_t done = 0; bytes > 0 && (done = write(to, at, bytes)) > 0; bytes -= (size_t)done)
        at += done;
}

int collect_open(void)
{
    return memfd_create("collected", MFD_CLOEXEC);
}

static void put_head(int to, const char *name, const char *path, size_t bytes)
{
    uint32_t lengths[2] = {htole32((uint32_t)(strlen(name) + strlen(path))), htole32((uint32_t)bytes)};
    put_all(to, lengths, sizeof lengths);
    put_all(to, name, strlen(name));
    put_all(to, path, strlen(path));
}

void collect_bytes(int to, const char *name, const void *content, size_t bytes)
{
    put_head(to, name, "", bytes);
    put_all(to, content, bytes);
}

/* The length of a file of the kernel's is known when it is read: it is written afterwards. */
bool collect_file(int to, const char *name, const char *path)
{
    static char buffer[65536];
    int from = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat is;
    if (from < 0)
        return false;
    if (fstat(from, &is) != 0 || S_ISDIR(is.st_mode)) {
        close(from);
        return false;
    }
    off_t head = lseek(to, 0, SEEK_END);
    put_head(to, name, path, 0);
    uint32_t bytes = 0;
    for (ssize_t got; bytes < FILE_MOST && (got = read(from, buffer, sizeof buffer)) > 0;) {
        put_all(to, buffer, (size_t)got);
        bytes += (uint32_t)got;
        if (S_ISCHR(is.st_mode)) /* a device may never end */
            break;
    }
    close(from);
    uint32_t length = htole32(bytes);
    return pwrite(to, &length, sizeof length, head + (off_t)sizeof length) == sizeof length;
}

static uint32_t crc_of(const unsigned char *data, size_t bytes)
{
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < bytes; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0xedb88320) : 0);
    }
    return ~crc;
}

/* --- shared memory ------------------------------------------------------------------------------- */

static bool says(const char *folder, const char *file, const char *wanted)
{
    char path[512], text[32] = "";
    snprintf(path, sizeof path, "%.400s/%s", folder, file);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    close(fd);
    text[got > 0 ? got : 0] = '\0';
    return strncmp(text, wanted, strlen(wanted)) == 0;
}

static void *map_resource(const char *folder, const char *file, size_t *bytes)
{
    char path[512];
    struct stat is;
    snprintf(path, sizeof path, "%.400s/%s", folder, file);
    int fd = open(path, O_RDWR | O_CLOEXEC | O_SYNC);
    if (fd < 0)
        return NULL;
    void *memory = MAP_FAILED;
    if (fstat(fd, &is) == 0 && is.st_size > HEADER_BYTES) {
        *bytes = (size_t)is.st_size;
        memory = mmap(NULL, *bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    }
    close(fd);
    return memory == MAP_FAILED ? NULL : memory;
}

static void *shared_memory(size_t *bytes)
{
    glob_t found;
    void *memory = NULL;
    if (glob("/sys/bus/pci/devices/*", 0, NULL, &found) != 0)
        return NULL;
    for (size_t i = 0; i < found.gl_pathc && !memory; i++) {
        const char *folder = found.gl_pathv[i];
        if (!says(folder, "vendor", "0x1af4") || !says(folder, "device", "0x1110"))
            continue;
        char path[512];
        snprintf(path, sizeof path, "%.400s/enable", folder);
        int fd = open(path, O_WRONLY | O_CLOEXEC); /* firmware may not have */
        put_all(fd, "1", 1);
        close(fd);
        memory = map_resource(folder, "resource2_wc", bytes);
        memory = memory ? memory : map_resource(folder, "resource2", bytes);
    }
    globfree(&found);
    return memory;
}

/* Memory of a device takes aligned words alone. */
static void copy_words(void *to, const void *from, size_t bytes)
{
    volatile uint64_t *words = to;
    for (size_t i = 0; i * sizeof *words < bytes; i++) {
        uint64_t word = 0;
        size_t left = bytes - i * sizeof word;
        memcpy(&word, (const char *)from + i * sizeof word, left < sizeof word ? left : sizeof word);
        words[i] = word;
    }
}

/* --- console ------------------------------------------------------------------------------------- */

static void put_base64(const unsigned char *data, size_t bytes)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < bytes; i += 3) {
        size_t left = bytes - i;
        uint32_t three = (uint32_t)data[i] << 16 | (left > 1 ? (uint32_t)data[i + 1] << 8 : 0) |
                         (left > 2 ? (uint32_t)data[i + 2] : 0);
        putchar(letters[three >> 18]);
        putchar(letters[three >> 12 & 63]);
        putchar(left > 1 ? letters[three >> 6 & 63] : '=');
        putchar(left > 2 ? letters[three & 63] : '=');
    }
    putchar('\n');
}

void hand_over(int from)
{
    char head[HEADER_BYTES] = "";
    off_t end = lseek(from, 0, SEEK_END);
    size_t bytes = end > 0 ? (size_t)end : 0, room = 0;
    const unsigned char *data = bytes ? mmap(NULL, bytes, PROT_READ, MAP_SHARED, from, 0) : NULL;
    if (!data || data == MAP_FAILED) {
        printf("deadbeat: nothing was collected\n");
        return;
    }
    snprintf(head, sizeof head, "deadbeat-guest 1 %zu %08" PRIx32 "\n", bytes, crc_of(data, bytes));
    char *memory = shared_memory(&room);
    if (memory && bytes <= room - HEADER_BYTES) {
        copy_words(memory + HEADER_BYTES, data, bytes);
        copy_words(memory, head, sizeof head); /* last: what has it is whole */
        return;
    }
    if (memory)
        printf("deadbeat: %zu bytes do not fit %zu\n", bytes, room);
    printf("%s", head);
    for (size_t i = 0; i < bytes; i += LINE_BYTES)
        put_base64(data + i, bytes - i < LINE_BYTES ? bytes - i : LINE_BYTES);
    printf("deadbeat-guest end\n");
}
