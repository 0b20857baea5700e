/* The system's own queue of messages: what its two fragments have in common. */
#ifndef DEADBEAT_SY_SYSTEM_QUEUE_H
#define DEADBEAT_SY_SYSTEM_QUEUE_H

#include "deadbeat/port_sync.h"
#include "deadbeat/sy/message.h"

static inline struct port_queue *db_system_queue(const struct db_resource *resource)
{
    return db_object(resource);
}

static inline size_t db_system_queue_shared_bytes(uint32_t participants, uint32_t max_size)
{
    (void)max_size;
    return db_accounts_bytes(participants) + port_queue_bytes(participants, sizeof(struct db_message));
}

static inline void db_system_queue_destroy(struct db_resource *resource)
{
    port_queue_destroy(db_system_queue(resource));
}

#endif
