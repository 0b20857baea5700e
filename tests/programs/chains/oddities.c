/* What is hard to pair: oddities NAME [NUMBER] runs it, and says on its error output how many messages it
 * took, and how old they were. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}
static void until(int64_t at)
{
    struct timespec t = {at / 1000000000, at % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
        ;
}
static void work(int64_t ns)
{
    struct timespec t;
    int64_t u = 0, a;
    do {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        a = t.tv_sec * 1000000000LL + t.tv_nsec;
        u = u ? u : a + ns;
    } while (a < u);
}
struct m {
    int64_t n, born, who;
    char rest[40];
};
static struct sh {
    int64_t sum, count, max, got[4], bad;
} *sh;
static int64_t start;
static void age(const struct m *m)
{
    int64_t a = now() - m->born;
    sh->sum += a;
    sh->count++;
    if (a > sh->max)
        sh->max = a;
}
static void sender(int out, int who, int64_t period, int count, const struct sockaddr *to, socklen_t len)
{
    for (int n = 0; n < count; n++) {
        int64_t r = start + n * period;
        until(r);
        work(200000);
        struct m m = {n + 1, r, who};
        if ((to ? sendto(out, &m, sizeof m, 0, to, len) : write(out, &m, sizeof m)) != sizeof m)
            sh->bad++;
    }
}
static void reader(int in, int64_t idle)
{
    struct m m;
    struct pollfd p = {in, POLLIN, 0};
    while (poll(&p, 1, (int)(idle / 1000000)) > 0 && read(in, &m, sizeof m) == sizeof m) {
        work(100000);
        sh->got[m.who]++;
        age(&m);
    }
}
static void name(const char *n)
{
    prctl(PR_SET_NAME, n);
}
int main(int c, char **v)
{
    sh = mmap(0, sizeof *sh, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    start = now() + 50000000;
    int e[2];
    const char *k = v[1];
    if (!strcmp(k, "twounconnected")) { /* two senders, unconnected UDP, two receivers */
        int a = socket(AF_INET, SOCK_DGRAM, 0), b = socket(AF_INET, SOCK_DGRAM, 0);
        struct sockaddr_in x = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}}, y = x;
        socklen_t l = sizeof x;
        bind(a, (void *)&x, sizeof x);
        bind(b, (void *)&y, sizeof y);
        getsockname(a, (void *)&x, &l);
        getsockname(b, (void *)&y, &l);
        if (!fork()) {
            name("left");
            close(b);
            reader(a, 300000000);
            _exit(0);
        }
        if (!fork()) {
            name("right");
            close(a);
            reader(b, 300000000);
            _exit(0);
        }
        if (!fork()) {
            name("one");
            int s = socket(AF_INET, SOCK_DGRAM, 0);
            for (int n = 0; n < 200; n++) {
                int64_t r = start + n * 10000000LL;
                until(r);
                work(200000);
                struct m m = {n + 1, r, 0};
                sendto(s, &m, sizeof m, 0, n % 2 ? (void *)&x : (void *)&y, sizeof x);
            }
            _exit(0);
        }
        name("two");
        int s = socket(AF_INET, SOCK_DGRAM, 0);
        start += 3000000;
        sender(s, 1, 10000000, 200, (void *)&x, sizeof x);
    } else if (!strcmp(k, "passed")) { /* a pipe passed by SCM_RIGHTS over a socketpair after a second */
        socketpair(AF_UNIX, SOCK_STREAM, 0, e);
        if (!fork()) {
            name("getter");
            char b[64];
            union {
                struct cmsghdr h;
                char x[CMSG_SPACE(sizeof(int))];
            } u;
            struct iovec i = {b, 1};
            struct msghdr h = {.msg_iov = &i, .msg_iovlen = 1, .msg_control = &u, .msg_controllen = sizeof u};
            recvmsg(e[1], &h, 0);
            int in;
            memcpy(&in, CMSG_DATA(CMSG_FIRSTHDR(&h)), sizeof in);
            reader(in, 300000000);
            _exit(0);
        }
        name("giver");
        int p[2];
        pipe(p);
        until(start + 200000000);
        union {
            struct cmsghdr h;
            char x[CMSG_SPACE(sizeof(int))];
        } u = {0};
        char b = 'x';
        struct iovec i = {&b, 1};
        struct msghdr h = {.msg_iov = &i, .msg_iovlen = 1, .msg_control = &u, .msg_controllen = sizeof u};
        struct cmsghdr *m = CMSG_FIRSTHDR(&h);
        m->cmsg_level = SOL_SOCKET;
        m->cmsg_type = SCM_RIGHTS;
        m->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(m), &p[0], sizeof(int));
        sendmsg(e[0], &h, 0);
        close(p[0]);
        start = now() + 10000000;
        sender(p[1], 0, 10000000, 200, 0, 0);
        close(p[1]);
    } else if (!strcmp(k, "restarted")) { /* the middle stage is restarted */
        int f[2];
        pipe(e);
        pipe(f);
        if (!fork()) {
            name("last");
            close(e[0]);
            close(e[1]);
            close(f[1]);
            reader(f[0], 600000000);
            _exit(0);
        }
        pid_t mid = 0;
        for (int round = 0; round < 2; round++) {
            if (!(mid = fork())) {
                name("middle");
                close(f[0]);
                close(e[1]);
                struct m m;
                while (read(e[0], &m, sizeof m) == sizeof m) {
                    work(150000);
                    write(f[1], &m, sizeof m);
                    if (m.n == 100)
                        _exit(0);
                }
                _exit(0);
            }
            name("first");
            int64_t s0 = start;
            for (int n = 0; n < 100; n++) {
                int64_t r = s0 + n * 10000000LL;
                until(r);
                work(200000);
                struct m m = {n + 1, r, 0};
                write(e[1], &m, sizeof m);
            }
            start = s0 + 1000000000LL + 50000000;
            waitpid(mid, 0, 0);
        }
    } else if (!strcmp(k, "shortlived")) { /* each message over a unix connection of its own */
        struct sockaddr_un at = {AF_UNIX, "/tmp/adv.sock"};
        unlink(at.sun_path);
        int l = socket(AF_UNIX, SOCK_STREAM, 0);
        bind(l, (void *)&at, sizeof at);
        listen(l, 5);
        if (!fork()) {
            name("server");
            for (int n = 0; n < 100; n++) {
                int s = accept(l, 0, 0);
                struct m m;
                while (read(s, &m, sizeof m) == sizeof m) {
                    work(100000);
                    sh->got[0]++;
                    age(&m);
                }
                close(s);
            }
            _exit(0);
        }
        name("client");
        for (int n = 0; n < 100; n++) {
            int64_t r = start + n * 20000000LL;
            until(r);
            int s = socket(AF_UNIX, SOCK_STREAM, 0);
            connect(s, (void *)&at, sizeof at);
            struct m m = {n + 1, r, 0};
            work(100000);
            write(s, &m, sizeof m);
            int live = c > 2 ? atoi(v[2]) : 0;
            if (live)
                until(r + live * 1000000LL);
            close(s);
        }
        unlink(at.sun_path);
    } else if (!strcmp(k, "partial")) { /* stream read in parts of 24 of 64 bytes */
        pipe(e);
        if (!fork()) {
            name("taker");
            close(e[1]);
            char b[24];
            struct m m;
            size_t have = 0;
            ssize_t n;
            while ((n = read(e[0], b, sizeof b)) > 0)
                for (ssize_t i = 0; i < n; i++) {
                    ((char *)&m)[have++] = b[i];
                    if (have == sizeof m) {
                        have = 0;
                        sh->got[0]++;
                        age(&m);
                    }
                }
            _exit(0);
        }
        name("putter");
        close(e[0]);
        sender(e[1], 0, 10000000, 200, 0, 0);
        close(e[1]);
    } else if (!strcmp(k, "eventfd")) {
        int f = eventfd(0, 0);
        if (!fork()) {
            name("waiter");
            uint64_t x;
            for (int n = 0; n < 200; n++) {
                if (read(f, &x, 8) != 8)
                    break;
                work(100000);
            }
            _exit(0);
        }
        name("signaller");
        for (int n = 0; n < 200; n++) {
            until(start + n * 10000000LL);
            work(100000);
            uint64_t x = 1;
            write(f, &x, 8);
        }
    } else if (!strcmp(k, "sysv")) {
        int q = msgget(IPC_PRIVATE, 0600);
        struct {
            long type;
            struct m m;
        } x = {1, {0}};
        if (!fork()) {
            name("taker");
            for (int n = 0; n < 200 && msgrcv(q, &x, sizeof x.m, 0, 0) > 0; n++) {
                work(100000);
                age(&x.m);
            }
            _exit(0);
        }
        name("putter");
        for (int n = 0; n < 200; n++) {
            x.m.born = start + n * 10000000LL;
            until(x.m.born);
            work(100000);
            msgsnd(q, &x, sizeof x.m, 0);
        }
        wait(0);
        msgctl(q, IPC_RMID, 0);
    } else if (!strcmp(k, "priority")) { /* the second of three is taken first */
        struct mq_attr at = {.mq_maxmsg = 8, .mq_msgsize = sizeof(struct m)};
        mqd_t q = mq_open("/oddities", O_RDWR | O_CREAT, 0600, &at);
        if (!fork()) {
            name("taker");
            for (int n = 0; n < 100; n++) {
                struct m m;
                until(start + n * 10000000LL + 5000000);
                for (int i = 0; i < 3; i++)
                    if (mq_receive(q, (char *)&m, sizeof m, 0) == sizeof m && i == 0)
                        sh->got[m.who]++;
                work(100000);
            }
            _exit(0);
        }
        if (!fork()) {
            name("urgent");
            for (int n = 0; n < 100; n++) {
                struct m m = {n, start + n * 10000000LL, 1};
                until(m.born + 1000000);
                mq_send(q, (char *)&m, sizeof m, 9);
            }
            _exit(0);
        }
        name("plain");
        for (int n = 0; n < 100; n++) {
            struct m m = {n, start + n * 10000000LL, 0};
            until(m.born);
            mq_send(q, (char *)&m, sizeof m, 1);
            mq_send(q, (char *)&m, sizeof m, 1);
        }
        wait(0);
        mq_unlink("/oddities");
    } else if (!strcmp(k, "splice")) { /* no call names what is moved */
        int f[2];
        pipe(e);
        pipe(f);
        if (!fork()) {
            name("taker");
            close(f[1]);
            reader(f[0], 300000000);
            _exit(0);
        }
        if (!fork()) {
            name("mover");
            close(e[1]);
            while (splice(e[0], 0, f[1], 0, sizeof(struct m), 0) > 0)
                ;
            _exit(0);
        }
        name("putter");
        close(e[0]);
        close(f[1]);
        sender(e[1], 0, 10000000, 200, 0, 0);
        close(e[1]);
    } else if (!strcmp(k, "fast")) { /* many a second */
        socketpair(AF_UNIX, SOCK_DGRAM, 0, e);
        if (!fork()) {
            name("sink");
            close(e[1]);
            struct m m;
            while (read(e[0], &m, sizeof m) > 0 && m.n >= 0) {
                sh->got[0]++;
            }
            _exit(0);
        }
        name("source");
        int64_t rate = atoll(v[2]);
        for (int t = 0; t < 300; t++) {
            int64_t r = start + t * 10000000LL;
            until(r);
            for (int i = 0; i < rate / 100; i++) {
                struct m m = {1, r, 0};
                write(e[1], &m, sizeof m);
            }
        }
        struct m m = {-1, 0, 0};
        write(e[1], &m, sizeof m);
    }
    while (wait(0) > 0)
        ;
    fprintf(stderr, "truth %s count %lld mean %.0f max %lld got %lld %lld bad %lld\n", k,
            (long long)sh->count, sh->count ? (double)sh->sum / sh->count : 0., (long long)sh->max,
            (long long)sh->got[0], (long long)sh->got[1], (long long)sh->bad);
}
