/*+++
 * name = "condvar_queue_scarce"
 * kind = "SY"
 * summary = "Bounded queue of a mutex and condition variables with fewer messages than participants"
 * resource_class = "queue"
 * sizes = [8, 64, 256]
 * size_unit = "operations"
 * quick = []
 * requires = ["condition-variable"]
 * modes = ["default"]
 * blocking = true
 * hold = "one message checked and stamped between receive and send"
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
    const uint32_t tokens = db_scarce_tokens(resource);
    int error = db_condvar_queue_create(resource, tokens);
    for (uint32_t i = 0; i < tokens && !error; i++) {
        struct db_message token;
        db_message_token(&token, i);
        error = db_condvar_queue_send(db_object(resource), &token, NULL);
    }
    return error;
}

static void run(struct db_context *context)
{
    struct db_condvar_queue *queue = db_object(context->resource);
    struct db_message token;
    for (uint32_t i = 0; i < context->size; i++) {
        int error = db_condvar_queue_receive(queue, &token, NULL);
        if (error) {
            db_sy_fault(context, "the queue's mutex failed", error);
            return;
        }
        const bool intact = db_message_intact(&token, context->resource->participants);
        db_message_pass_on(&token, context);
        error = db_condvar_queue_send(queue, &token, NULL);
        if (error || !intact) {
            db_sy_fault(context, error ? "the queue's mutex failed" : "a damaged token was received", error);
            return;
        }
    }
    db_sy_done(context, context->size);
}

static int check_resource(const struct db_resource *resource, char *why, size_t why_bytes)
{
    const struct db_condvar_queue *queue = db_object(resource);
    if (db_sy_tokens_back(queue->count, db_scarce_tokens(resource), why, why_bytes)) {
        return 1;
    }
    uint64_t hops = 0;
    for (uint32_t i = 0; i < queue->count; i++) {
        hops += queue->slots[(queue->head + i) % queue->capacity].hops;
    }
    return db_sy_conserved(resource, hops, why, why_bytes);
}

extern const struct db_fragment db_fragment_condvar_queue_scarce;
const struct db_fragment db_fragment_condvar_queue_scarce = {
    .name = "condvar_queue_scarce",
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
