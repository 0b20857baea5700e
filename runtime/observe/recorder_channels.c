/* What files and sockets are behind the numbers that a program's calls name, and which sockets talk to
 * which: looked up in /proc when a number is first used, and now and then after that. */
#include "recorder.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define FILES_MOST (1u << 14) /* numbers of processes that are known at a time */
#define HOMES (1u << 16)
#define AGAIN_NS 200000000 /* from look to look at what a number is: dup2 may change it */
#define ANSWER_BYTES 32768
#define MQUEUE_MAGIC 0x19800202

/* A number of a process and what it was at the last look; ``pid`` 0: free. */
static struct known {
    uint32_t pid, seen;
    int64_t file;
    bool closed;
    uint64_t what;
} known[FILES_MOST];
static size_t known_count;

static struct {
    uint32_t tid, pid;
} homes[HOMES]; /* processes of threads */

static struct inode {
    uint64_t number, said; /* a hash of its line */
    uint32_t pid;
} *sockets; /* that processes have used */
static size_t socket_count, socket_room;
static char *said; /* lines for the end */
static size_t said_bytes;
static FILE *lines;
static bool news;

static uint32_t home_of(uint32_t tid)
{
    if (homes[tid % HOMES].tid != tid) {
        uint32_t pid = process_of(tid);
        if (!pid)
            return 0;
        homes[tid % HOMES].tid = tid;
        homes[tid % HOMES].pid = pid;
    }
    return homes[tid % HOMES].pid;
}

void forget_home(uint32_t tid)
{
    homes[tid % HOMES].tid = 0;
}

static struct known *find(uint32_t pid, int64_t file)
{
    size_t at = (pid * UINT64_C(2654435761) + (uint64_t)file * 40503) % FILES_MOST;
    while (known[at].pid && (known[at].pid != pid || known[at].file != file))
        at = (at + 1) % FILES_MOST;
    if (!known[at].pid && known_count < FILES_MOST / 4 * 3) {
        known[at] = (struct known){.pid = pid, .file = file, .closed = true};
        known_count++;
    }
    return known[at].pid ? &known[at] : NULL;
}

static void know_socket(uint64_t number, uint32_t pid)
{
    for (size_t i = 0; i < socket_count; i++)
        if (sockets[i].number == number)
            return;
    if (socket_count == socket_room) {
        size_t room = socket_room ? socket_room * 2 : 64;
        void *more = room <= FILES_MOST ? realloc(sockets, room * sizeof *sockets) : NULL;
        if (!more)
            return;
        sockets = more;
        socket_room = room;
    }
    sockets[socket_count++] = (struct inode){number, 0, pid};
    news = true;
}

/* A number that all processes share, of an event counter: the file system gives all of them one inode. */
static uint64_t counter_of(uint32_t pid, int64_t file, const char **word)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%u/fdinfo/%" PRId64, pid, file);
    const char *at = text_of(path, text, sizeof text) > 0 ? strstr(text, "eventfd-id:") : NULL;
    *word = at && strstr(text, "eventfd-semaphore: 1") ? "semaphore" : "eventfd";
    return at ? strtoull(at + 11, NULL, 10) + 1 : 0;
}

/* Looks at what a number is, and says it where that is news. */
static void look_at_file(struct known *of)
{
    char path[64], name[256];
    struct stat is;
    struct statfs in;
    const char *word = "other";
    snprintf(path, sizeof path, "/proc/%u/fd/%" PRId64, of->pid, of->file);
    ssize_t length = readlink(path, name, sizeof name - 1);
    if (length < 0 || stat(path, &is) != 0)
        return; /* it is closed, or its process has ended */
    name[length] = 0;
    uint64_t what = is.st_ino;
    if (S_ISSOCK(is.st_mode))
        word = "socket";
    else if (S_ISFIFO(is.st_mode))
        word = *name == '/' ? "fifo" : "pipe";
    else if (strcmp(name, "anon_inode:[eventfd]") == 0)
        what = counter_of(of->pid, of->file, &word);
    else if (S_ISREG(is.st_mode) && statfs(path, &in) == 0 && in.f_type == MQUEUE_MAGIC)
        word = "mq";
    if (!of->closed && of->what == what)
        return;
    of->closed = false;
    of->what = what;
    if (what && lines && said_bytes < FILES_MOST * 64) {
        fprintf(lines, "fd %u %" PRId64 " %" PRIu64 " %s %" PRIu64 " ", of->pid, of->file, now_ns(), word,
                what);
        for (const char *at = strcmp(word, "fifo") == 0 || strcmp(word, "mq") == 0 ? name : "-"; *at; at++)
            fputc(*at > ' ' && *at != '\\' ? *at : '?', lines);
        fputc('\n', lines);
        fflush(lines); /* counts said_bytes */
    }
    if (S_ISSOCK(is.st_mode))
        know_socket(what, of->pid);
}

void see_file(uint32_t tid, int64_t file, bool closes)
{
    uint32_t pid = file >= 0 ? home_of(tid) : 0;
    struct known *of = pid ? find(pid, file) : NULL;
    if (!lines)
        lines = open_memstream(&said, &said_bytes);
    if (of && closes)
        of->closed = true;
    else if (of && of->closed && of->seen != (uint32_t)(now_ns() / 1000000)) { /* once a millisecond */
        of->seen = (uint32_t)(now_ns() / 1000000);
        look_at_file(of);
    }
}

/* -- sockets */

/* Says a line of a socket that is ours, or the peer of one, if it is news. */
static void say_socket(uint64_t number, uint64_t peer, const char *text)
{
    uint64_t hash = 1469598103934665603u;
    for (const char *at = text; *at; at++)
        hash = (hash ^ (unsigned char)*at) * 1099511628211u;
    for (size_t i = 0; i < socket_count; i++) {
        if (sockets[i].number == number) {
            if (sockets[i].said != hash)
                fprintf(lines, "socket %" PRIu64 " %s\n", number, text);
            sockets[i].said = hash;
            return;
        }
        if (sockets[i].number == peer && !sockets[i].said)
            fprintf(lines, "socket %" PRIu64 " %s\n", number, text);
    }
}

static void say_unix(const struct unix_diag_msg *found, size_t bytes)
{
    uint32_t peer = 0;
    char name[128] = "-", text[200];
    struct rtattr *at = (struct rtattr *)(found + 1);
    for (bytes -= NLMSG_ALIGN(sizeof *found); RTA_OK(at, bytes); at = RTA_NEXT(at, bytes))
        if (at->rta_type == UNIX_DIAG_PEER)
            memcpy(&peer, RTA_DATA(at), sizeof peer);
        else if (at->rta_type == UNIX_DIAG_NAME && RTA_PAYLOAD(at) > 0) {
            size_t length = RTA_PAYLOAD(at) < sizeof name - 1 ? RTA_PAYLOAD(at) : sizeof name - 1;
            memcpy(name, RTA_DATA(at), length);
            name[length] = 0;
            for (size_t i = 0; i < length; i++) /* the first byte of an abstract one is 0 */
                name[i] = i == 0 && !name[i] ? '@' : name[i] > ' ' ? name[i] : name[i] ? '?' : 0;
        }
    snprintf(text, sizeof text, "unix %u %u %s", found->udiag_type, peer, name);
    say_socket(found->udiag_ino, peer, text);
}

/* All Unix sockets and their peers, by netlink: no file says these. */
static void look_at_unix(void)
{
    static char answer[ANSWER_BYTES];
    struct {
        struct nlmsghdr head;
        struct unix_diag_req body;
    } ask = {{sizeof ask, SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST | NLM_F_DUMP, 0, 0},
             {.sdiag_family = AF_UNIX, .udiag_states = ~0u, .udiag_show = UDIAG_SHOW_PEER | UDIAG_SHOW_NAME}};
    int link = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    ssize_t n = link < 0 ? -1 : send(link, &ask, sizeof ask, 0);
    for (bool more = n > 0; more && (n = recv(link, answer, sizeof answer, 0)) > 0;)
        for (struct nlmsghdr *at = (struct nlmsghdr *)answer; more && NLMSG_OK(at, n); at = NLMSG_NEXT(at, n))
            if (at->nlmsg_type == SOCK_DIAG_BY_FAMILY)
                say_unix(NLMSG_DATA(at), at->nlmsg_len - NLMSG_HDRLEN);
            else
                more = false; /* done, or refused */
    if (link >= 0)
        close(link);
}

/* Internet sockets of the network that a process is in. */
static void look_at_internet(uint32_t pid, const char *family)
{
    char path[64], line[512], from[64], to[64], text[160];
    uint64_t number;
    snprintf(path, sizeof path, "/proc/%u/net/%s", pid, family);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "%*s %63s %63s %*s %*s %*s %*s %*s %*s %" SCNu64, from, to, &number) == 3) {
            snprintf(text, sizeof text, "%s %s %s", family, from, to);
            say_socket(number, 0, text);
        }
    if (file)
        fclose(file);
}

static void look_at_sockets(void)
{
    static const char *families[] = {"tcp", "tcp6", "udp", "udp6"};
    news = false;
    look_at_unix();
    for (size_t i = 0; i < socket_count; i++) {
        bool first = true; /* of its process */
        for (size_t k = 0; k < i; k++)
            first &= sockets[k].pid != sockets[i].pid;
        for (unsigned n = 0; first && n < sizeof families / sizeof *families; n++)
            look_at_internet(sockets[i].pid, families[n]);
    }
}

void look_at_files(void)
{
    static uint64_t due;
    uint64_t now = now_ns();
    if (lines && now >= due) {
        for (size_t i = 0; i < FILES_MOST && known_count; i++)
            if (known[i].pid && !known[i].closed)
                look_at_file(&known[i]);
        due = now_ns() + AGAIN_NS;
    }
    if (news)
        look_at_sockets();
}

void say_files(void)
{
    if (!lines)
        return;
    look_at_sockets(); /* some are connected later than they are used */
    fclose(lines);
    fwrite(said, 1, said_bytes, stdout);
}
