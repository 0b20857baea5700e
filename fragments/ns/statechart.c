/*+++
 * name = "statechart"
 * kind = "NS"
 * summary = "State chart of a power window: switch code over a stream of random events"
 * resource_class = "control"
 * sizes = [16, 64, 256, 1024, 4096, 16384]
 * size_unit = "events"
 * quick = [16]
 * requires = []
 * modes = ["default"]
 * origin = "own; Harel 1987, Statecharts (two parallel regions)"
 * tacle = "statemate"
 * licence = "Apache-2.0"
 +++*/
#include <stdio.h>

#include "deadbeat/fragment.h"

#define CLOSED 0
#define OPEN 30
#define HEAT_LIMIT 40
#define HEAT_SAFE 10
#define RETREAT 3 /* ticks of opening after an obstacle */

enum event { TICK, PULL, PUSH, RELEASE, PULL_LONG, PUSH_LONG, OBSTACLE, LOCK, EVENTS };

/* The region of the drive. The second region is the child lock: off or on. */
enum drive { IDLE, CLOSING, OPENING, AUTO_CLOSING, AUTO_OPENING, BACKING_OFF, COOLING, DRIVES };

struct window {
    enum drive drive;
    uint32_t locked;
    int32_t position; /* CLOSED .. OPEN */
    int32_t heat;     /* of the motor */
    int32_t retreat;  /* ticks left in BACKING_OFF */
    uint32_t log;     /* hash of all changes of the drive */
};

struct state {
    uint64_t random;
    uint64_t random_before; /* where the last run began: check() runs it again */
    struct window now;
    struct window before;
};

static void enter(struct window *window, enum drive drive)
{
    window->drive = drive;
    window->log = window->log * 31 + (uint32_t)drive + 1;
}

static void start_backing_off(struct window *window)
{
    window->retreat = RETREAT;
    enter(window, BACKING_OFF);
}

static void move(struct window *window, int32_t direction)
{
    window->position += direction;
    window->heat += 1;
    if (window->heat >= HEAT_LIMIT)
        enter(window, COOLING);
    else if (window->position == CLOSED || window->position == OPEN)
        enter(window, IDLE);
}

static void when_idle(struct window *window, enum event event)
{
    if (event == TICK) {
        if (window->heat > 0)
            window->heat--;
        return;
    }
    if (window->locked)
        return;
    switch (event) {
    case PULL:
        if (window->position > CLOSED)
            enter(window, CLOSING);
        break;
    case PUSH:
        if (window->position < OPEN)
            enter(window, OPENING);
        break;
    case PULL_LONG:
        if (window->position > CLOSED)
            enter(window, AUTO_CLOSING);
        break;
    case PUSH_LONG:
        if (window->position < OPEN)
            enter(window, AUTO_OPENING);
        break;
    default:
        break;
    }
}

static void when_closing(struct window *window, enum event event)
{
    switch (event) {
    case TICK:
        move(window, -1);
        break;
    case PUSH:
    case RELEASE:
        enter(window, IDLE);
        break;
    case PULL_LONG:
        enter(window, AUTO_CLOSING);
        break;
    case OBSTACLE:
        start_backing_off(window);
        break;
    default:
        break;
    }
}

static void when_opening(struct window *window, enum event event)
{
    switch (event) {
    case TICK:
        move(window, 1);
        break;
    case PULL:
    case RELEASE:
        enter(window, IDLE);
        break;
    case PUSH_LONG:
        enter(window, AUTO_OPENING);
        break;
    default:
        break;
    }
}

static void when_auto_closing(struct window *window, enum event event)
{
    switch (event) {
    case TICK:
        move(window, -1);
        break;
    case PUSH:
    case PUSH_LONG:
        enter(window, IDLE);
        break;
    case OBSTACLE:
        start_backing_off(window);
        break;
    default:
        break;
    }
}

static void when_auto_opening(struct window *window, enum event event)
{
    switch (event) {
    case TICK:
        move(window, 1);
        break;
    case PULL:
    case PULL_LONG:
        enter(window, IDLE);
        break;
    default:
        break;
    }
}

/* A finger may be in between: no key and no heat stops the window from opening again. */
static void when_backing_off(struct window *window, enum event event)
{
    if (event != TICK)
        return;
    if (window->position < OPEN)
        window->position++;
    window->retreat--;
    if (window->retreat == 0 || window->position == OPEN)
        enter(window, IDLE);
}

static void when_cooling(struct window *window, enum event event)
{
    if (event != TICK)
        return;
    window->heat--;
    if (window->heat <= HEAT_SAFE)
        enter(window, IDLE);
}

static void dispatch(struct window *window, enum event event)
{
    if (event == LOCK) {
        window->locked = !window->locked;
        return;
    }
    switch (window->drive) {
    case IDLE:
        when_idle(window, event);
        break;
    case CLOSING:
        when_closing(window, event);
        break;
    case OPENING:
        when_opening(window, event);
        break;
    case AUTO_CLOSING:
        when_auto_closing(window, event);
        break;
    case AUTO_OPENING:
        when_auto_opening(window, event);
        break;
    case BACKING_OFF:
        when_backing_off(window, event);
        break;
    case COOLING:
        when_cooling(window, event);
        break;
    case DRIVES:
        break;
    }
}

/* Sixteen events a word; more than half of them are ticks, so that the window gets somewhere. */
static enum event event_of(uint64_t word, uint32_t i)
{
    uint32_t code = (word >> (4 * (i % 16))) & 15;
    return code < EVENTS ? (enum event)code : TICK;
}

static size_t context_bytes(uint32_t size)
{
    (void)size;
    return sizeof(struct state);
}

static int setup(struct db_context *context)
{
    struct state *state = context->memory;
    state->random = db_seed_state(context->seed);
    state->random_before = state->random;
    state->now = (struct window){.drive = IDLE, .position = OPEN / 2};
    state->before = state->now;
    return 0;
}

static void run(struct db_context *context)
{
    struct state *state = context->memory;
    state->before = state->now;
    state->random_before = state->random;
    uint64_t word = 0;
    for (uint32_t i = 0; i < context->size; i++) {
        if (i % 16 == 0)
            word = db_random(&state->random);
        dispatch(&state->now, event_of(word, i));
    }
}

/* The slow twin: the chart as a table, [drive][event] -> next drive, with the drive itself for "stay".
 * Ticks and the lock are rules below. */
static const uint8_t next_drive[DRIVES][EVENTS] = {
    /* Columns: TICK, PULL, PUSH, RELEASE, PULL_LONG, PUSH_LONG, OBSTACLE. */
    [IDLE] = {IDLE, CLOSING, OPENING, IDLE, AUTO_CLOSING, AUTO_OPENING, IDLE},
    [CLOSING] = {CLOSING, CLOSING, IDLE, IDLE, AUTO_CLOSING, CLOSING, BACKING_OFF},
    [OPENING] = {OPENING, IDLE, OPENING, IDLE, OPENING, AUTO_OPENING, OPENING},
    [AUTO_CLOSING] = {AUTO_CLOSING, AUTO_CLOSING, IDLE, AUTO_CLOSING, AUTO_CLOSING, IDLE, BACKING_OFF},
    [AUTO_OPENING] = {AUTO_OPENING, IDLE, AUTO_OPENING, AUTO_OPENING, IDLE, AUTO_OPENING, AUTO_OPENING},
    [BACKING_OFF] = {BACKING_OFF, BACKING_OFF, BACKING_OFF, BACKING_OFF, BACKING_OFF, BACKING_OFF,
                     BACKING_OFF},
    [COOLING] = {COOLING, COOLING, COOLING, COOLING, COOLING, COOLING, COOLING},
};

static enum drive reference_tick(struct window *window)
{
    static const int8_t movement[DRIVES] = {0, -1, 1, -1, 1, 1, 0};
    static const int8_t heating[DRIVES] = {-1, 1, 1, 1, 1, 0, -1};
    enum drive drive = window->drive;
    window->position += movement[drive];
    if (window->position > OPEN)
        window->position = OPEN;
    window->heat += heating[drive];
    if (window->heat < 0)
        window->heat = 0;
    int at_end = movement[drive] != 0 && (window->position == CLOSED || window->position == OPEN);
    if (drive == BACKING_OFF)
        return --window->retreat == 0 || at_end ? IDLE : drive;
    if (heating[drive] == 1 && window->heat >= HEAT_LIMIT)
        return COOLING;
    if (drive == COOLING && window->heat <= HEAT_SAFE)
        return IDLE;
    return at_end ? IDLE : drive;
}

static enum drive reference_key(struct window *window, enum event event)
{
    enum drive next = (enum drive)next_drive[window->drive][event];
    if (window->drive == IDLE && next != IDLE) {
        int closes = next == CLOSING || next == AUTO_CLOSING;
        if (window->locked || window->position == (closes ? CLOSED : OPEN))
            return IDLE;
    }
    if (next == BACKING_OFF && window->drive != BACKING_OFF)
        window->retreat = RETREAT;
    return next;
}

static void dispatch_reference(struct window *window, enum event event)
{
    if (event == LOCK) {
        window->locked ^= 1;
        return;
    }
    enum drive next = event == TICK ? reference_tick(window) : reference_key(window, event);
    if (next != window->drive)
        window->log = window->log * 31 + (uint32_t)next + 1;
    window->drive = next;
}

static int check(const struct db_context *context, char *why, size_t why_bytes)
{
    const struct state *state = context->memory;
    struct window reference = state->before;
    uint64_t random = state->random_before, word = 0;
    for (uint32_t i = 0; i < context->size; i++) {
        if (i % 16 == 0)
            word = db_random(&random);
        dispatch_reference(&reference, event_of(word, i));
    }
    const struct window *now = &state->now;
    if (random != state->random) {
        snprintf(why, why_bytes, "the last run did not take %u events", context->size);
        return 1;
    }
    if (now->drive != reference.drive || now->locked != reference.locked ||
        now->position != reference.position || now->heat != reference.heat ||
        now->retreat != reference.retreat || now->log != reference.log) {
        snprintf(why, why_bytes, "drive %d at %d, log %08x; by the table drive %d at %d, log %08x",
                 (int)now->drive, now->position, now->log, (int)reference.drive, reference.position,
                 reference.log);
        return 1;
    }
    if (now->position < CLOSED || now->position > OPEN || now->heat < 0 || now->heat > HEAT_LIMIT) {
        snprintf(why, why_bytes, "position %d or heat %d out of bounds", now->position, now->heat);
        return 1;
    }
    return 0;
}

extern const struct db_fragment db_fragment_statechart;
const struct db_fragment db_fragment_statechart = {
    .name = "statechart",
    .kind = DB_NS,
    .context_bytes = context_bytes,
    .setup = setup,
    .run = run,
    .check = check,
};
