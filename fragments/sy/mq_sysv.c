/*+++
 * name = "mq_sysv"
 * kind = "SY"
 * summary = "System V message queue: send a message, receive any"
 * resource_class = "queue"
 * sizes = [1, 4, 16, 64]
 * size_unit = "operations"
 * quick = []
 * requires = ["sysv-ipc"]
 * modes = ["default"]
 * blocking = false
 * hold = "the kernel's lock of the queue while a message is linked or unlinked"
 * parallel = false
 * mixed_priorities = true
 * origin = "own; System V message queues"
 * tacle = ""
 * licence = "Apache-2.0"
 * tsan = false
 +++*/
#include "deadbeat/sy/message.h"

#include <sys/ipc.h>
#include <sys/msg.h>

/* The type is directly followed by the message, also where a long has half the width of its words. */
enum { TYPE = sizeof(uint64_t) / sizeof(long) - 1 };

struct envelope {
    long type[TYPE + 1];
    struct db_message message;
};

_Static_assert(offsetof(struct envelope, message) == sizeof(uint64_t), "nothing between type and message");

static size_t shared_bytes(uint32_t participants, uint32_t max_size)
{
    (void)max_size;
    return db_accounts_bytes(participants);
}

/* A queue holds msg_qbytes bytes (16,384 unless the administrator changed it): room for a message
 * of every participant must be there, so that no sender waits. */
static int make_room(int id, uint32_t participants)
{
    struct msqid_ds state;
    if (msgctl(id, IPC_STAT, &state)) {
        return errno;
    }
    const size_t wanted = (size_t)participants * sizeof(struct db_message);
    if (state.msg_qbytes >= wanted) {
        return 0;
    }
    state.msg_qbytes = wanted;
    return msgctl(id, IPC_SET, &state) ? errno : 0;
}

static int create(struct db_resource *resource)
{
    const int id = msgget(IPC_PRIVATE, 0600);
    if (id < 0) {
        return errno;
    }
    const int error = make_room(id, resource->participants);
    if (error) {
        (void)msgctl(id, IPC_RMID, NULL);
        return error;
    }
    resource->words[0] = (uint64_t)id;
    return 0;
}

static int send_message(int id, const struct envelope *envelope)
{
    int result;
    do {
        result = msgsnd(id, &envelope->type[TYPE], sizeof envelope->message, 0);
    } while (result != 0 && errno == EINTR);
    return result ? errno : 0;
}

static int receive_message(int id, struct envelope *envelope)
{
    ssize_t bytes;
    do {
        bytes = msgrcv(id, &envelope->type[TYPE], sizeof envelope->message, 0, 0);
    } while (bytes < 0 && errno == EINTR);
    if (bytes < 0) {
        return errno;
    }
    return bytes == sizeof envelope->message ? 0 : EMSGSIZE;
}

static void run(struct db_context *context)
{
    const int id = (int)context->resource->words[0];
    struct db_account *account = db_account(context);
    struct envelope envelope = {.type[TYPE] = 1};
    for (uint32_t i = 0; i < context->size; i++) {
        db_message_write(&envelope.message, context);
        account->sent += envelope.message.value;
        int error = send_message(id, &envelope);
        if (error) {
            db_sy_fault(context, "msgsnd failed", error);
            return;
        }
        error = receive_message(id, &envelope);
        if (error) {
            db_sy_fault(context, "msgrcv failed", error);
            return;
        }
        if (!db_message_accept(context, &envelope.message)) {
            return;
        }
    }
    db_sy_done(context, context->size);
}

static int check_resource(const struct db_resource *resource, char *why, size_t why_bytes)
{
    struct msqid_ds state;
    if (msgctl((int)resource->words[0], IPC_STAT, &state)) {
        snprintf(why, why_bytes, "the queue is gone: %s", strerror(errno));
        return 1;
    }
    if (db_sy_tokens_back((int64_t)state.msg_qnum, 0, why, why_bytes)) {
        return 1;
    }
    return db_sy_delivered(resource, why, why_bytes);
}

static void destroy(struct db_resource *resource)
{
    (void)msgctl((int)resource->words[0], IPC_RMID, NULL);
}

extern const struct db_fragment db_fragment_mq_sysv;
const struct db_fragment db_fragment_mq_sysv = {
    .name = "mq_sysv",
    .kind = DB_SY,
    .context_bytes = db_sy_context_bytes,
    .setup = db_sy_setup,
    .run = run,
    .check = db_sy_check,
    .shared_bytes = shared_bytes,
    .create = create,
    .check_resource = check_resource,
    .destroy = destroy,
};
