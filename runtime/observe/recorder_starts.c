/* Where threads begin that have no name of their own: the first functions on their stacks. */
#include "recorder.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define WORDS (65536 / sizeof(uintptr_t)) /* of a stack that are looked at */
#define RANGES_MOST 256

/* A program's code, as its maps were when its first thread was looked into. */
struct code {
    uint32_t pid;
    char *lines; /* of its files: the first of each, and those that can be run */
    size_t count, bytes;
    uintptr_t range[RANGES_MOST][2];
    struct code *next;
};

static struct code *programs;

static struct code *code_of(uint32_t pid)
{
    for (struct code *known = programs; known; known = known->next)
        if (known->pid == pid)
            return known;
    char path[64], *line = NULL;
    size_t room = 0;
    snprintf(path, sizeof path, "/proc/%u/maps", pid);
    FILE *maps = fopen(path, "re"), *lines = NULL;
    struct code *made = maps ? calloc(1, sizeof *made) : NULL;
    if (made && (lines = open_memstream(&made->lines, &made->bytes)) != NULL) {
        made->pid = pid;
        made->next = programs;
        programs = made;
    }
    while (lines && getline(&line, &room, maps) > 0) {
        uintptr_t from, to;
        uint64_t offset;
        char mode[5];
        if (!strchr(line, '/') ||
            sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s %" SCNx64, &from, &to, mode, &offset) != 4)
            continue;
        if (offset == 0 || mode[2] == 'x')
            fprintf(lines, "map %u %s", pid, line);
        if (mode[2] == 'x' && made->count < RANGES_MOST) {
            made->range[made->count][0] = from;
            made->range[made->count++][1] = to;
        }
    }
    free(line);
    if (lines)
        fclose(lines);
    if (maps)
        fclose(maps);
    return lines ? made : NULL;
}

/* Reads as much as there is, page by page: where a part of it is unreadable, what comes before. */
static size_t read_of(uint32_t pid, uintptr_t from, void *to, size_t bytes)
{
    struct iovec here = {to, bytes}, there[WORDS * sizeof(uintptr_t) / 4096 + 2];
    size_t parts = 0;
    for (uintptr_t at = from; at < from + bytes; parts++) {
        uintptr_t next = (at | 4095) + 1 < from + bytes ? (at | 4095) + 1 : from + bytes;
        there[parts] = (struct iovec){(void *)at, next - at}; /* NOLINT: of another process */
        at = next;
    }
    ssize_t got = process_vm_readv((pid_t)pid, &here, 1, there, parts, 0);
    return got < 0 ? 0 : (size_t)got;
}

/* Whether the instruction before ``at`` is a call. */
static bool is_return(uint32_t pid, uintptr_t at)
{
    unsigned char before[8];
    if (read_of(pid, at - sizeof before, before, sizeof before) != sizeof before)
        return false;
#if defined __x86_64__ || defined __i386__
    if (before[3] == 0xe8)
        return true;
    for (unsigned length = 2; length <= 7; length++)
        if (before[8 - length] == 0xff && (before[9 - length] & 0x38) == 0x10)
            return true;
    return false;
#elif defined __aarch64__
    uint32_t word;
    memcpy(&word, before + 4, sizeof word);
    return (word & 0xfc000000) == 0x94000000 || (word & 0xfffffc1f) == 0xd63f0000;
#else
    return true;
#endif
}

/* A stack ends where the C library keeps what it knows of its thread, as the list of its robust locks. */
unsigned find_starts(uint32_t pid, uint32_t tid, uintptr_t stack, uintptr_t found[STARTS])
{
    static uintptr_t words[WORDS];
    uintptr_t end = 0;
    size_t bytes;
    unsigned count = 0;
    const struct code *code = code_of(pid);
    if (!code || syscall(SYS_get_robust_list, tid, &end, &bytes) != 0 || end <= stack)
        return 0;
    bytes = end - stack < sizeof words ? end - stack : sizeof words;
    size_t whole = read_of(pid, (end - bytes) & ~(sizeof *words - 1), words, bytes) / sizeof *words;
    while (whole-- > 0 && count < STARTS)
        for (size_t i = 0; i < code->count; i++)
            if (words[whole] > code->range[i][0] && words[whole] < code->range[i][1] &&
                is_return(pid, words[whole]))
                found[count++] = words[whole];
    return count;
}

void forget_code(uint32_t pid)
{
    for (struct code *known = programs; known; known = known->next)
        if (known->pid == pid)
            known->pid = 0;
}

void say_code(void)
{
    for (const struct code *known = programs; known; known = known->next)
        if (known->pid)
            fwrite(known->lines, 1, known->bytes, stdout);
}
