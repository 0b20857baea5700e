/*+++
 * name = "signal_realtime"
 * kind = "SY"
 * summary = "Queued real-time signals: take one from the own queue, queue one to the own or another task"
 * resource_class = "signal"
 * sizes = [1, 4, 16, 64]
 * size_unit = "operations"
 * quick = []
 * requires = ["signal"]
 * modes = ["default"]
 * blocking = false
 * hold = "the kernel's signal lock of a process while a signal is queued or dequeued"
 * parallel = false
 * mixed_priorities = true
 * origin = "own; sigqueue(3), sigwaitinfo(2)"
 * tacle = ""
 * licence = "Apache-2.0"
 * tsan = true
 +++*/
/* Which object is contended. A queue of pending signals belongs to one process and can be read only
 * by that process; no kernel object exists from which tasks of two processes take signals. But a
 * queue can be written from anywhere, and reading and writing take one lock (siglock, one a
 * process). So every participant owns the queue of its thread, with a token in it that keeps it from
 * waiting, plus, when there are others, a surplus token. Who holds a surplus sends it to another
 * participant, who sends it on: tasks that run at the same time take each other's lock at nearly
 * every operation; a task that runs alone soon has no surplus and signals itself. An operation is
 * always one signal taken and one queued, nobody waits for a partner, and CON and PAR run the same
 * code. Not separable: each queued signal is also counted per user, in one line for all processes. */
#include "deadbeat/sy/common.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define OPEN UINT32_C(0x80000000)

struct mailbox {
    /* OPEN and the number of tokens that are in the queue, in the owner's hand or on their way. */
    alignas(DB_CACHE_LINE) _Atomic uint32_t state;
    _Atomic uint32_t arrived; /* the same without those on their way */
    int32_t process;
    int32_t thread;
    uint32_t contexts; /* of the owning task that are set up */
    uint32_t lost;     /* tokens that never came, found when the mailbox was closed */
};

struct object {
    alignas(DB_CACHE_LINE) _Atomic uint64_t created; /* tokens */
    _Atomic uint64_t removed;
    struct mailbox mailboxes[];
};

static size_t shared_bytes(uint32_t participants, uint32_t max_size)
{
    (void)max_size;
    return db_accounts_bytes(participants) + sizeof(struct object) + participants * sizeof(struct mailbox);
}

static int create(struct db_resource *resource)
{
    struct object *object = db_object(resource);
    atomic_init(&object->created, 0);
    return 0;
}

/* One number for all resources: tokens of one thread's queue are alike, and every resource sees to
 * it that its own are there: as many, not the same ones, so values are not added up. Emulators of
 * one process lack the last few. */
static int signal_number(void)
{
    return SIGRTMAX - 4;
}

/* A payload of 32 bits (sival_int is no wider everywhere): the lower half proves the upper. */
static uint32_t payload(uint64_t random)
{
    const uint32_t upper = (uint32_t)(random >> 48);
    return upper << 16 | (((upper * UINT32_C(0x9E37)) >> 3 ^ 0xA5A5) & 0xFFFF);
}

static bool payload_intact(uint32_t value)
{
    return value == payload((uint64_t)(value >> 16) << 48);
}

/* sigqueue() to one thread: the C library has no call for a thread of another process. */
static int queue_to(const struct mailbox *mailbox, const struct db_context *context)
{
    struct db_sy_task *task = context->memory;
    const uint32_t value = payload(db_random(&task->random));
    siginfo_t info;
    memset(&info, 0, sizeof info);
    info.si_signo = signal_number();
    info.si_code = SI_QUEUE;
    info.si_pid = (pid_t)db_account(context)->process;
    info.si_value.sival_int = (int)value;
    return syscall(SYS_rt_tgsigqueueinfo, mailbox->process, mailbox->thread, info.si_signo, &info) ? errno
                                                                                                   : 0;
}

/* A signal from the own queue; EAGAIN after a second without one. */
static int take(void)
{
    const struct timespec second = {.tv_sec = 1};
    sigset_t set;
    siginfo_t info;
    sigemptyset(&set);
    sigaddset(&set, signal_number());
    info.si_value.sival_int = 0;
    int number;
    do {
        number = sigtimedwait(&set, &info, &second);
    } while (number < 0 && errno == EINTR);
    if (number < 0) {
        return errno;
    }
    const uint32_t value = (uint32_t)info.si_value.sival_int;
    return number == signal_number() && payload_intact(value) ? 0 : EBADMSG;
}

static int open_mailbox(struct object *object, struct mailbox *mailbox, struct db_context *context)
{
    const uint32_t tokens = context->resource->participants > 1 ? 2 : 1;
    mailbox->process = getpid();
    mailbox->thread = (int32_t)syscall(SYS_gettid);
    for (uint32_t i = 0; i < tokens; i++) {
        const int error = queue_to(mailbox, context);
        if (error) {
            return error;
        }
    }
    atomic_fetch_add(&object->created, tokens);
    atomic_store(&mailbox->arrived, tokens);
    atomic_store(&mailbox->state, OPEN | tokens);
    return 0;
}

static int setup(struct db_context *context)
{
    struct object *object = db_object(context->resource);
    struct mailbox *mailbox = &object->mailboxes[context->participant];
    sigset_t set;
    (void)db_sy_setup(context);
    sigemptyset(&set);
    sigaddset(&set, signal_number());
    int error = pthread_sigmask(SIG_BLOCK, &set, NULL);
    if (!error && mailbox->contexts == 0) {
        error = open_mailbox(object, mailbox, context);
    }
    if (!error) {
        mailbox->contexts++;
    }
    return error;
}

/* The last context of a task closes its mailbox: nobody sends any more, and all that was announced
 * comes, because a sender announces a token and then queues it. */
static void teardown(struct db_context *context)
{
    struct object *object = db_object(context->resource);
    struct mailbox *mailbox = &object->mailboxes[context->participant];
    if (--mailbox->contexts > 0) {
        return;
    }
    const uint32_t tokens = atomic_exchange(&mailbox->state, 0) & ~OPEN;
    for (uint32_t i = 0; i < tokens; i++) {
        mailbox->lost += take() != 0;
    }
    atomic_fetch_add(&object->removed, tokens);
}

/* Announces a token to a mailbox; false if it is closed. */
static bool announce(struct mailbox *mailbox)
{
    uint32_t state = atomic_load(&mailbox->state);
    while (state & OPEN) {
        if (atomic_compare_exchange_weak(&mailbox->state, &state, state + 1)) {
            return true;
        }
    }
    return false;
}

/* Queues the token in hand to another participant if there is a surplus, else to the own queue. */
static int pass_on(const struct db_context *context)
{
    struct object *object = db_object(context->resource);
    struct db_sy_task *task = context->memory;
    struct mailbox *own = &object->mailboxes[context->participant];
    const uint32_t others = context->resource->participants - 1;
    if (others > 0 && atomic_load(&own->arrived) > 1) {
        const uint32_t step = 1 + (uint32_t)(db_random(&task->random) >> 33) % others;
        struct mailbox *other = &object->mailboxes[(context->participant + step) % (others + 1)];
        if (announce(other)) {
            atomic_fetch_sub(&own->arrived, 1);
            atomic_fetch_sub(&own->state, 1);
            const int error = queue_to(other, context);
            atomic_fetch_add(&other->arrived, 1);
            return error;
        }
    }
    return queue_to(own, context);
}

static void run(struct db_context *context)
{
    for (uint32_t i = 0; i < context->size; i++) {
        int error = take();
        if (error) {
            db_sy_fault(context, "no intact signal in the own queue", error);
            return;
        }
        error = pass_on(context);
        if (error) {
            db_sy_fault(context, "rt_tgsigqueueinfo failed", error);
            return;
        }
    }
    db_sy_done(context, context->size);
}

static int check_resource(const struct db_resource *resource, char *why, size_t why_bytes)
{
    struct object *object = db_object(resource);
    uint64_t tokens = atomic_load(&object->removed);
    for (uint32_t i = 0; i < resource->participants; i++) {
        const struct mailbox *mailbox = &object->mailboxes[i];
        if (mailbox->lost > 0) {
            snprintf(why, why_bytes, "%" PRIu32 " signals to participant %" PRIu32 " never came",
                     mailbox->lost, i);
            return 1;
        }
        tokens += atomic_load(&mailbox->state) & ~OPEN;
    }
    return db_sy_tokens_back((int64_t)tokens, (int64_t)atomic_load(&object->created), why, why_bytes);
}

static void destroy(struct db_resource *resource)
{
    (void)resource;
}

extern const struct db_fragment db_fragment_signal_realtime;
const struct db_fragment db_fragment_signal_realtime = {
    .name = "signal_realtime",
    .kind = DB_SY,
    .context_bytes = db_sy_context_bytes,
    .setup = setup,
    .run = run,
    .check = db_sy_check,
    .teardown = teardown,
    .shared_bytes = shared_bytes,
    .create = create,
    .check_resource = check_resource,
    .destroy = destroy,
};
