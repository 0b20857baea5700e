/*+++
 * name = "aes"
 * kind = "NS"
 * summary = "AES-128 encryption in cipher block chaining, by table"
 * resource_class = "crypto"
 * sizes = [32, 80, 256, 768, 2048, 6144, 16384, 49152, 131072, 393216, 1048576]
 * size_unit = "bytes"
 * quick = [32, 768]
 * requires = []
 * modes = ["default"]
 * origin = "own; FIPS 197, and section 5.2 of the Rijndael proposal for the table"
 * tacle = "rijndael_enc"
 * licence = "Apache-2.0"
 +++*/
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "deadbeat/fragment.h"

#define ROUNDS 10
#define BLOCK_BYTES 16

struct aes {
    uint64_t random;
    uint32_t keys[4 * (ROUNDS + 1)];
    uint8_t initial[BLOCK_BYTES]; /* fresh at every call; chaining carries it into every block */
    uint8_t sbox[256];
    uint32_t table[256]; /* column (2, 1, 1, 3) * sbox[x], first row in the highest byte */
    _Alignas(DB_CACHE_LINE) uint8_t bytes[]; /* plaintext, then ciphertext, size bytes each */
};

extern const struct db_fragment db_fragment_aes;

static size_t context_bytes(uint32_t size)
{
    return sizeof(struct aes) + 2 * (size_t)size;
}

static uint32_t rotate_right(uint32_t x, int bits)
{
    return (x >> bits) | (x << (32 - bits));
}

static uint32_t load(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void store(uint8_t *p, uint32_t x)
{
    p[0] = (uint8_t)(x >> 24);
    p[1] = (uint8_t)(x >> 16);
    p[2] = (uint8_t)(x >> 8);
    p[3] = (uint8_t)x;
}

/* Times 2 in GF(2^8) modulo x^8 + x^4 + x^3 + x + 1 (FIPS 197, 4.2.1). */
static uint8_t times_2(uint8_t x)
{
    return (uint8_t)(x << 1 ^ (x >> 7) * 0x1B);
}

/* FIPS 197, 5.1.1: inverse, then an affine map. 3 generates the field, so 3^i has the inverse 3^(255-i). */
static void make_tables(struct aes *s)
{
    uint8_t power[256];
    power[0] = 1;
    for (int i = 1; i < 256; i++)
        power[i] = (uint8_t)(power[i - 1] ^ times_2(power[i - 1]));
    s->sbox[0] = 0x63;
    for (int i = 0; i < 255; i++) {
        const uint32_t inverse = power[255 - i];
        const uint32_t twice = inverse | inverse << 8;
        s->sbox[power[i]] =
            (uint8_t)(inverse ^ (twice >> 7) ^ (twice >> 6) ^ (twice >> 5) ^ (twice >> 4) ^ 0x63);
    }
    for (int i = 0; i < 256; i++) {
        const uint32_t x = s->sbox[i], x2 = times_2(s->sbox[i]);
        s->table[i] = x2 << 24 | x << 16 | x << 8 | (x2 ^ x);
    }
}

static uint32_t substitute(const uint8_t *sbox, uint32_t x)
{
    return (uint32_t)sbox[x >> 24] << 24 | (uint32_t)sbox[x >> 16 & 0xFF] << 16 |
           (uint32_t)sbox[x >> 8 & 0xFF] << 8 | sbox[x & 0xFF];
}

/* FIPS 197, 5.2. */
static void expand_key(const struct aes *s, const uint8_t key[16], uint32_t keys[4 * (ROUNDS + 1)])
{
    uint8_t constant = 1;
    for (int i = 0; i < 4; i++)
        keys[i] = load(key + 4 * i);
    for (int i = 4; i < 4 * (ROUNDS + 1); i++) {
        uint32_t x = keys[i - 1];
        if (i % 4 == 0) {
            x = substitute(s->sbox, rotate_right(x, 24)) ^ (uint32_t)constant << 24;
            constant = times_2(constant);
        }
        keys[i] = keys[i - 4] ^ x;
    }
}

static int setup(struct db_context *context)
{
    struct aes *s = context->memory;
    uint8_t key[16];
    if (context->size % BLOCK_BYTES != 0)
        return EINVAL;
    s->random = db_seed_state(context->seed);
    make_tables(s);
    for (int i = 0; i < 16; i++)
        key[i] = (uint8_t)(db_random(&s->random) >> 56);
    expand_key(s, key, s->keys);
    for (size_t i = 0; i < context->size; i++)
        s->bytes[i] = (uint8_t)(db_random(&s->random) >> 56);
    memset(s->bytes + context->size, 0, context->size);
    return 0;
}

/* Bytes of one column after SubBytes, ShiftRows and MixColumns: its rows come from columns a, b, c, d. */
static inline uint32_t column(const uint32_t *table, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    return table[a >> 24] ^ rotate_right(table[b >> 16 & 0xFF], 8) ^ rotate_right(table[c >> 8 & 0xFF], 16) ^
           rotate_right(table[d & 0xFF], 24);
}

/* The last round has no MixColumns. */
static inline uint32_t last_column(const uint8_t *sbox, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    return substitute(sbox, (a & 0xFF000000u) | (b & 0x00FF0000u) | (c & 0x0000FF00u) | (d & 0x000000FFu));
}

static void encrypt(const struct aes *s, const uint32_t *keys, uint32_t block[4])
{
    uint32_t a = block[0] ^ keys[0], b = block[1] ^ keys[1];
    uint32_t c = block[2] ^ keys[2], d = block[3] ^ keys[3];
    for (int round = 1; round < ROUNDS; round++) {
        keys += 4;
        const uint32_t e = column(s->table, a, b, c, d) ^ keys[0];
        const uint32_t f = column(s->table, b, c, d, a) ^ keys[1];
        const uint32_t g = column(s->table, c, d, a, b) ^ keys[2];
        const uint32_t h = column(s->table, d, a, b, c) ^ keys[3];
        a = e, b = f, c = g, d = h;
    }
    keys += 4;
    block[0] = last_column(s->sbox, a, b, c, d) ^ keys[0];
    block[1] = last_column(s->sbox, b, c, d, a) ^ keys[1];
    block[2] = last_column(s->sbox, c, d, a, b) ^ keys[2];
    block[3] = last_column(s->sbox, d, a, b, c) ^ keys[3];
}

static void run(struct db_context *context)
{
    struct aes *s = context->memory;
    const size_t n = context->size;
    const uint64_t fresh[2] = {db_random(&s->random), db_random(&s->random)};
    uint32_t chain[4];
    memcpy(s->initial, fresh, sizeof s->initial);
    for (int k = 0; k < 4; k++)
        chain[k] = load(s->initial + 4 * k);
    for (size_t i = 0; i < n; i += BLOCK_BYTES) {
        for (int k = 0; k < 4; k++)
            chain[k] ^= load(s->bytes + i + 4 * k);
        encrypt(s, s->keys, chain);
        for (int k = 0; k < 4; k++)
            store(s->bytes + n + i + 4 * k, chain[k]);
    }
    db_keep(s);
}

static void add_key(uint8_t block[16], const uint32_t *keys)
{
    for (int i = 0; i < 16; i++)
        block[i] ^= (uint8_t)(keys[i / 4] >> (24 - 8 * (i % 4)));
}

/* FIPS 197, 5.3.3: each column times (14, 9, 13, 11), as (4 or 5 times its neighbours) then MixColumns. */
static void inverse_mix_columns(uint8_t block[16])
{
    for (uint8_t *p = block; p < block + 16; p += 4) {
        const uint8_t even = times_2(times_2(p[0] ^ p[2])), odd = times_2(times_2(p[1] ^ p[3]));
        const uint8_t q[4] = {p[0] ^ even, p[1] ^ odd, p[2] ^ even, p[3] ^ odd};
        const uint8_t all = q[0] ^ q[1] ^ q[2] ^ q[3];
        for (int i = 0; i < 4; i++)
            p[i] = (uint8_t)(q[i] ^ all ^ times_2(q[i] ^ q[(i + 1) % 4]));
    }
}

/* FIPS 197, 5.3, byte by byte: shares nothing with encrypt() but the round keys. */
static void decrypt(const uint8_t inverse_sbox[256], const uint32_t *keys, uint8_t block[16])
{
    add_key(block, keys + 4 * ROUNDS);
    for (int round = ROUNDS - 1; round >= 0; round--) {
        uint8_t shifted[16];
        for (int i = 0; i < 16; i++)
            shifted[(i + 4 * (i % 4)) % 16] = inverse_sbox[block[i]];
        memcpy(block, shifted, 16);
        add_key(block, keys + 4 * round);
        if (round > 0)
            inverse_mix_columns(block);
    }
}

/* FIPS 197, appendix C.1. */
static int is_published(const struct aes *s)
{
    uint8_t key[16];
    uint32_t keys[4 * (ROUNDS + 1)];
    uint32_t block[4] = {0x00112233, 0x44556677, 0x8899aabb, 0xccddeeff};
    static const uint32_t want[4] = {0x69c4e0d8, 0x6a7b0430, 0xd8cdb780, 0x70b4c55a};
    for (int i = 0; i < 16; i++)
        key[i] = (uint8_t)i;
    expand_key(s, key, keys);
    encrypt(s, keys, block);
    return memcmp(block, want, sizeof block) == 0;
}

/* The published vector through the same code; the last ciphertext decrypted byte by byte. */
static int check(const struct db_context *context, char *why, size_t why_bytes)
{
    const struct aes *s = context->memory;
    const size_t n = context->size;
    const uint8_t *plain = s->bytes, *cipher = s->bytes + n;
    uint8_t inverse_sbox[256];
    if (!is_published(s)) {
        snprintf(why, why_bytes, "the test vector of FIPS 197 C.1 gives another block");
        return 1;
    }
    for (int i = 0; i < 256; i++)
        inverse_sbox[s->sbox[i]] = (uint8_t)i;
    for (size_t i = 0; i < n; i += BLOCK_BYTES) {
        const uint8_t *chain = i == 0 ? s->initial : cipher + i - BLOCK_BYTES;
        uint8_t block[16];
        memcpy(block, cipher + i, 16);
        decrypt(inverse_sbox, s->keys, block);
        for (int k = 0; k < 16; k++) {
            if ((block[k] ^ chain[k]) != plain[i + (size_t)k]) {
                snprintf(why, why_bytes, "block %zu does not decrypt to the plaintext", i / BLOCK_BYTES);
                return 1;
            }
        }
    }
    return 0;
}

const struct db_fragment db_fragment_aes = {
    .name = "aes",
    .kind = DB_NS,
    .context_bytes = context_bytes,
    .setup = setup,
    .run = run,
    .check = check,
};
