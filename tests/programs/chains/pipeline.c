/* Three processes, sensor -> filter -> actuator, whose messages carry their number and when they were born:
 *
 *   pipeline LINK:MODE LINK:MODE JOBS FILE [drop]
 *
 * LINK: pipe, fifo, stream, dgram, seqpacket, udp, tcp or mq. MODE of the reader: event (it waits for a
 * message), drained (it has a period, and reads all there is) or single (it reads one). FILE gets what the
 * messages say of themselves, in ns, as JSON. drop: the sensor sends 8 messages at once, to a small buffer.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 1 << 16, BURST = 8 };

struct message {
    int64_t number, born;
    char rest[48];
};

struct link {
    int in, out, mq;
    char mode, kind[16], path[64];
};

/* What a stage had at the end of each of its jobs; ``number`` 0: nothing yet. */
struct log {
    int64_t count, got;
    struct {
        int64_t number, born, end;
    } job[MOST];
};

static struct log *logs;
static int64_t sent;

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void sleep_until(int64_t at)
{
    struct timespec t = {at / 1000000000, at % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
        ;
}

static void work(int64_t ns)
{
    struct timespec t;
    int64_t until = 0, at;
    do {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        at = t.tv_sec * 1000000000LL + t.tv_nsec;
        until = until ? until : at + ns;
    } while (at < until);
}

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static struct sockaddr_in port(int number)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(number), .sin_addr = {htonl(INADDR_LOOPBACK)}};
}

/* Before the processes part. */
static struct link make(const char *word, int place)
{
    struct link made = {.in = -1, .out = -1};
    int ends[2], base = 20000 + getpid() % 20000 + place;
    sscanf(word, "%15[^:]:%c", made.kind, &made.mode);
    const char *kind = made.kind;
    if (strcmp(kind, "pipe") == 0) {
        if (pipe(ends))
            die("pipe");
    } else if (strcmp(kind, "fifo") == 0) {
        snprintf(made.path, sizeof made.path, "/tmp/pipeline-%d-%d", getpid(), place);
        if (mkfifo(made.path, 0600) || (ends[0] = open(made.path, O_RDWR)) < 0)
            die("fifo");
        ends[1] = open(made.path, O_WRONLY);
    } else if (strcmp(kind, "mq") == 0) {
        struct mq_attr attr = {.mq_maxmsg = 10, .mq_msgsize = sizeof(struct message)};
        snprintf(made.path, sizeof made.path, "/pipeline-%d-%d", getpid(), place);
        ends[0] = mq_open(made.path, O_RDWR | O_CREAT, 0600, &attr);
        ends[1] = mq_open(made.path, O_WRONLY | O_NONBLOCK);
        made.mq = 1;
    } else if (strcmp(kind, "udp") == 0) {
        struct sockaddr_in at = port(base);
        int small = 4096;
        ends[0] = socket(AF_INET, SOCK_DGRAM, 0);
        ends[1] = socket(AF_INET, SOCK_DGRAM, 0);
        setsockopt(ends[0], SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
        if (bind(ends[0], (void *)&at, sizeof at) || connect(ends[1], (void *)&at, sizeof at))
            die("udp");
    } else if (strcmp(kind, "tcp") == 0) {
        struct sockaddr_in at = port(base);
        int listening = socket(AF_INET, SOCK_STREAM, 0), one = 1;
        setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
        ends[1] = socket(AF_INET, SOCK_STREAM, 0);
        if (bind(listening, (void *)&at, sizeof at) || listen(listening, 1) ||
            connect(ends[1], (void *)&at, sizeof at))
            die("tcp");
        ends[0] = accept(listening, NULL, NULL);
        setsockopt(ends[1], 6, 1 /* TCP_NODELAY */, &one, sizeof one);
        close(listening);
    } else {
        int type = *kind == 'd' ? SOCK_DGRAM : strcmp(kind, "stream") == 0 ? SOCK_STREAM : SOCK_SEQPACKET;
        if (socketpair(AF_UNIX, type, 0, ends))
            die("socketpair");
    }
    made.in = ends[0];
    made.out = ends[1];
    return made;
}

static void put(const struct link *to, const struct message *what)
{
    if (to->mq ? mq_send(to->out, (const char *)what, sizeof *what, 0) != 0
               : write(to->out, what, sizeof *what) != sizeof *what)
        if (errno != EAGAIN)
            die("put");
}

static int get(const struct link *from, struct message *what)
{
    struct pollfd ready = {from->in, POLLIN, 0};
    if (from->mode != 'e' && poll(&ready, 1, 0) <= 0)
        return 0;
    ssize_t n = from->mq ? mq_receive(from->in, (char *)what, sizeof *what, NULL)
                         : read(from->in, what, sizeof *what);
    return n == sizeof *what;
}

static void reader(struct link *from, struct link *to, struct log *log, int64_t period, int64_t took)
{
    struct message have = {0}, next;
    int64_t at = now() + period;
    for (;;) {
        int64_t had = have.number;
        if (from->mode == 'e') {
            if (!get(from, &next))
                return;
            have = next;
            log->got++;
        } else {
            sleep_until(at);
            at += period;
            while (get(from, &next)) {
                have = next;
                log->got++;
                if (from->mode == 's')
                    break;
            }
        }
        if (have.number < 0)
            break;
        work(took);
        if (to && have.number != had)
            put(to, &have);
        int64_t n = log->count;
        log->job[n].number = have.number;
        log->job[n].born = have.born;
        log->job[n].end = now();
        log->count = n + 1;
        if (n + 2 == MOST)
            break;
    }
    if (to)
        put(to, &(struct message){.number = -1});
}

int main(int argc, char **argv)
{
    if (argc < 5)
        return 2;
    struct link first = make(argv[1], 0), second = make(argv[2], 1);
    int jobs = atoi(argv[3]), burst = argc > 5 ? BURST : 1;
    logs = mmap(NULL, 3 * sizeof *logs, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int64_t start = now() + 50000000;
    pid_t actuator = fork();
    if (actuator == 0) {
        prctl(PR_SET_NAME, "actuator");
        close(first.in);
        close(first.out);
        close(second.out);
        sleep_until(start + 3000000);
        reader(&second, NULL, &logs[1], 7000000, 200000);
        _exit(0);
    }
    pid_t filter = fork();
    if (filter == 0) {
        prctl(PR_SET_NAME, "filter");
        close(first.out);
        close(second.in);
        sleep_until(start + 1500000);
        reader(&first, &second, &logs[0], 13000000, 300000);
        _exit(0);
    }
    prctl(PR_SET_NAME, "sensor");
    close(second.out);
    close(first.in);
    for (int n = 0; n < jobs; n++) {
        int64_t release = start + n * 10000000LL;
        sleep_until(release);
        work(500000);
        logs[2].job[n].born = release;
        logs[2].count++;
        for (int i = 0; i < burst; i++)
            put(&first, &(struct message){.number = ++sent, .born = release});
    }
    sleep_until(start + jobs * 10000000LL + 60000000);
    put(&first, &(struct message){.number = -1});
    waitpid(filter, NULL, 0);
    kill(actuator, 0);
    waitpid(actuator, NULL, 0);
    if (*first.path == '/' && !first.mq)
        unlink(first.path);
    if (*second.path == '/' && !second.mq)
        unlink(second.path);
    if (first.mq)
        mq_unlink(first.path);
    if (second.mq)
        mq_unlink(second.path);
    const struct log *log = &logs[1];
    double sum = 0, sum_reaction = 0;
    int64_t most = 0, count = 0, old = 0, most_reaction = 0, reactions = 0, at = 0;
    for (int64_t n = 0; n < log->count; n++)
        if (log->job[n].number > 0) {
            int64_t age = log->job[n].end - log->job[n].born;
            sum += (double)age;
            most = age > most ? age : most;
            old += age > 9000000;
            count++;
        }
    for (int64_t n = 0; n < jobs; n++) {
        while (at < log->count && log->job[at].number < n * burst + 1)
            at++;
        if (at == log->count)
            break;
        int64_t took = log->job[at].end - (start + n * 10000000LL);
        sum_reaction += (double)took;
        most_reaction = took > most_reaction ? took : most_reaction;
        reactions++;
    }
    FILE *file = fopen(argv[4], "w");
    if (!file)
        die(argv[4]);
    fprintf(file,
            "{\"sent\": %lld, \"taken\": %lld, \"jobs\": %lld, \"age_mean\": %.0f, \"age_max\": %lld,"
            " \"reactions\": %lld, \"reaction_mean\": %.0f, \"reaction_max\": %lld, \"last\": %lld, \"old\": "
            "%lld}\n",
            (long long)sent, (long long)logs[0].got, (long long)count, count ? sum / (double)count : 0.0,
            (long long)most, (long long)reactions, reactions ? sum_reaction / (double)reactions : 0.0,
            (long long)most_reaction, (long long)log->got, (long long)old);
    fclose(file);
    return 0;
}
