/*+++
 * name = "mq_posix_scarce"
 * kind = "SY"
 * summary = "The system's message queue with fewer messages than participants: take one, put it back"
 * resource_class = "queue"
 * sizes = [1, 4, 16, 64]
 * size_unit = "operations"
 * quick = []
 * requires = ["message-queue"]
 * modes = ["default"]
 * blocking = true
 * hold = "one message checked and stamped between receive and send"
 * parallel = true
 * mixed_priorities = true
 * origin = "own; POSIX message queues, and the queues of real-time kernels"
 * tacle = ""
 * licence = "Apache-2.0"
 * tsan = false
 +++*/
#include "deadbeat/sy/system_queue.h"

static int create(struct db_resource *resource)
{
    struct port_queue *queue = db_system_queue(resource);
    const uint32_t tokens = db_scarce_tokens(resource);
    int error = port_queue_init(queue, tokens, sizeof(struct db_message));
    if (error) {
        return error;
    }
    for (uint32_t i = 0; i < tokens && !error; i++) {
        struct db_message token;
        db_message_token(&token, i);
        error = port_queue_send(queue, &token);
    }
    if (error) {
        port_queue_destroy(queue);
    }
    return error;
}

static void run(struct db_context *context)
{
    struct port_queue *queue = db_system_queue(context->resource);
    struct db_message token;
    for (uint32_t i = 0; i < context->size; i++) {
        int error = port_queue_receive(queue, &token);
        if (error) {
            db_sy_fault(context, "no message could be received", error);
            return;
        }
        const bool intact = db_message_intact(&token, context->resource->participants);
        db_message_pass_on(&token, context);
        error = port_queue_send(queue, &token);
        if (error || !intact) {
            db_sy_fault(context, error ? "a message could not be sent" : "a damaged token was received",
                        error);
            return;
        }
    }
    db_sy_done(context, context->size);
}

static int check_resource(const struct db_resource *resource, char *why, size_t why_bytes)
{
    const uint32_t tokens = db_scarce_tokens(resource);
    if (db_sy_tokens_back(port_queue_count(db_system_queue(resource)), tokens, why, why_bytes)) {
        return 1;
    }
    uint64_t hops = 0;
    for (uint32_t i = 0; i < tokens; i++) { /* each goes back: the object stays as it was found */
        struct db_message token;
        if (port_queue_receive(db_system_queue(resource), &token) ||
            port_queue_send(db_system_queue(resource), &token)) {
            snprintf(why, why_bytes, "the tokens cannot be counted");
            return 1;
        }
        hops += token.hops;
    }
    return db_sy_conserved(resource, hops, why, why_bytes);
}

extern const struct db_fragment db_fragment_mq_posix_scarce;
const struct db_fragment db_fragment_mq_posix_scarce = {
    .name = "mq_posix_scarce",
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
