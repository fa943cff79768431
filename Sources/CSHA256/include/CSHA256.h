// SHA-256 (FIPS 180-4). With the SHA instructions of x86-64 where the processor has them, chosen at run time.
#ifndef HALCYON_CSHA256_H
#define HALCYON_CSHA256_H

#include <stddef.h>
#include <stdint.h>

// An unfinished digest: the state after the whole blocks, and the bytes of the block that is not complete.
typedef struct {
    uint32_t state[8];
    uint8_t block[64];
    uint64_t length;
} halcyon_sha256;

// Begins a digest of no bytes.
void halcyon_sha256_start(halcyon_sha256 *_Nonnull hash);

// Appends bytes. O(count).
void halcyon_sha256_add(halcyon_sha256 *_Nonnull hash, const void *_Nullable bytes, size_t count);

// Writes the 32 bytes of the digest. The unfinished digest must be started again before its next use.
void halcyon_sha256_finish(halcyon_sha256 *_Nonnull hash, uint8_t *_Nonnull digest);

// Whether the processor's SHA instructions are used.
int halcyon_sha256_uses_instructions(void);

// Selects the portable code (0) or the fastest that the processor has (1, the default). For tests; not while a digest is computed.
void halcyon_sha256_use_instructions(int allowed);

#endif
