/* What queues carry: a payload of one cache line that whoever receives it can prove intact. */
#ifndef DEADBEAT_SY_MESSAGE_H
#define DEADBEAT_SY_MESSAGE_H

#include "deadbeat/sy/common.h"

struct db_message {
    uint64_t value; /* random, summed over all messages by sender and receiver */
    uint64_t hops;  /* scarce forms: operations for which this token was held */
    uint64_t sender;
    uint64_t data[4];
    uint64_t sum; /* of all words above */
};

_Static_assert(sizeof(struct db_message) == DB_LINE_OF_DATA, "a message is one cache line");

static inline uint64_t db_message_sum(const struct db_message *message)
{
    uint64_t sum = message->value ^ (message->hops << 32 | message->hops >> 32) ^ ~message->sender;
    for (unsigned i = 0; i < 4; i++) {
        sum = (sum << 7 | sum >> 57) ^ message->data[i];
    }
    return sum;
}

static inline void db_message_write(struct db_message *message, const struct db_context *context)
{
    struct db_sy_task *task = context->memory;
    message->value = db_random(&task->random);
    message->hops = 0;
    message->sender = context->participant;
    for (unsigned i = 0; i < 4; i++) {
        message->data[i] = message->value * (2 * i + 3);
    }
    message->sum = db_message_sum(message);
}

/* Any participant may be the sender. */
static inline bool db_message_intact(const struct db_message *message, uint32_t participants)
{
    return message->sender < participants && message->sum == db_message_sum(message);
}

/* Passes a token on: the next holder finds one operation more in it. */
static inline void db_message_pass_on(struct db_message *message, const struct db_context *context)
{
    struct db_sy_task *task = context->memory;
    task->handovers += message->sender != context->participant;
    message->hops++;
    message->sender = context->participant;
    message->sum = db_message_sum(message);
}

/* A token before its first operation. */
static inline void db_message_token(struct db_message *message, uint32_t number)
{
    memset(message, 0, sizeof *message);
    message->value = db_seed_state(number);
    message->data[0] = number;
    message->sum = db_message_sum(message);
}

/* After a message was received in a send-then-receive operation; false and a fault if damaged. */
static inline bool db_message_accept(const struct db_context *context, const struct db_message *message)
{
    if (!db_message_intact(message, context->resource->participants)) {
        db_sy_fault(context, "a damaged message was received", 0);
        return false;
    }
    db_account(context)->received += message->value;
    return true;
}

#endif
