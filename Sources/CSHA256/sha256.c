// Section numbers are those of FIPS 180-4, Secure Hash Standard (2015).
#include "CSHA256.h"

#include <string.h>

// Section 4.2.2: the first 32 bits of the fractional parts of the cube roots of the first 64 primes.
static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
    0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
    0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
    0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
    0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
    0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static inline uint32_t rotate(uint32_t x, int bits) { return x >> bits | x << (32 - bits); }

static inline uint32_t load(const uint8_t *bytes) {
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static inline void store(uint8_t *bytes, uint32_t x) {
    for (int i = 0; i < 4; i++) bytes[i] = (uint8_t)(x >> (24 - 8 * i));
}

// Section 6.2.2.
static void compress_portable(uint32_t state[8], const uint8_t *data, size_t blocks) {
    for (; blocks > 0; blocks--, data += 64) {
        uint32_t w[64];
        for (int t = 0; t < 16; t++) w[t] = load(data + 4 * t);
        for (int t = 16; t < 64; t++) {
            uint32_t s0 = rotate(w[t - 15], 7) ^ rotate(w[t - 15], 18) ^ w[t - 15] >> 3;
            uint32_t s1 = rotate(w[t - 2], 17) ^ rotate(w[t - 2], 19) ^ w[t - 2] >> 10;
            w[t] = s1 + w[t - 7] + s0 + w[t - 16];
        }
        uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
        uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
        for (int t = 0; t < 64; t++) {
            uint32_t t1 = h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & f) ^ (~e & g)) + constants[t] + w[t];
            uint32_t t2 = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
            h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
        }
        state[0] += a, state[1] += b, state[2] += c, state[3] += d;
        state[4] += e, state[5] += f, state[6] += g, state[7] += h;
    }
}

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

// Two registers hold the state as the instructions want it: (a, b, e, f) and (c, d, g, h), the first letter in the highest lane.
__attribute__((target("sha,sse4.1,ssse3"))) static void compress_instructions(uint32_t state[8], const uint8_t *data, size_t blocks) {
    const __m128i order = _mm_set_epi64x(0x0c0d0e0f08090a0bLL, 0x0405060700010203LL);
    __m128i low = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)state), 0xb1);        // c d a b
    __m128i high = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(state + 4)), 0x1b);  // e f g h
    __m128i abef = _mm_alignr_epi8(low, high, 8);
    __m128i cdgh = _mm_blend_epi16(high, low, 0xf0);
    for (; blocks > 0; blocks--, data += 64) {
        const __m128i abef_before = abef, cdgh_before = cdgh;
        // The last sixteen words of the message schedule, four a register; register t mod 4 holds words 4 t to 4 t + 3.
        __m128i w[4];
        for (int t = 0; t < 16; t++) {
            __m128i words;
            if (t < 4) {
                words = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(data + 16 * t)), order);
            } else {
                __m128i last = w[(t + 3) & 3], before_last = w[(t + 2) & 3];
                words = _mm_sha256msg1_epu32(w[t & 3], w[(t + 1) & 3]);
                words = _mm_add_epi32(words, _mm_alignr_epi8(last, before_last, 4));
                words = _mm_sha256msg2_epu32(words, last);
            }
            w[t & 3] = words;
            __m128i sum = _mm_add_epi32(words, _mm_loadu_si128((const __m128i *)(constants + 4 * t)));
            cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
            abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0e));
        }
        abef = _mm_add_epi32(abef, abef_before);
        cdgh = _mm_add_epi32(cdgh, cdgh_before);
    }
    high = _mm_shuffle_epi32(abef, 0x1b);  // f e b a, the first letter in the lowest lane from here on: a b e f
    low = _mm_shuffle_epi32(cdgh, 0xb1);   // g h c d
    _mm_storeu_si128((__m128i *)state, _mm_blend_epi16(high, low, 0xf0));
    _mm_storeu_si128((__m128i *)(state + 4), _mm_alignr_epi8(low, high, 8));
}

static int has_instructions(void) {
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_SSSE3) || !(c & bit_SSE4_1)) return 0;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & (1u << 29));
}
#else
#define compress_instructions compress_portable
static int has_instructions(void) { return 0; }
#endif

// -1: not known yet. Threads that ask at the same time store the same answer.
static int uses_instructions = -1;

int halcyon_sha256_uses_instructions(void) {
    int known = __atomic_load_n(&uses_instructions, __ATOMIC_RELAXED);
    if (known < 0) {
        known = has_instructions();
        __atomic_store_n(&uses_instructions, known, __ATOMIC_RELAXED);
    }
    return known;
}

void halcyon_sha256_use_instructions(int allowed) {
    __atomic_store_n(&uses_instructions, allowed && has_instructions(), __ATOMIC_RELAXED);
}

static void compress(uint32_t state[8], const uint8_t *data, size_t blocks) {
    if (blocks == 0) return;
    if (halcyon_sha256_uses_instructions()) {
        compress_instructions(state, data, blocks);
    } else {
        compress_portable(state, data, blocks);
    }
}

// Section 5.3.3.
void halcyon_sha256_start(halcyon_sha256 *hash) {
    static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memcpy(hash->state, start, sizeof start);
    hash->length = 0;
}

void halcyon_sha256_add(halcyon_sha256 *hash, const void *bytes, size_t count) {
    if (count == 0) return;
    const uint8_t *data = bytes;
    size_t used = hash->length % 64;
    hash->length += count;
    if (used > 0) {
        size_t taken = count < 64 - used ? count : 64 - used;
        memcpy(hash->block + used, data, taken);
        if (used + taken < 64) return;
        compress(hash->state, hash->block, 1);
        data += taken, count -= taken;
    }
    compress(hash->state, data, count / 64);
    memcpy(hash->block, data + count / 64 * 64, count % 64);
}

// Section 5.1.1: a one bit, zero bits, then the length in bits in 64 bits.
void halcyon_sha256_finish(halcyon_sha256 *hash, uint8_t *digest) {
    uint64_t bits = hash->length * 8;
    size_t used = hash->length % 64;
    hash->block[used++] = 0x80;
    if (used > 56) {
        memset(hash->block + used, 0, 64 - used);
        compress(hash->state, hash->block, 1);
        used = 0;
    }
    memset(hash->block + used, 0, 56 - used);
    store(hash->block + 56, (uint32_t)(bits >> 32));
    store(hash->block + 60, (uint32_t)bits);
    compress(hash->state, hash->block, 1);
    for (int i = 0; i < 8; i++) store(digest + 4 * i, hash->state[i]);
}
