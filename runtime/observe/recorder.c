/* What event tracing says of a program, as records (src/deadbeat/program/derive/records.py), and its threads.
 *
 *   recorder INSTANCE FILE KALLSYMS PID...
 *       Drains a private instance of tracefs into FILE, in order of time, and looks at the threads of
 *       the processes and of their children. INSTANCE "-": there is none, only threads are looked at.
 *       Says "threads TIME TID..." when it is ready and for each line of its input; from the line "begin" on
 *       the CPU time of a thread counts, and "gone" once all have ended. Ends with its input or SIGTERM,
 * after a last look; then says what it found.
 *
 *   recorder watch --out FILE --seconds-ns N EVENTS COMMAND...
 *       The same of a command, for at most N ns (0: until it ends), where tracefs and all else is
 *       ours. EVENTS: a file, a line each, its filter behind a blank.
 *   recorder keep PLAN
 *       Watches for days what PLAN says (recorder_keep.c); "replay": the records of its input instead.
 *   recorder cost INSTANCE
 *       Says what its events add to a system call of others, and to a sleep of the program, in ns.
 *
 * Nothing in it needs a right beyond those of reading: sub-buffers come from trace_pipe_raw, one a
 * read, as include/linux/ring_buffer.h and events/header_page of the kernel describe them. */
#include "recorder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOOK_NS 50000000 /* between looks at buffers and threads */
#define BUSY_NS 2000000  /* the same, where a look found more than BUSY_RECORDS */
#define BUSY_RECORDS 10000
#define LOOK_SHARE 50           /* looks at threads take at most this part of a CPU: 1 in 50 */
#define LAST_NS 1000000000      /* the longest look at a buffer */
#define LATE_NS 1000000         /* an event may be in its buffer so long after its time stamp */
#define PENDING_MOST (1u << 19) /* records that wait for their turn: 20 MB, and as much to sort */
#ifndef FILE_MOST
#define FILE_MOST (25u << 20) /* records of a file: 1 GB */
#endif
#define PART 4         /* of the free disk, and of half the memory: who reads it takes more than that */
#define FEW (3u << 19) /* where a machine hands over 64 MB at most */
#define WINDOWS 64u    /* of a file that is full: then every second one is given up */
#define POLL_NS 100000 /* a charge so soon after the last one, and nothing between, is one with it */
#define SUBBUF_MOST (1u << 18)

struct field {
    unsigned offset, size;
    bool is_signed;
};

enum { TID, A, B, C, HIGH, EXTRA, FIELDS }; /* HIGH: upper half of C; EXTRA: of no record */

struct event {
    uint16_t kind;
    struct field field[FIELDS];
    int64_t c;     /* of records that say always the same */
    char call[40]; /* of system calls */
    int64_t number;
    bool uses_file, closes; /* its first argument is the number of a file */
};

static const struct {
    const char *path;
    uint16_t kind;
    const char *field[FIELDS];
    int64_t c;
} TABLE[] = {
#define HANDLER(NAME, WHICH, C)                                                                              \
    {NAME "_entry", INTERRUPT, {"common_pid", WHICH, 0, 0, 0, 0}, C},                                        \
    {                                                                                                        \
        NAME "_exit", INTERRUPT_END, {"common_pid", WHICH, 0, 0, 0, 0}, C                                    \
    }
    HANDLER("irq/irq_handler", "irq", 0),
    HANDLER("irq/softirq", "vec", 1),
    HANDLER("irq_vectors/local_timer", "vector", 2),
    HANDLER("irq_vectors/call_function", "vector", 3),
    HANDLER("irq_vectors/call_function_single", "vector", 3),
    HANDLER("irq_vectors/reschedule", "vector", 4),
    HANDLER("irq_vectors/irq_work", "vector", 5),
    {"exceptions/page_fault_user", FAULT, {"common_pid", "address", 0, 0, 0, 0}, 0},
    {"exceptions/page_fault_kernel", FAULT, {"common_pid", "address", 0, 0, 0, 0}, 0},
    {"kmem/rss_stat", FAULT_END, {"common_pid", 0, 0, 0, 0, 0}, 0},
    {"sched/sched_switch",
     SWITCH,
     {"prev_pid", "next_pid", "prev_state", "prev_prio", "next_prio", "next_comm"},
     0},
    {"sched/sched_waking", WAKING, {"pid", "common_pid", "common_flags", 0, 0, 0}, 0},
    {"sched/sched_stat_runtime", RUNTIME, {"pid", "runtime", 0, 0, 0, 0}, 0},
    {"timer/hrtimer_start", SLEEP_TIMER, {"common_pid", "softexpires", "expires", 0, 0, "function"}, 0},
    {"sched/sched_process_fork", FORK, {"parent_pid", "child_pid", 0, 0, 0, 0}, 0},
    {"sched/sched_process_exec", EXEC, {"pid", "old_pid", 0, 0, 0, 0}, 0},
    {"sched/sched_process_exit", END, {"pid", 0, 0, "prio", 0, "comm"}, 0},
    {"signal/signal_deliver", KILLED, {"common_pid", "sig", 0, 0, 0, 0}, 0},
    {"sched/sched_pi_setprio", PRIORITY, {"pid", "oldprio", "newprio", 0, 0, 0}, 0},
    {"sched/sched_migrate_task", MIGRATE, {"pid", "orig_cpu", "dest_cpu", 0, 0, 0}, 0},
    {"sock/sock_send_length", SENT, {"common_pid", "sk", "ret", "flags", 0, 0}, 0},
    {"sock/sock_recv_length", TAKEN, {"common_pid", "sk", "ret", "flags", 0, 0}, 0},
    {"sock/sk_data_ready", READY, {"common_pid", "skaddr", "family", "protocol", 0, 0}, 0},
    {"skb/kfree_skb", DROPPED, {"common_pid", "rx_sk", "protocol", "reason", 0, 0}, 0},
};

static struct event *events[1u << 16]; /* by the id that this kernel gave them */
static unsigned header_bytes = 16, commit_bytes = 8, subbuf_bytes = 4096;
static uint64_t deadline_function, sleep_function;
static struct record pending[PENDING_MOST], sorted[PENDING_MOST];
static const struct record *order[PENDING_MOST];
static size_t window = FILE_MOST / WINDOWS, stride = 1; /* windows are kept that stride divides */
static size_t pending_count, written, come;
size_t pending_most = PENDING_MOST;
static uint64_t full_ns; /* from then on there was no room; 0: there is */
static int full_why;
size_t lost_count, poll_count;
const char *instance;
static int out = -1;
volatile sig_atomic_t stopped;

void on_term(int signal_number)
{
    (void)signal_number;
    stopped = 1;
}

/* -- formats */

/* The n-th field of a format, and its name without type and brackets; whether there is one. */
static bool nth_field(const char *format, unsigned n, struct field *field, char name[40])
{
    for (const char *at = strstr(format, "field:"); at; at = strstr(at + 6, "field:")) {
        if (n-- > 0)
            continue;
        const char *end = strchr(at, ';'), *begin = end;
        int is_signed;
        if (!end ||
            sscanf(end, "; offset:%u; size:%u; signed:%d", &field->offset, &field->size, &is_signed) != 3)
            return false;
        while (begin > at && begin[-1] != ' ' && begin[-1] != '*')
            begin--;
        snprintf(name, 40, "%.*s", (int)strcspn(begin, "[;"), begin);
        field->is_signed = is_signed != 0;
        return true;
    }
    return false;
}

static struct field named_field(const char *format, const char *name)
{
    struct field field;
    char found[40];
    for (unsigned n = 0; name && nth_field(format, n, &field, found); n++)
        if (strcmp(found, name) == 0)
            return field;
    return (struct field){0};
}

/* The format of an event that is on; null where there is none. */
static struct event *event_of(const char *path, char *format)
{
    char name[512];
    unsigned id;
    snprintf(name, sizeof name, "%s/events/%s/enable", instance, path);
    if (text_of(name, format, TEXT_BYTES) > 0 && format[0] == '0')
        return NULL;
    snprintf(name, sizeof name, "%s/events/%s/format", instance, path);
    const char *at = text_of(name, format, TEXT_BYTES) > 0 ? strstr(format, "ID:") : NULL;
    if (!at || sscanf(at, "ID: %u", &id) != 1 || id >= 1u << 16)
        return NULL;
    if (!events[id])
        events[id] = calloc(1, sizeof *events[id]);
    return events[id];
}

/* Whether a call moves data through the file that its first argument names. */
static bool moves_data(const char *call)
{
    static const char *const calls[] = {"read",     "write",    "readv",        "writev",
                                        "recvfrom", "sendto",   "recvmsg",      "sendmsg",
                                        "recvmmsg", "sendmmsg", "mq_timedsend", "mq_timedreceive"};
    for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++) {
        size_t length = strlen(calls[i]); /* 32-bit kernels have recvmmsg_time32, too */
        if (strncmp(call, calls[i], length) == 0 &&
            (!call[length] || strncmp(call + length, "_time", 5) == 0))
            return true;
    }
    return false;
}

/* Fields of all system calls are the four common ones, the number, then arguments or what it returned. */
static bool know_call(const char *name, char *format)
{
    static const struct {
        const char *prefix;
        uint16_t kind;
    } sides[] = {{"sys_enter_", ENTER}, {"sys_exit_", EXIT}};
    bool known = false;
    for (unsigned side = 0; side < 2; side++) {
        size_t skip = strlen(sides[side].prefix);
        char path[300], found[40];
        snprintf(path, sizeof path, "syscalls/%s", name);
        struct event *event = strncmp(name, sides[side].prefix, skip) == 0 ? event_of(path, format) : NULL;
        if (!event)
            continue;
        event->kind = sides[side].kind;
        event->number = -1;
        event->field[TID] = named_field(format, "common_pid");
        for (unsigned n = 0; n < 3; n++)
            if (!nth_field(format, 4 + n, &event->field[A + n], found))
                event->field[A + n] = (struct field){0};
        snprintf(event->call, sizeof event->call, "%s", name + skip);
        event->closes = event->kind == ENTER && strcmp(event->call, "close") == 0;
        event->uses_file = event->closes || (event->kind == ENTER && moves_data(event->call));
        if (strcmp(event->call, "mq_timedsend") == 0 && event->kind == ENTER)
            event->field[C] = named_field(format, "msg_prio"); /* by which they are taken */
        known = true;
    }
    return known;
}

/* hrtimer_start names its function by address only. */
static void know_timers(const char *kallsyms)
{
    char line[512], name[128];
    uint64_t address;
    FILE *file = fopen(kallsyms, "re");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "%" SCNx64 " %*c %127s", &address, name) != 2)
            continue;
        else if (strcmp(name, "dl_task_timer") == 0)
            deadline_function = address;
        else if (strcmp(name, "hrtimer_wakeup") == 0)
            sleep_function = address;
    if (file)
        fclose(file);
    if (!deadline_function || !sleep_function)
        puts("missing kallsyms");
}

/* -1: sub-buffers are none that we know. */
int know_events(const char *kallsyms)
{
    static char format[TEXT_BYTES];
    char path[512];
    snprintf(path, sizeof path, "%s/events/header_page", instance);
    if (text_of(path, format, sizeof format) > 0) {
        struct field commit = named_field(format, "commit"), data = named_field(format, "data");
        commit_bytes = commit.size;
        header_bytes = data.offset;
        subbuf_bytes = data.offset + data.size;
    }
    for (unsigned i = 0; i < sizeof TABLE / sizeof *TABLE; i++) {
        struct event *event = event_of(TABLE[i].path, format);
        if (!event) {
            printf("missing %s\n", TABLE[i].path);
            continue;
        }
        event->kind = TABLE[i].kind;
        event->c = TABLE[i].c;
        for (unsigned n = 0; n < FIELDS; n++)
            event->field[n] = named_field(format, TABLE[i].field[n]);
    }
    snprintf(path, sizeof path, "%s/events/syscalls", instance);
    DIR *folder = opendir(path);
    bool found = false;
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        found |= know_call(entry->d_name, format);
    if (folder)
        closedir(folder);
    if (!found)
        puts("missing syscalls");
    know_timers(kallsyms);
    bool known = subbuf_bytes <= SUBBUF_MOST && header_bytes <= 64;
    errno = EINVAL;
    return known && (commit_bytes == 4 || commit_bytes == 8) ? 0 : -1;
}

/* -- records */

static int earlier(const void *a, const void *b)
{
    const struct record *x = *(const struct record *const *)a, *y = *(const struct record *const *)b;
    if (x->ns != y->ns)
        return x->ns < y->ns ? -1 : 1;
    return x < y ? -1 : x > y; /* as they came: the order of one CPU stays */
}

/* Gives up every second window of a file that is full, and of what comes. */
static int thin(void)
{
    static char part[1u << 16];
    off_t bytes = (off_t)(window * sizeof *pending);
    for (off_t to = bytes; to < (off_t)WINDOWS / 2 * bytes;) {
        off_t left = bytes - to % bytes, from = to / bytes * 2 * bytes + to % bytes;
        ssize_t n = pread(out, part, left < (off_t)sizeof part ? (size_t)left : sizeof part, from);
        if (n <= 0 || pwrite(out, part, (size_t)n, to) != n)
            return -1;
        to += n;
    }
    written /= 2;
    stride *= 2;
    off_t end = (off_t)(written * sizeof *pending);
    return ftruncate(out, end) == 0 && lseek(out, end, SEEK_SET) == end ? 0 : -1;
}

/* Writes records into the file. */
static int write_records(const struct record *records, size_t count)
{
    for (size_t i = 0, n; i < count; i += n, come += n) {
        n = window - come % window;
        n = n < count - i ? n : count - i;
        if (come / window % stride != 0)
            continue;
        if (full_ns)
            continue;
        if ((written == WINDOWS * window && thin() != 0) ||
            write_all(out, records + i, n * sizeof *records) != 0) {
            if (errno != ENOSPC && errno != EDQUOT && errno != EFBIG)
                return -1;
            full_ns = records[i].ns; /* what there is, is kept */
            full_why = errno;
            if (ftruncate(out, (off_t)(written * sizeof *records)) != 0)
                return -1;
            continue;
        }
        written += n;
    }
    return 0;
}

int (*take)(const struct record *records, size_t count) = write_records;

/* Takes what is older than ``until``, in order of time; the rest waits. */
int flush_until(uint64_t until)
{
    size_t count = 0;
    for (size_t i = 0; i < pending_count; i++)
        order[i] = &pending[i];
    qsort(order, pending_count, sizeof *order, earlier);
    for (size_t i = 0; i < pending_count; i++) {
        sorted[i] = *order[i];
        if (sorted[i].ns > until)
            continue;
        count++;
        if (sorted[i].kind == FORK || sorted[i].kind == EXEC || sorted[i].kind == END)
            follow(&sorted[i]);
    }
    if (take(sorted, count) != 0)
        return -1;
    pending_count -= count;
    memcpy(pending, sorted + count, pending_count * sizeof *pending);
    return 0;
}

static int keep(const struct record *record)
{
    if (pending_count == pending_most && flush_until(UINT64_MAX) != 0)
        return -1;
    struct record *last = pending_count ? &pending[pending_count - 1] : NULL; /* of this CPU, mostly */
    if (last && record->kind == RUNTIME && last->kind == RUNTIME && last->tid == record->tid &&
        last->cpu == record->cpu && record->ns - last->ns < POLL_NS) {
        last->a += record->a; /* who looks at its own CPU time is charged each time */
        last->ns = record->ns;
        poll_count++;
        return 0;
    }
    pending[pending_count++] = *record;
    return 0;
}

int (*sink)(const struct record *record) = keep;

static int64_t value_of(const struct field *field, const unsigned char *data, size_t bytes)
{
    union {
        int8_t i8;
        int16_t i16;
        int32_t i32;
        int64_t i64;
        uint8_t u8;
        uint16_t u16;
        uint32_t u32;
    } value;
    if (!field->size || field->size > 8 || field->offset + field->size > bytes)
        return 0;
    memcpy(&value, data + field->offset, field->size);
    switch (field->size) {
    case 1:
        return field->is_signed ? value.i8 : value.u8;
    case 2:
        return field->is_signed ? value.i16 : value.u16;
    case 4:
        return field->is_signed ? (int64_t)value.i32 : (int64_t)value.u32;
    default:
        return value.i64;
    }
}

static int decode_event(const unsigned char *data, size_t bytes, uint64_t ns, uint16_t cpu)
{
    uint16_t id;
    memcpy(&id, data, sizeof id);
    struct event *event = bytes >= sizeof id ? events[id] : NULL;
    if (!event)
        return 0;
    int64_t value[HIGH + 1];
    for (unsigned n = 0; n <= HIGH; n++)
        value[n] = value_of(&event->field[n], data, bytes);
    struct record record = {ns,       (uint32_t)value[TID], event->kind, cpu, value[A],
                            value[B], value[C] + event->c};
    if (event->field[HIGH].size)
        record.c = (int64_t)((uint64_t)value[HIGH] << 32 | (uint32_t)value[C]);
    if (*event->call) {
        event->number = record.a;
        if (event->uses_file)
            see_file(record.tid, record.b, event->closes);
    } else if (record.kind == SLEEP_TIMER && deadline_function && sleep_function) {
        uint64_t function = (uint64_t)value_of(&event->field[EXTRA], data, bytes);
        if (function == deadline_function)
            record.kind = DEADLINE_TIMER;
        else if (function != sleep_function)
            return 0;
    }
    const struct field *comm = &event->field[EXTRA];
    if (comm->size == 16 && comm->offset + comm->size <= bytes) {
        if (record.kind == END)
            memcpy((char *)&record + offsetof(struct record, a), data + comm->offset, 16);
        else
            name_of((uint32_t)record.a, (const char *)data + comm->offset);
    }
    return sink(&record);
}

/* Events of a CPU that were lost since the last answer: ``count`` by the sub-buffer, which has no room
 * for it where it is full; then by the CPU's statistics. */
static int64_t newly_lost(uint16_t cpu, uint64_t count)
{
    static uint64_t before[CPUS_MOST];
    char path[512], text[1024];
    snprintf(path, sizeof path, "%s/per_cpu/cpu%u/stats", instance, cpu);
    if (!count && cpu < CPUS_MOST && text_of(path, text, sizeof text) > 0) {
        const char *overrun = strstr(text, "\noverrun:"), *refused = strstr(text, "\ndropped events:");
        uint64_t all = overrun ? strtoull(overrun + 9, NULL, 10) : 0;
        all += refused ? strtoull(refused + 16, NULL, 10) : 0;
        count = all > before[cpu] ? all - before[cpu] : 0;
    }
    count += !count; /* one at least */
    if (cpu < CPUS_MOST)
        before[cpu] += count;
    lost_count += count;
    return (int64_t)count;
}

/* Decodes one sub-buffer; the time of its last event is kept in ``last``. */
static int decode(const unsigned char *page, size_t bytes, uint16_t cpu, uint64_t *last)
{
    uint64_t ns, commit = 0, missed = 0;
    uint32_t head, more;
    memcpy(&ns, page, sizeof ns);
    if (commit_bytes == 4) {
        memcpy(&head, page + 8, 4);
        commit = head;
    } else
        memcpy(&commit, page + 8, 8);
    const unsigned char *at = page + header_bytes, *end = at + (commit & ((1u << 27) - 1));
    if (end > page + bytes)
        end = page + bytes;
    if (commit & 1u << 31) {
        if (commit & 1u << 30 && end + commit_bytes <= page + bytes)
            memcpy(&missed, end, commit_bytes); /* a long, behind the events */
        struct record lost = {.ns = ns, .kind = LOST, .cpu = cpu, .a = newly_lost(cpu, missed)};
        if (sink(&lost) != 0)
            return -1;
    }
    while (at + 4 <= end) {
        memcpy(&head, at, 4);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        uint32_t type = head >> 27, delta = head & ((1u << 27) - 1);
#else
        uint32_t type = head & 31, delta = head >> 5;
#endif
        at += 4;
        more = 0;
        if ((type == 0 || type > 28) && at + 4 <= end)
            memcpy(&more, at, 4);
        size_t length = type == 0 || type == 29 ? (more + 3) & ~3u : type > 29 ? 4 : type * 4;
        if ((type == 29 && delta == 0) || length > (size_t)(end - at))
            break;      /* the rest is empty */
        if (type == 31) /* its upper five bits are left out */
            ns = (ns & ~((UINT64_C(1) << 59) - 1)) | ((uint64_t)more << 27 | delta);
        else
            ns += type == 30 ? (uint64_t)more << 27 | delta : delta;
        size_t skip = type == 0 ? 4 : 0;
        if (type < 29 && length >= skip + 4 && decode_event(at + skip, length - skip, ns, cpu) != 0)
            return -1;
        at += length;
    }
    *last = ns;
    return 0;
}

/* Decodes what was recorded on a CPU until ``until``, or as long as ``give_up`` is not reached: where
 * what we do is itself recorded there is no end. */
int drain(int file, uint16_t cpu, uint64_t until, uint64_t give_up)
{
    static unsigned char page[SUBBUF_MOST];
    uint64_t last = 0;
    ssize_t n;
    while (last <= until && now_ns() < give_up &&
           (n = read(file, page, subbuf_bytes)) >= (ssize_t)header_bytes)
        if (decode(page, (size_t)n, cpu, &last) != 0)
            return -1;
    return 0;
}

unsigned open_buffers(struct pollfd *files, uint16_t *cpus)
{
    char path[512];
    unsigned count = 0, cpu;
    snprintf(path, sizeof path, "%s/per_cpu", instance);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && count < CPUS_MOST && (entry = readdir(folder));) {
        if (sscanf(entry->d_name, "cpu%u", &cpu) != 1)
            continue;
        snprintf(path, sizeof path, "%s/per_cpu/cpu%u/trace_pipe_raw", instance, cpu);
        files[count].fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        cpus[count] = (uint16_t)cpu;
        count += files[count].fd >= 0;
    }
    if (folder)
        closedir(folder);
    return count;
}

static int record_until_end(void)
{
    static struct pollfd files[CPUS_MOST];
    static uint16_t cpus[CPUS_MOST];
    unsigned count = open_buffers(files, cpus);
    say_present(false);
    look_around(true);
    bool busy = false, gone = false;
    for (uint64_t due = 0; !stopped;) {
        struct pollfd input = {.fd = 0, .events = POLLIN};
        char line[64];
        if (poll(&input, 1, (busy ? BUSY_NS : LOOK_NS) / 1000000) > 0) {
            if (read(0, line, sizeof line) <= 0)
                stopped = 1;
            else
                say_present(line[0] == 'b');
        }
        size_t before = come;
        uint64_t begin = now_ns(), until = stopped ? UINT64_MAX : begin;
        for (unsigned i = 0; i < count; i++)
            if (drain(files[i].fd, cpus[i], until, begin + LAST_NS) != 0)
                return fail("file of events");
        if (flush_until(stopped ? UINT64_MAX : begin - LATE_NS) != 0)
            return fail("file of events");
        busy = come - before > BUSY_RECORDS;
        uint64_t looked = now_ns();
        if (looked >= due || stopped) {
            look_at_threads();
            look_at_files();
            uint64_t rest = (now_ns() - looked) * LOOK_SHARE;
            due = looked + (rest > LOOK_NS ? rest : LOOK_NS);
            if (all_ended() && !gone && !stopped) {
                puts("gone");
                gone = fflush(stdout) == 0;
            }
        }
    }
    return 0;
}

void say_calls(void)
{
    for (unsigned id = 0; id < 1u << 16; id++)
        if (events[id] && *events[id]->call && events[id]->number >= 0)
            printf("call %" PRId64 " %s\n", events[id]->number, events[id]->call);
}

int main(int argc, char **argv)
{
    if (argc == 3 && (strcmp(argv[1], "keep") == 0 || strcmp(argv[1], "replay") == 0))
        return keep_misses(argv[2], argv[1][0] == 'r');
    pid_t command = 0;
    int gate = -1;
    if (argc > 7 && strcmp(argv[1], "watch") == 0) {
        set_up(argv[6]);
        window = FEW / WINDOWS;
        command = at_gate(argv + 7, &gate);
    }
    if (argc == 3 && strcmp(argv[1], "cost") == 0) {
        instance = argv[2];
        return say_cost();
    }
    if (argc < 4) {
        fputs("recorder INSTANCE FILE KALLSYMS PID...\n", stderr);
        return 2;
    }
    syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, &(struct sched_param){0}); /* not as our maker */
    struct sigaction term = {.sa_handler = on_term};
    sigaction(SIGTERM, &term, NULL);
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    const char *path = argv[command ? 3 : 2], *kallsyms = command ? "/proc/kallsyms" : argv[3];
    if ((out = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)) < 0)
        return fail(path);
    instance = command ? instance : argv[1];
    struct statvfs disk;
    uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 2;
    if (fstatvfs(out, &disk) == 0) {
        uint64_t most = (uint64_t)disk.f_bavail * disk.f_frsize;
        most = (most < memory ? most : memory) / PART / sizeof *pending / WINDOWS;
        window = most >= window ? window : most > 1 ? most : 1;
    }
    if (strcmp(instance, "-") != 0 && know_events(kallsyms) != 0)
        return fail("header_page");
    for (int i = 4; i < argc && !command; i++)
        know_process((uint32_t)strtoul(argv[i], NULL, 10));
    if (command) {
        know_process((uint32_t)command);
        begin_command(command, gate, argv[5]);
    }
    if (record_until_end() != 0)
        return 1;
    if (command)
        end_command(command);
    say_calls();
    say_threads();
    say_files();
    look_around(false);
    say_names();
    if (full_ns)
        printf("full %" PRIu64 " %s\n", full_ns, strerror(full_why));
    printf("polls %zu\nended %zu %zu\n", poll_count, stride, window);
    return 0;
}
