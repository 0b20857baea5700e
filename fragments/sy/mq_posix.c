/*+++
 * name = "mq_posix"
 * kind = "SY"
 * summary = "The system's message queue: send a message, receive any"
 * resource_class = "queue"
 * sizes = [1, 4, 16, 64]
 * size_unit = "operations"
 * quick = [1, 16]
 * requires = ["message-queue"]
 * modes = ["default"]
 * blocking = false
 * hold = "the kernel's lock of the queue while a message is linked or unlinked"
 * parallel = true
 * mixed_priorities = true
 * origin = "own; POSIX message queues, and the queues of real-time kernels"
 * tacle = ""
 * licence = "Apache-2.0"
 * tsan = false
 +++*/
#include "deadbeat/sy/system_queue.h"

/* A participant has at most one message in the queue, so nobody finds it full; it sends before it
 * receives, so nobody finds it empty. */
static int create(struct db_resource *resource)
{
    return port_queue_init(db_system_queue(resource), resource->participants, sizeof(struct db_message));
}

static void run(struct db_context *context)
{
    struct port_queue *queue = db_system_queue(context->resource);
    struct db_account *account = db_account(context);
    struct db_message message;
    for (uint32_t i = 0; i < context->size; i++) {
        db_message_write(&message, context);
        account->sent += message.value;
        int error = port_queue_send(queue, &message);
        if (error) {
            db_sy_fault(context, "a message could not be sent", error);
            return;
        }
        error = port_queue_receive(queue, &message);
        if (error) {
            db_sy_fault(context, "no message could be received", error);
            return;
        }
        if (!db_message_accept(context, &message)) {
            return;
        }
    }
    db_sy_done(context, context->size);
}

static int check_resource(const struct db_resource *resource, char *why, size_t why_bytes)
{
    if (db_sy_tokens_back(port_queue_count(db_system_queue(resource)), 0, why, why_bytes)) {
        return 1;
    }
    return db_sy_delivered(resource, why, why_bytes);
}

extern const struct db_fragment db_fragment_mq_posix;
const struct db_fragment db_fragment_mq_posix = {
    .name = "mq_posix",
    .kind = DB_SY,
    .context_bytes = db_sy_context_bytes,
    .setup = db_sy_setup,
    .run = run,
    .check = db_sy_check,
    .shared_bytes = db_system_queue_shared_bytes,
    .create = create,
    .check_resource = check_resource,
    .destroy = db_system_queue_destroy,
};
