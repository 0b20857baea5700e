/*+++
 * name = "sha256"
 * kind = "NS"
 * summary = "SHA-256 digest of a message"
 * resource_class = "crypto"
 * sizes = [55, 183, 503, 1536, 4096, 12288, 32768, 98304, 262144, 786432]
 * size_unit = "bytes"
 * quick = [55, 4096]
 * requires = []
 * modes = ["default"]
 * origin = "own; FIPS 180-4, section 6.2"
 * tacle = "sha"
 * licence = "Apache-2.0"
 +++*/
#include <stdio.h>
#include <string.h>

#include "deadbeat/fragment.h"

#define BLOCK_BYTES 64
#define PERTURBATIONS 2

struct sha256 {
    uint64_t random;
    uint32_t digest[8]; /* of the message as the last run() left it */
    _Alignas(DB_CACHE_LINE) uint8_t message[];
};

extern const struct db_fragment db_fragment_sha256;

/* FIPS 180-4, 4.2.2: fractions of the cube roots of the first 64 primes. */
static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate(uint32_t x, int bits)
{
    return (x >> bits) | (x << (32 - bits));
}

static uint32_t big_endian(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* FIPS 180-4, 6.2.2. */
static void compress(uint32_t hash[8], const uint8_t *block)
{
    uint32_t w[64], v[8];
    for (int t = 0; t < 16; t++)
        w[t] = big_endian(block + 4 * t);
    for (int t = 16; t < 64; t++) {
        const uint32_t s0 = rotate(w[t - 15], 7) ^ rotate(w[t - 15], 18) ^ (w[t - 15] >> 3);
        const uint32_t s1 = rotate(w[t - 2], 17) ^ rotate(w[t - 2], 19) ^ (w[t - 2] >> 10);
        w[t] = s1 + w[t - 7] + s0 + w[t - 16];
    }
    memcpy(v, hash, sizeof v);
    for (int t = 0; t < 64; t++) {
        const uint32_t sum1 = rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25);
        const uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
        const uint32_t t1 = v[7] + sum1 + choice + round_constants[t] + w[t];
        const uint32_t sum0 = rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22);
        const uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
        v[7] = v[6];
        v[6] = v[5];
        v[5] = v[4];
        v[4] = v[3] + t1;
        v[3] = v[2];
        v[2] = v[1];
        v[1] = v[0];
        v[0] = t1 + sum0 + majority;
    }
    for (int i = 0; i < 8; i++)
        hash[i] += v[i];
}

static void digest_of(const uint8_t *message, size_t bytes, uint32_t hash[8])
{
    static const uint32_t initial[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    uint8_t tail[2 * BLOCK_BYTES] = {0};
    const size_t rest = bytes % BLOCK_BYTES;
    const size_t tail_bytes = rest < BLOCK_BYTES - 8 ? BLOCK_BYTES : 2 * BLOCK_BYTES;
    memcpy(hash, initial, sizeof initial);
    for (size_t i = 0; i + BLOCK_BYTES <= bytes; i += BLOCK_BYTES)
        compress(hash, message + i);
    memcpy(tail, message + bytes - rest, rest);
    tail[rest] = 0x80;
    for (int i = 0; i < 8; i++)
        tail[tail_bytes - 1 - i] = (uint8_t)((uint64_t)bytes * 8 >> (8 * i));
    for (size_t i = 0; i < tail_bytes; i += BLOCK_BYTES)
        compress(hash, tail + i);
}

static size_t context_bytes(uint32_t size)
{
    return sizeof(struct sha256) + size;
}

static int setup(struct db_context *context)
{
    struct sha256 *s = context->memory;
    s->random = db_seed_state(context->seed);
    for (size_t i = 0; i < context->size; i++)
        s->message[i] = (uint8_t)(db_random(&s->random) >> 56);
    return 0;
}

static void run(struct db_context *context)
{
    struct sha256 *s = context->memory;
    const size_t n = context->size;
    for (int i = 0; i < PERTURBATIONS; i++) {
        const uint64_t r = db_random(&s->random);
        s->message[((r >> 32) * n) >> 32] = (uint8_t)r;
    }
    digest_of(s->message, n, s->digest);
    db_keep(s);
}

static int is_published(const char *message, const uint32_t want[8])
{
    uint32_t got[8];
    digest_of((const uint8_t *)message, strlen(message), got);
    return memcmp(got, want, sizeof got) == 0;
}

/* The published vectors of one and two blocks (FIPS 180-2, appendix B) through the same code; then
 * the last message once more, because a digest has no inverse. */
static int check(const struct db_context *context, char *why, size_t why_bytes)
{
    static const uint32_t one_block[8] = {0xba7816bf, 0x8f01cfea, 0x414140de, 0x5dae2223,
                                          0xb00361a3, 0x96177a9c, 0xb410ff61, 0xf20015ad};
    static const uint32_t two_blocks[8] = {0x248d6a61, 0xd20638b8, 0xe5c02693, 0x0c3e6039,
                                           0xa33ce459, 0x64ff2167, 0xf6ecedd4, 0x19db06c1};
    const struct sha256 *s = context->memory;
    uint32_t again[8];
    if (!is_published("abc", one_block) ||
        !is_published("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", two_blocks)) {
        snprintf(why, why_bytes, "a published test vector gives another digest");
        return 1;
    }
    digest_of(s->message, context->size, again);
    if (memcmp(again, s->digest, sizeof again) != 0) {
        snprintf(why, why_bytes, "the digest starts with %08x, not %08x", s->digest[0], again[0]);
        return 1;
    }
    return 0;
}

const struct db_fragment db_fragment_sha256 = {
    .name = "sha256",
    .kind = DB_NS,
    .context_bytes = context_bytes,
    .setup = setup,
    .run = run,
    .check = check,
};
