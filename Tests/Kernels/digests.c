// Prints a digest of what each routine of the portable BLAS computes, for each instruction set that this processor has. Tests
// compare the lines with digests.txt; BLASTests computes the same digests through Swift.
#include "portable_blas.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#pragma clang fp contract(off)

static uint64_t state;

// SplitMix64 (Steele, Lea, Flood, 2014).
static uint64_t next(void) {
    uint64_t z = (state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

// From -1 to 1; one in eight is so small that its products are subnormal.
static float number(void) {
    uint64_t bits = next();
    float value = (float)(bits >> 40) * 0x1p-23f - 1.0f;
    return (bits & 7) == 7 ? value * 0x1p-75f : value;
}

static float *numbers(size_t count) {
    float *values = malloc((count ? count : 1) * sizeof(float));
    if (!values) abort();
    for (size_t i = 0; i < count; i++) values[i] = number();
    return values;
}

// FNV-1a over the bits.
static uint64_t digest(uint64_t hash, const float *values, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, values + i, sizeof bits);
        for (int byte = 0; byte < 4; byte++) hash = (hash ^ (bits >> (8 * byte) & 0xFF)) * 0x100000001B3u;
    }
    return hash;
}

static const struct { ptrdiff_t m, n, k; } shapes[] = {
    {1, 1, 1}, {3, 5, 2}, {64, 32, 38}, {1, 32, 38}, {256, 32, 38}, {38, 32, 256}, {12, 16, 40}, {40, 16, 32}, {7, 21, 13},
    {17, 48, 5}, {5, 64, 3}, {9, 47, 31}, {2, 15, 70}, {31, 33, 1}, {6, 100, 4},
};

int main(void) {
    int levels = 0;
    for (int level = 0; level < halcyon_blas_level_count(); level++) {
        const struct halcyon_blas *blas = halcyon_blas_level(level);
        if (!blas) continue;
        levels++;
        fprintf(stderr, "%s\n", blas->name);
        for (size_t shape = 0; shape < sizeof shapes / sizeof shapes[0]; shape++) {
            ptrdiff_t m = shapes[shape].m, n = shapes[shape].n, k = shapes[shape].k;
            state = shape;
            float *a = numbers((size_t)(m * k)), *b = numbers((size_t)(k * n)), *c = numbers((size_t)(m * n));
            uint64_t hash = 0xCBF29CE484222325u;
            blas->gemm(a, b, c, m, n, k);
            hash = digest(hash, c, (size_t)(m * n));
            blas->gemm_transposed(a, b, c, m, n, k);
            hash = digest(hash, c, (size_t)(m * n));
            // B as a k × n matrix; C holds the vectors.
            float *x = numbers((size_t)(n > k ? n : k)), *y = numbers((size_t)(n > k ? n : k));
            blas->gemv(b, x, y, k, n);
            hash = digest(hash, y, (size_t)k);
            blas->gemv_transposed(b, x, y, k, n);
            hash = digest(hash, y, (size_t)n);
            printf("%td %td %td %016llx\n", m, n, k, (unsigned long long)hash);
            free(a);
            free(b);
            free(c);
            free(x);
            free(y);
        }
    }
    return levels > 0 ? 0 : 1;
}
