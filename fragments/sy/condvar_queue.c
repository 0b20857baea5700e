/*+++
 * name = "condvar_queue"
 * kind = "SY"
 * summary = "Bounded queue of a mutex and condition variables: send a message, receive any"
 * resource_class = "queue"
 * sizes = [8, 64, 256]
 * size_unit = "operations"
 * quick = [8, 64]
 * requires = ["condition-variable"]
 * modes = ["default"]
 * blocking = true
 * hold = "one message of 64 bytes copied under the mutex"
 * parallel = true
 * mixed_priorities = true
 * origin = "own; POSIX threads, the bounded buffer of any textbook"
 * tacle = ""
 * licence = "Apache-2.0"
 * tsan = true
 +++*/
#include "deadbeat/sy/condvar_queue.h"

static int create(struct db_resource *resource)
{
    return db_condvar_queue_create(resource, resource->participants);
}

static void run(struct db_context *context)
{
    struct db_condvar_queue *queue = db_object(context->resource);
    struct db_account *account = db_account(context);
    struct db_message message;
    for (uint32_t i = 0; i < context->size; i++) {
        db_message_write(&message, context);
        account->sent += message.value;
        int error = db_condvar_queue_send(queue, &message, context);
        if (!error) {
            error = db_condvar_queue_receive(queue, &message, context);
        }
        if (error) {
            db_sy_fault(context, "the queue's mutex failed", error);
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
    const struct db_condvar_queue *queue = db_object(resource);
    if (db_sy_tokens_back(queue->count, 0, why, why_bytes)) {
        return 1;
    }
    return db_sy_delivered(resource, why, why_bytes);
}

extern const struct db_fragment db_fragment_condvar_queue;
const struct db_fragment db_fragment_condvar_queue = {
    .name = "condvar_queue",
    .kind = DB_SY,
    .context_bytes = db_sy_context_bytes,
    .setup = db_sy_setup,
    .run = run,
    .check = db_sy_check,
    .shared_bytes = db_condvar_queue_shared_bytes,
    .create = create,
    .check_resource = check_resource,
    .destroy = db_condvar_queue_destroy,
};
