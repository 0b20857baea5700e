/*+++
 * name = "dijkstra"
 * kind = "NS"
 * summary = "Shortest paths from a fresh source in a random sparse graph, with a binary heap"
 * resource_class = "memory"
 * sizes = [16, 48, 128, 512, 2048, 8192, 32768]
 * size_unit = "nodes of four edges"
 * quick = [128]
 * requires = []
 * modes = ["default"]
 * origin = "own; Dijkstra 1959, heap with decrease-key as in Cormen et al., Introduction to Algorithms"
 * tacle = "dijkstra"
 * licence = "Apache-2.0"
 +++*/
#include <stdio.h>

#include "deadbeat/fragment.h"

#define DEGREE 4
#define WEIGHT_MAX 1000
#define UNREACHED UINT32_MAX
#define NOWHERE UINT32_MAX

struct edge {
    uint32_t to;
    uint32_t weight; /* 1 .. WEIGHT_MAX */
};

struct node {
    uint32_t distance;
    uint32_t place; /* in the heap, or NOWHERE */
    uint32_t predecessor;
    struct edge edges[DEGREE];
};

struct state {
    uint64_t random;
    uint32_t source;
    uint32_t queued; /* nodes in the heap */
    uint32_t taken;  /* out of it */
    uint32_t *heap;  /* size node numbers, behind the nodes; the nearest first */
    struct node nodes[];
};

static size_t context_bytes(uint32_t size)
{
    return sizeof(struct state) + (size_t)size * (sizeof(struct node) + sizeof(uint32_t));
}

static uint32_t draw(struct state *state, uint32_t bound)
{
    return (uint32_t)(((db_random(&state->random) >> 32) * bound) >> 32);
}

static int setup(struct db_context *context)
{
    struct state *state = context->memory;
    uint32_t size = context->size;
    state->random = db_seed_state(context->seed);
    state->heap = (uint32_t *)(state->nodes + size);
    for (uint32_t i = 0; i < size; i++) {
        state->heap[i] = 0;
        state->nodes[i].distance = UNREACHED;
        state->nodes[i].place = NOWHERE;
        state->nodes[i].predecessor = i;
        for (uint32_t e = 0; e < DEGREE; e++) {
            /* The first edges form a ring: every node can be reached. */
            uint32_t to = e == 0 ? (i + 1) % size : draw(state, size);
            state->nodes[i].edges[e] = (struct edge){to, 1 + draw(state, WEIGHT_MAX)};
        }
    }
    return 0;
}

static void put(struct state *state, uint32_t place, uint32_t node)
{
    state->heap[place] = node;
    state->nodes[node].place = place;
}

static void sift_up(struct state *state, uint32_t place, uint32_t node)
{
    uint32_t distance = state->nodes[node].distance;
    while (place > 0) {
        uint32_t parent = state->heap[(place - 1) / 2];
        if (state->nodes[parent].distance <= distance)
            break;
        put(state, place, parent);
        place = (place - 1) / 2;
    }
    put(state, place, node);
}

static void sift_down(struct state *state, uint32_t place, uint32_t node)
{
    uint32_t distance = state->nodes[node].distance;
    for (;;) {
        uint32_t child = 2 * place + 1;
        if (child >= state->queued)
            break;
        if (child + 1 < state->queued &&
            state->nodes[state->heap[child + 1]].distance < state->nodes[state->heap[child]].distance)
            child++;
        if (state->nodes[state->heap[child]].distance >= distance)
            break;
        put(state, place, state->heap[child]);
        place = child;
    }
    put(state, place, node);
}

static uint32_t take_nearest(struct state *state)
{
    uint32_t nearest = state->heap[0];
    state->queued--;
    state->taken++;
    if (state->queued > 0)
        sift_down(state, 0, state->heap[state->queued]);
    state->nodes[nearest].place = NOWHERE;
    return nearest;
}

static void relax(struct state *state, uint32_t from, uint32_t distance, struct edge edge)
{
    struct node *node = &state->nodes[edge.to];
    if (distance + edge.weight >= node->distance)
        return;
    node->distance = distance + edge.weight;
    node->predecessor = from;
    sift_up(state, node->place == NOWHERE ? state->queued++ : node->place, edge.to);
}

/* One edge of every node gets another weight: in a small graph that hardly changes, the branch
 * predictor would learn the few possible trees by heart. */
static void freshen(struct state *state, uint32_t size)
{
    for (uint32_t i = 0; i < size; i++) {
        struct node *node = &state->nodes[i];
        uint32_t weight = 1 + draw(state, WEIGHT_MAX);
        node->edges[weight % DEGREE].weight = weight;
        node->distance = UNREACHED;
        node->place = NOWHERE;
    }
}

static void run(struct db_context *context)
{
    struct state *state = context->memory;
    uint32_t size = context->size;
    freshen(state, size);
    state->source = draw(state, size);
    state->queued = 0;
    state->taken = 0;
    relax(state, state->source, 0, (struct edge){state->source, 0});
    while (state->queued > 0) {
        uint32_t nearest = take_nearest(state);
        for (uint32_t e = 0; e < DEGREE; e++)
            relax(state, nearest, state->nodes[nearest].distance, state->nodes[nearest].edges[e]);
    }
}

/* The edges that enter this node from its predecessor prove its distance to be the length of a path. */
static int is_path_length(const struct state *state, uint32_t node)
{
    const struct node *target = &state->nodes[node], *previous = &state->nodes[target->predecessor];
    for (uint32_t e = 0; e < DEGREE; e++)
        if (previous->edges[e].to == node &&
            previous->distance + previous->edges[e].weight == target->distance)
            return 1;
    return 0;
}

/* Proof of optimality: every distance is the length of a path (weights are positive, so predecessors
 * lead back to the source), and no edge is a shortcut (so no path is shorter). */
static int check(const struct db_context *context, char *why, size_t why_bytes)
{
    const struct state *state = context->memory;
    if (state->nodes[state->source].distance != 0) {
        snprintf(why, why_bytes, "the source is at distance %u", state->nodes[state->source].distance);
        return 1;
    }
    if (state->taken != context->size) { /* in a heap out of order, nodes are taken again */
        snprintf(why, why_bytes, "%u nodes were taken from the heap, not each of %u once", state->taken,
                 context->size);
        return 1;
    }
    for (uint32_t i = 0; i < context->size; i++) {
        const struct node *node = &state->nodes[i];
        if (node->distance == UNREACHED || (i != state->source && !is_path_length(state, i))) {
            snprintf(why, why_bytes, "distance %u of node %u is no path's length", node->distance, i);
            return 1;
        }
        for (uint32_t e = 0; e < DEGREE; e++)
            if (node->distance + node->edges[e].weight < state->nodes[node->edges[e].to].distance) {
                snprintf(why, why_bytes, "edge %u of node %u is a shortcut", e, i);
                return 1;
            }
    }
    return 0;
}

extern const struct db_fragment db_fragment_dijkstra;
const struct db_fragment db_fragment_dijkstra = {
    .name = "dijkstra",
    .kind = DB_NS,
    .context_bytes = context_bytes,
    .setup = setup,
    .run = run,
    .check = check,
};
