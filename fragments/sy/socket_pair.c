/*+++
 * name = "socket_pair"
 * kind = "SY"
 * summary = "Pair of Unix sockets with message boundaries: send a message, receive any"
 * resource_class = "socket"
 * sizes = [1, 4, 16, 64]
 * size_unit = "operations"
 * quick = []
 * requires = ["socket"]
 * modes = ["default"]
 * blocking = true
 * hold = "the kernel's receive mutex of the socket while 64 bytes are copied"
 * parallel = true
 * mixed_priorities = true
 * origin = "own; AF_UNIX, SOCK_SEQPACKET"
 * tacle = ""
 * licence = "Apache-2.0"
 * tsan = true
 +++*/
#include "deadbeat/sy/message.h"

#include <sys/socket.h>
#include <unistd.h>

enum { SENDING_END = 0, RECEIVING_END = 1 };

/* The kernel charges a small message with its buffer and its headers; generously: */
#define CHARGED_BYTES 4096

static size_t shared_bytes(uint32_t participants, uint32_t max_size)
{
    (void)max_size;
    return db_accounts_bytes(participants);
}

static void destroy(struct db_resource *resource)
{
    for (unsigned i = SENDING_END; i <= RECEIVING_END; i++) {
        if (resource->fds[i] >= 0) {
            (void)close(resource->fds[i]);
            resource->fds[i] = -1;
        }
    }
}

/* Room for a message of every participant, so that no sender waits. */
static int make_room(int fd, uint32_t participants)
{
    const int wanted = (int)participants * CHARGED_BYTES;
    int bytes = 0;
    socklen_t length = sizeof bytes;
    if (getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, &length)) {
        return errno;
    }
    if (bytes >= wanted) {
        return 0;
    }
    if (setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &wanted, sizeof wanted) ||
        getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, &length)) {
        return errno;
    }
    return bytes >= wanted ? 0 : ENOBUFS;
}

static int create(struct db_resource *resource)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)) {
        return errno;
    }
    resource->fds[SENDING_END] = ends[SENDING_END];
    resource->fds[RECEIVING_END] = ends[RECEIVING_END];
    const int error = make_room(ends[SENDING_END], resource->participants);
    if (error) {
        destroy(resource);
    }
    return error;
}

static int send_message(int fd, const struct db_message *message)
{
    ssize_t bytes;
    do {
        bytes = send(fd, message, sizeof *message, MSG_NOSIGNAL);
    } while (bytes < 0 && errno == EINTR);
    if (bytes < 0) {
        return errno;
    }
    return bytes == sizeof *message ? 0 : EMSGSIZE;
}

static int receive_message(int fd, struct db_message *message)
{
    ssize_t bytes;
    do {
        bytes = recv(fd, message, sizeof *message, 0);
    } while (bytes < 0 && errno == EINTR);
    if (bytes < 0) {
        return errno;
    }
    return bytes == sizeof *message ? 0 : EMSGSIZE;
}

static void run(struct db_context *context)
{
    const struct db_resource *resource = context->resource;
    struct db_account *account = db_account(context);
    struct db_message message;
    for (uint32_t i = 0; i < context->size; i++) {
        db_message_write(&message, context);
        account->sent += message.value;
        int error = send_message(resource->fds[SENDING_END], &message);
        if (error) {
            db_sy_fault(context, "send failed", error);
            return;
        }
        error = receive_message(resource->fds[RECEIVING_END], &message);
        if (error) {
            db_sy_fault(context, "recv failed", error);
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
    struct db_message left;
    const ssize_t bytes = recv(resource->fds[RECEIVING_END], &left, sizeof left, MSG_DONTWAIT);
    if (db_sy_tokens_back(bytes < 0 ? 0 : bytes, 0, why, why_bytes)) {
        return 1;
    }
    return db_sy_delivered(resource, why, why_bytes);
}

extern const struct db_fragment db_fragment_socket_pair;
const struct db_fragment db_fragment_socket_pair = {
    .name = "socket_pair",
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
