/*+++
 * name = "token_pool"
 * kind = "SY"
 * summary = "Pool with fewer tokens than participants: a lock-free stack, a futex when it is empty"
 * resource_class = "pool"
 * sizes = [256, 2048, 16384]
 * size_unit = "guarded updates while the token is held"
 * quick = []
 * requires = []
 * modes = ["default"]
 * blocking = true
 * hold = "size updates of the token's guarded counter"
 * parallel = true
 * mixed_priorities = true
 * origin = "own; Treiber's stack with a tag against reuse"
 * tacle = ""
 * licence = "Apache-2.0"
 * tsan = true
 +++*/
#include "deadbeat/sy/common.h"

struct token {
    struct db_guard guard;
    alignas(DB_CACHE_LINE) _Atomic uint32_t below; /* number of the next token in the stack, or 0 */
};

struct object {
    /* Tag in the upper half, changed by every pop and push; number of the top token (from 1) in the
     * lower half, 0 when empty. */
    alignas(DB_CACHE_LINE) _Atomic uint64_t top;
    atomic_uint returns; /* counts pushes; what waiters sleep on */
    _Atomic uint32_t waiters;
    alignas(DB_CACHE_LINE) struct token tokens[];
};

static size_t shared_bytes(uint32_t participants, uint32_t max_size)
{
    (void)max_size;
    return db_accounts_bytes(participants) + sizeof(struct object) + participants * sizeof(struct token);
}

static uint64_t retagged(uint64_t top, uint32_t number)
{
    return ((top >> 32) + 1) << 32 | number;
}

/* The number of a token, or 0 if there is none. */
static uint32_t pop(struct object *object)
{
    uint64_t top = atomic_load(&object->top);
    while ((uint32_t)top != 0) {
        const uint32_t number = (uint32_t)top;
        const uint32_t below = atomic_load_explicit(&object->tokens[number - 1].below, memory_order_relaxed);
        if (atomic_compare_exchange_weak(&object->top, &top, retagged(top, below))) {
            return number;
        }
    }
    return 0;
}

static void push(struct object *object, uint32_t number)
{
    uint64_t top = atomic_load(&object->top);
    do {
        atomic_store_explicit(&object->tokens[number - 1].below, (uint32_t)top, memory_order_relaxed);
    } while (!atomic_compare_exchange_weak(&object->top, &top, retagged(top, number)));
}

/* No wake-up is lost: all accesses are sequentially consistent, a waiter announces itself and then
 * looks again; whoever returns a token pushes it and then looks for waiters. */
static uint32_t take(struct object *object)
{
    uint32_t number = pop(object);
    if (number != 0) {
        return number;
    }
    atomic_fetch_add(&object->waiters, 1);
    for (;;) {
        const unsigned returns = atomic_load(&object->returns);
        number = pop(object);
        if (number != 0) {
            break;
        }
        (void)port_wait(&object->returns, returns, -1);
    }
    atomic_fetch_sub(&object->waiters, 1);
    return number;
}

static void put_back(struct object *object, uint32_t number)
{
    push(object, number);
    atomic_fetch_add(&object->returns, 1);
    if (atomic_load(&object->waiters) > 0) {
        port_wake_one(&object->returns);
    }
}

static int create(struct db_resource *resource)
{
    struct object *object = db_object(resource);
    atomic_init(&object->top, 0);
    for (uint32_t number = db_scarce_tokens(resource); number >= 1; number--) {
        push(object, number);
    }
    return 0;
}

static void run(struct db_context *context)
{
    struct object *object = db_object(context->resource);
    const uint32_t number = take(object);
    struct db_guard *guard = &object->tokens[number - 1].guard;
    bool intact = true;
    for (uint32_t i = 0; i < context->size; i++) {
        intact &= db_guard_update(context, guard);
    }
    put_back(object, number);
    if (!intact) {
        db_sy_fault(context, "two holders of one token", 0);
        return;
    }
    db_account(context)->sent += context->size;
    db_sy_done(context, 1);
}

static int check_resource(const struct db_resource *resource, char *why, size_t why_bytes)
{
    struct object *object = db_object(resource);
    const struct db_account *accounts = resource->shared;
    const uint32_t tokens = db_scarce_tokens(resource);
    uint64_t expected = 0;
    for (uint32_t i = 0; i < resource->participants; i++) {
        expected += accounts[i].sent;
    }
    uint32_t found = 0;
    uint64_t updates = 0;
    for (uint32_t number = (uint32_t)atomic_load(&object->top); number != 0 && found <= tokens; found++) {
        struct token *token = &object->tokens[number - 1];
        if (!db_guard_intact(&token->guard)) {
            snprintf(why, why_bytes, "the guarded words of token %" PRIu32 " differ", number);
            return 1;
        }
        updates += token->guard.first;
        number = atomic_load(&token->below);
    }
    if (db_sy_tokens_back(found, tokens, why, why_bytes)) {
        return 1;
    }
    if (updates != expected) {
        snprintf(why, why_bytes, "the tokens counted %" PRIu64 " updates, their holders %" PRIu64, updates,
                 expected);
        return 1;
    }
    return 0;
}

static void destroy(struct db_resource *resource)
{
    (void)resource;
}

extern const struct db_fragment db_fragment_token_pool;
const struct db_fragment db_fragment_token_pool = {
    .name = "token_pool",
    .kind = DB_SY,
    .context_bytes = db_sy_context_bytes,
    .setup = db_sy_setup,
    .run = run,
    .check = db_sy_check_hold,
    .shared_bytes = shared_bytes,
    .create = create,
    .check_resource = check_resource,
    .destroy = destroy,
};
