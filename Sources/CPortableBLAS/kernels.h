// The routines for one instruction set, under the target attributes that are in force where this file is included.
//
// HALCYON_KERNEL(name)      the name with the instruction set's suffix.
// HALCYON_LEVEL_NAME        the instruction set's name.
// HALCYON_TILE_ROWS         rows of C that are kept in registers at once.
// HALCYON_TILE_COLUMNS      columns of C that are kept in registers at once, in units of sixteen.
//
// It is included more than once on purpose.

#pragma clang fp contract(off)

#ifndef HALCYON_KERNELS_COMMON
#define HALCYON_KERNELS_COMMON
// Sixteen lanes, whatever the width of a register: four of SSE2 and NEON, two of AVX2, one of AVX-512.
typedef float halcyon_lanes __attribute__((vector_size(64), aligned(4), may_alias));
typedef int32_t halcyon_mask __attribute__((vector_size(64), aligned(4), may_alias));
typedef uint8_t halcyon_bytes __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint32_t halcyon_bits __attribute__((vector_size(64), aligned(4), may_alias));
#define HALCYON_INLINE static inline __attribute__((always_inline, unused))
// Functions that take or return lanes are always inlined, so that no calling convention is concerned.
#pragma clang diagnostic ignored "-Wpsabi"
#endif

// The first `count` of sixteen numbers, and zeros. `room` numbers may be read from `from` on.
HALCYON_INLINE halcyon_lanes HALCYON_KERNEL(part)(const float *from, ptrdiff_t count, ptrdiff_t room) {
    if (room < 16) {
        halcyon_lanes lanes = {0};
        for (ptrdiff_t lane = 0; lane < count; lane++) lanes[lane] = from[lane];
        return lanes;
    }
    static const int32_t ones[32] = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
    halcyon_mask mask = *(const halcyon_mask *)(ones + 16 - count);
    return (halcyon_lanes)(*(const halcyon_mask *)from & mask);
}

HALCYON_INLINE void HALCYON_KERNEL(store_part)(float *to, halcyon_lanes lanes, ptrdiff_t count) {
    for (ptrdiff_t lane = 0; lane < count; lane++) to[lane] = lanes[lane];
}

// `rows` rows and 16 · `columns` columns of C := op(A) · B, of which the last sixteen count `last` only. Element (i, p) of op(A) is
// a[i · row_step + p · inner_step]. `rows`, `columns` and whether `last` is 16 are known where this is inlined.
HALCYON_INLINE void HALCYON_KERNEL(tile)(
    const float *a, ptrdiff_t row_step, ptrdiff_t inner_step, const float *b, const float *b_end, float *c, ptrdiff_t n,
    ptrdiff_t k, int rows, int columns, ptrdiff_t last) {
    halcyon_lanes sums[HALCYON_TILE_ROWS < 4 ? 4 : HALCYON_TILE_ROWS][HALCYON_TILE_COLUMNS];
#pragma clang loop unroll(full)
    for (int i = 0; i < rows; i++) {
#pragma clang loop unroll(full)
        for (int j = 0; j < columns; j++) sums[i][j] = (halcyon_lanes){0};
    }
    for (ptrdiff_t p = 0; p < k; p++) {
        halcyon_lanes row[HALCYON_TILE_COLUMNS];
#pragma clang loop unroll(full)
        for (int j = 0; j < columns; j++) {
            row[j] = j == columns - 1 && last < 16 ? HALCYON_KERNEL(part)(b + 16 * j, last, b_end - (b + 16 * j))
                                                   : *(const halcyon_lanes *)(b + 16 * j);
        }
#pragma clang loop unroll(full)
        for (int i = 0; i < rows; i++) {
            float factor = a[i * row_step];
#pragma clang loop unroll(full)
            for (int j = 0; j < columns; j++) sums[i][j] += factor * row[j];
        }
        a += inner_step;
        b += n;
    }
#pragma clang loop unroll(full)
    for (int i = 0; i < rows; i++) {
#pragma clang loop unroll(full)
        for (int j = 0; j < columns; j++) {
            if (j == columns - 1 && last < 16)
                HALCYON_KERNEL(store_part)(c + i * n + 16 * j, sums[i][j], last);
            else
                *(halcyon_lanes *)(c + i * n + 16 * j) = sums[i][j];
        }
    }
}

// All rows of some columns.
HALCYON_INLINE void HALCYON_KERNEL(panel)(
    const float *a, ptrdiff_t row_step, ptrdiff_t inner_step, const float *b, const float *b_end, float *c, ptrdiff_t m,
    ptrdiff_t n, ptrdiff_t k, int columns, ptrdiff_t last) {
    ptrdiff_t i = 0;
#define HALCYON_ROWS(rows)                                                                                                 \
    HALCYON_KERNEL(tile)(a + i * row_step, row_step, inner_step, b, b_end, c + i * n, n, k, rows, columns, last)
    for (; i + HALCYON_TILE_ROWS <= m; i += HALCYON_TILE_ROWS) HALCYON_ROWS(HALCYON_TILE_ROWS);
    if (HALCYON_TILE_ROWS > 4 && i + 4 <= m) {
        HALCYON_ROWS(4);
        i += 4;
    }
    if (HALCYON_TILE_ROWS > 2 && i + 2 <= m) {
        HALCYON_ROWS(2);
        i += 2;
    }
    if (i < m) HALCYON_ROWS(1);
#undef HALCYON_ROWS
}

HALCYON_INLINE void HALCYON_KERNEL(product)(
    const float *a, ptrdiff_t row_step, ptrdiff_t inner_step, const float *b, float *c, ptrdiff_t m, ptrdiff_t n,
    ptrdiff_t k) {
    const float *b_end = b + k * n;
    ptrdiff_t j = 0;
    for (; j + 16 * HALCYON_TILE_COLUMNS <= n; j += 16 * HALCYON_TILE_COLUMNS)
        HALCYON_KERNEL(panel)(a, row_step, inner_step, b + j, b_end, c + j, m, n, k, HALCYON_TILE_COLUMNS, 16);
    for (; j + 16 <= n; j += 16)
        HALCYON_KERNEL(panel)(a, row_step, inner_step, b + j, b_end, c + j, m, n, k, 1, 16);
    if (j < n) HALCYON_KERNEL(panel)(a, row_step, inner_step, b + j, b_end, c + j, m, n, k, 1, n - j);
}

static void HALCYON_KERNEL(gemm)(const float *a, const float *b, float *c, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k) {
    HALCYON_KERNEL(product)(a, k, 1, b, c, m, n, k);
}

static void HALCYON_KERNEL(gemm_transposed)(
    const float *a, const float *b, float *c, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k) {
    HALCYON_KERNEL(product)(a, 1, m, b, c, m, n, k);
}

// Aᵀ · x is xᵀ · A, a product with one row.
static void HALCYON_KERNEL(gemv_transposed)(const float *a, const float *x, float *y, ptrdiff_t m, ptrdiff_t n) {
    HALCYON_KERNEL(product)(x, m, 1, a, y, 1, n, m);
}

// Lanes 0 to 7 and 8 to 15 are added pairwise, then the halves of that, down to one.
HALCYON_INLINE float HALCYON_KERNEL(sum)(halcyon_lanes v) {
    halcyon_lanes w = v + __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15, -1, -1, -1, -1, -1, -1, -1, -1);
    w = w + __builtin_shufflevector(w, w, 4, 5, 6, 7, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
    w = w + __builtin_shufflevector(w, w, 2, 3, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
    return w[0] + w[1];
}

static void HALCYON_KERNEL(gemv)(const float *a, const float *x, float *y, ptrdiff_t m, ptrdiff_t n) {
    const float *a_end = a + m * n;
    ptrdiff_t whole = n - n % 16;
    halcyon_lanes x_last = HALCYON_KERNEL(part)(x + whole, n - whole, 0);
    for (ptrdiff_t i = 0; i < m; i++, a += n) {
        halcyon_lanes sums = {0};
        for (ptrdiff_t j = 0; j < whole; j += 16) sums += *(const halcyon_lanes *)(a + j) * *(const halcyon_lanes *)(x + j);
        if (whole < n) sums += HALCYON_KERNEL(part)(a + whole, n - whole, a_end - (a + whole)) * x_last;
        y[i] = HALCYON_KERNEL(sum)(sums);
    }
}

static const struct halcyon_blas HALCYON_KERNEL(routines) = {
    HALCYON_LEVEL_NAME, HALCYON_KERNEL(gemm), HALCYON_KERNEL(gemm_transposed), HALCYON_KERNEL(gemv),
    HALCYON_KERNEL(gemv_transposed),
};

#include "vectors.h"

#undef HALCYON_KERNEL
#undef HALCYON_LEVEL_NAME
#undef HALCYON_TILE_ROWS
#undef HALCYON_TILE_COLUMNS
