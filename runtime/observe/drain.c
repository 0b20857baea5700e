/*
 * Keeps what the shim wrote into the files of processes, and gives their chunks back, so that a program
 * needs no more memory for its records than it had before main (shim.c).
 *
 *     drain FOLDER KEPT
 *
 * FOLDER: the shim's; KEPT: what each p-PID-NS there had in chunks that were full is appended to d-PID-NS
 * here. Ends with its input, or SIGTERM. Whoever may write into FOLDER cannot harm it: only regular files are
 * opened, and none is mapped.
 */
#include "chunks.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { KEPT_MOST = 1 << 30, SOON_MS = 2, LATER_MS = 20, SELDOM = 32, NAME_BYTES = 64 };

struct source {
    char name[NAME_BYTES];
    int file, kept;
    unsigned quiet, due; /* looks without a full chunk; looks until the next one */
};

static struct source *sources;
static size_t count, room;
static int folder, kept_folder;

static bool is_ours(const char *name)
{
    size_t length = strlen(name);
    return strncmp(name, "p-", 2) == 0 && length < NAME_BYTES &&
           2 + strspn(name + 2, "0123456789-") == length;
}

static void add(const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(sources[i].name, name) == 0)
            return;
    if (count == room) {
        struct source *more = realloc(sources, (room + 64) * 2 * sizeof *sources);
        if (more == NULL)
            return;
        sources = more;
        room = (room + 64) * 2;
    }
    struct source *made = &sources[count];
    struct stat is;
    *made = (struct source){.kept = -1};
    memcpy(made->name, name, strlen(name) + 1);
    made->file = openat(folder, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (made->file < 0)
        return;
    if (fstat(made->file, &is) == 0 && S_ISREG(is.st_mode))
        count++;
    else
        close(made->file);
}

/* What is new in the folder. */
static void find(void)
{
    static struct timespec seen;
    struct stat is;
    if (fstat(folder, &is) != 0 || memcmp(&seen, &is.st_mtim, sizeof seen) == 0)
        return;
    seen = is.st_mtim;
    DIR *files = fdopendir(openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    for (struct dirent *entry; files && (entry = readdir(files));)
        if (is_ours(entry->d_name))
            add(entry->d_name);
    if (files)
        closedir(files);
}

/* Keeps a chunk; false: there is no room. */
static bool keep(struct source *from, uint32_t place)
{
    static char chunk[CHUNK];
    char name[NAME_BYTES];
    off_t at = HEADER + (off_t)place * CHUNK, end;
    if (from->kept < 0) {
        memcpy(name, from->name, sizeof name);
        *name = 'd';
        from->kept = openat(kept_folder, name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    }
    if (from->kept < 0 || pread(from->file, chunk, CHUNK, at) != CHUNK ||
        (end = lseek(from->kept, 0, SEEK_END)) < 0 || end >= KEPT_MOST)
        return false;
    if (write(from->kept, chunk, CHUNK) == CHUNK)
        return true;
    if (ftruncate(from->kept, end) != 0)
        from->kept = -1;
    return false;
}

/* Whether chunks were full. */
static bool empty(struct source *from)
{
    static struct process seen;
    const uint8_t is_free = FREE;
    bool any = false;
    if (pread(from->file, &seen, sizeof seen, 0) != sizeof seen || memcmp(seen.magic, "DBSHIM2", 8) != 0)
        return false;
    for (uint32_t place = 0; place < seen.chunks && place < CHUNKS_MOST; place++) {
        if (seen.state[place] != FULL)
            continue;
        any = true;
        if (!keep(from, place))
            break;
        off_t at = (off_t)offsetof(struct process, state) + place;
        if (pwrite(from->file, &is_free, 1, at) != 1)
            break;
    }
    return any;
}

/* Whether any file had full chunks; one that had none for long is looked at less often. */
static bool look(void)
{
    bool any = false;
    find();
    for (size_t i = 0; i < count; i++) {
        struct source *each = &sources[i];
        if (each->due-- > 0)
            continue;
        bool some = empty(each);
        any |= some;
        each->quiet = some ? 0 : each->quiet + 1;
        each->due = each->quiet / SELDOM < SELDOM ? each->quiet / SELDOM : SELDOM;
    }
    return any;
}

int main(int argc, char **argv)
{
    struct rlimit files;
    if (argc != 3)
        return 2;
    folder = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    kept_folder = open(argv[2], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0 || kept_folder < 0)
        return 1;
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    struct pollfd input = {.fd = 0, .events = POLLIN};
    while (poll(&input, 1, look() ? SOON_MS : LATER_MS) <= 0)
        ;
    look();
    return 0;
}
