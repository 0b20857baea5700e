/* A POSIX message queue without a name: the descriptor in fds[0] is inherited by the tasks. */
#ifndef DEADBEAT_SY_MQ_POSIX_H
#define DEADBEAT_SY_MQ_POSIX_H

#include "deadbeat/sy/message.h"

#include <fcntl.h>
#include <mqueue.h>

static inline size_t db_mq_posix_shared_bytes(uint32_t participants, uint32_t max_size)
{
    (void)max_size;
    return db_accounts_bytes(participants);
}

/* More than ten messages need CAP_SYS_RESOURCE (/proc/sys/fs/mqueue/msg_max); EINVAL otherwise. */
static inline int db_mq_posix_create(struct db_resource *resource, uint32_t capacity)
{
    struct mq_attr attributes = {.mq_maxmsg = (long)capacity, .mq_msgsize = sizeof(struct db_message)};
    mqd_t queue = -1;
    for (unsigned attempt = 0; attempt < 100 && queue < 0; attempt++) {
        char name[64];
        snprintf(name, sizeof name, "/deadbeat-%ld-%u", (long)getpid(), attempt);
        queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &attributes);
        if (queue >= 0) {
            (void)mq_unlink(name);
        } else if (errno != EEXIST) {
            return errno;
        }
    }
    if (queue < 0) {
        return EEXIST;
    }
    resource->fds[0] = queue;
    return 0;
}

static inline int db_mq_posix_send(const struct db_resource *resource, const struct db_message *message)
{
    int result;
    do {
        result = mq_send(resource->fds[0], (const char *)message, sizeof *message, 0);
    } while (result != 0 && errno == EINTR);
    return result ? errno : 0;
}

static inline int db_mq_posix_receive(const struct db_resource *resource, struct db_message *message)
{
    ssize_t bytes;
    do {
        bytes = mq_receive(resource->fds[0], (char *)message, sizeof *message, NULL);
    } while (bytes < 0 && errno == EINTR);
    if (bytes < 0) {
        return errno;
    }
    return bytes == sizeof *message ? 0 : EMSGSIZE;
}

static inline int64_t db_mq_posix_count(const struct db_resource *resource)
{
    struct mq_attr attributes;
    return mq_getattr(resource->fds[0], &attributes) ? -1 : attributes.mq_curmsgs;
}

static inline void db_mq_posix_destroy(struct db_resource *resource)
{
    if (resource->fds[0] >= 0) {
        (void)mq_close(resource->fds[0]);
        resource->fds[0] = -1;
    }
}

#endif
