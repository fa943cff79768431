// A small reproducible BLAS: the level-2 and level-3 routines in single precision that the networks need.
//
// Every routine gives the same bits on every processor: the order of its operations is fixed, whatever the width of the
// processor's registers. An element of a matrix product is summed in the order of the inner index. So is an element of the product of
// a transposed matrix and a vector. A dot product is summed in sixteen lanes, which are then added by a fixed tree. No product is
// fused with an addition, and no approximate instruction is used. The floating-point environment must be that of IEEE 754: round to
// nearest, subnormal numbers honoured.
#ifndef HALCYON_PORTABLE_BLAS_H
#define HALCYON_PORTABLE_BLAS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// One compilation of the routines. Matrices are dense and row-major, and no output overlaps an input. The sizes are at least 0; an
// inner size of 0 gives zeros.
struct halcyon_blas {
    // The instruction set that it was compiled for: sse2, avx2, avx512; neon; generic.
    const char *_Nonnull name;
    // C := A · B, where A is m × k, B is k × n and C is m × n.
    void (*_Nonnull gemm)(
        const float *_Nonnull a, const float *_Nonnull b, float *_Nonnull c, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k);
    // C := Aᵀ · B, where A is k × m, B is k × n and C is m × n.
    void (*_Nonnull gemm_transposed)(
        const float *_Nonnull a, const float *_Nonnull b, float *_Nonnull c, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k);
    // y := A · x, where A is m × n.
    void (*_Nonnull gemv)(
        const float *_Nonnull a, const float *_Nonnull x, float *_Nonnull y, ptrdiff_t m, ptrdiff_t n);
    // y := Aᵀ · x, where A is m × n.
    void (*_Nonnull gemv_transposed)(
        const float *_Nonnull a, const float *_Nonnull x, float *_Nonnull y, ptrdiff_t m, ptrdiff_t n);
};

// The number of instruction sets that the routines were compiled for.
int halcyon_blas_level_count(void);

// The routines for instruction set `level`, from 0 (every processor has it) upwards to the widest registers; null where this
// processor lacks its instructions.
const struct halcyon_blas *_Nullable halcyon_blas_level(int level);

// The name of instruction set `level`, whether the processor has it or not.
const char *_Nonnull halcyon_blas_level_name(int level);

#ifdef __cplusplus
}
#endif

#endif
