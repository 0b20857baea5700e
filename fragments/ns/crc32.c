/*+++
 * name = "crc32"
 * kind = "NS"
 * summary = "CRC-32 of a message (IEEE 802.3), one table look-up a byte"
 * resource_class = "codec"
 * sizes = [64, 160, 448, 1280, 4096, 12288, 32768, 98304, 262144, 786432]
 * size_unit = "bytes"
 * quick = [64, 12288]
 * requires = []
 * modes = ["default"]
 * origin = "own; Sarwate (1988), polynomial and check value of ITU-T V.42"
 * tacle = ""
 * licence = "Apache-2.0"
 +++*/
#include <stdio.h>

#include "deadbeat/fragment.h"

#define POLYNOMIAL UINT32_C(0xEDB88320) /* reflected */
#define PERTURBATIONS 2

struct crc32 {
    uint64_t random;
    uint32_t crc; /* of the message as the last run() left it */
    uint32_t table[256];
    _Alignas(DB_CACHE_LINE) uint8_t message[];
};

extern const struct db_fragment db_fragment_crc32;

static size_t context_bytes(uint32_t size)
{
    return sizeof(struct crc32) + size;
}

static uint32_t shift_byte(uint32_t crc)
{
    for (int bit = 0; bit < 8; bit++)
        crc = (crc >> 1) ^ (POLYNOMIAL & (0u - (crc & 1)));
    return crc;
}

static int setup(struct db_context *context)
{
    struct crc32 *s = context->memory;
    s->random = db_seed_state(context->seed);
    for (uint32_t i = 0; i < 256; i++)
        s->table[i] = shift_byte(i);
    for (size_t i = 0; i < context->size; i++)
        s->message[i] = (uint8_t)(db_random(&s->random) >> 56);
    return 0;
}

static uint32_t crc_of(const uint32_t *table, const uint8_t *message, size_t bytes)
{
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < bytes; i++)
        crc = (crc >> 8) ^ table[(crc ^ message[i]) & 0xFF];
    return ~crc;
}

static void run(struct db_context *context)
{
    struct crc32 *s = context->memory;
    const size_t n = context->size;
    for (int i = 0; i < PERTURBATIONS; i++) {
        const uint64_t r = db_random(&s->random);
        s->message[((r >> 32) * n) >> 32] = (uint8_t)r;
    }
    s->crc = crc_of(s->table, s->message, n);
    db_keep(s);
}

/* The published check value through the same code; the last message bit by bit. */
static int check(const struct db_context *context, char *why, size_t why_bytes)
{
    const struct crc32 *s = context->memory;
    const uint32_t published = crc_of(s->table, (const uint8_t *)"123456789", 9);
    if (published != UINT32_C(0xCBF43926)) {
        snprintf(why, why_bytes, "the check value is %08x, not cbf43926", published);
        return 1;
    }
    uint32_t want = UINT32_MAX;
    for (size_t i = 0; i < context->size; i++)
        want = shift_byte(want ^ s->message[i]);
    want = ~want;
    if (s->crc != want) {
        snprintf(why, why_bytes, "the CRC is %08x, not %08x", s->crc, want);
        return 1;
    }
    return 0;
}

const struct db_fragment db_fragment_crc32 = {
    .name = "crc32",
    .kind = DB_NS,
    .context_bytes = context_bytes,
    .setup = setup,
    .run = run,
    .check = check,
};
