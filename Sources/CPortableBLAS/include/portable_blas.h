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

// One compilation of the loops over vectors, which give the bits of the same loops in Swift. No output overlaps an input unless it
// is the same argument. Features are encoded as FeatureScales in HalcyonLearning says: by steps an octave or by a slope.
struct halcyon_vectors {
    // Encodes `row_count` rows of `count` numbers as inputs of a network, in place; steps and slopes are those of the rows.
    void (*_Nonnull encode_rows)(
        float *_Nonnull rows, ptrdiff_t count, const float *_Nonnull steps, const float *_Nonnull slopes,
        ptrdiff_t row_count);
    // Encodes at least sixteen numbers as inputs; steps and slopes are those of the numbers.
    void (*_Nonnull encode)(
        const float *_Nonnull numbers, const float *_Nonnull steps, const float *_Nonnull slopes,
        float *_Nonnull inputs, ptrdiff_t count);
    // Encodes at least sixteen numbers as bytes.
    void (*_Nonnull pack)(
        const float *_Nonnull numbers, const float *_Nonnull steps, const float *_Nonnull slopes,
        uint8_t *_Nonnull bytes, ptrdiff_t count);
    // Converts at least sixteen bytes to inputs.
    void (*_Nonnull decode)(const uint8_t *_Nonnull bytes, float *_Nonnull inputs, ptrdiff_t count);
    // Multiplies each number by 2 to the power of minus its time times the rate.
    void (*_Nonnull decay)(float *_Nonnull numbers, const float *_Nonnull times, float rate, ptrdiff_t count);
    // Replaces priorities above the clock by eight steps an octave.
    void (*_Nonnull octaves)(float *_Nonnull numbers, ptrdiff_t count);
    // Multiplies the numbers that are not positive by the leak.
    void (*_Nonnull rectify)(float *_Nonnull numbers, ptrdiff_t count, float leak);
    // Writes the gradient of each logit.
    void (*_Nonnull errors)(
        const float *_Nonnull logits, const float *_Nonnull labels, float scale, float *_Nonnull errors,
        ptrdiff_t count);
    // Writes the gradients of the hidden units before the rectifier, rows × width.
    void (*_Nonnull propagate)(
        const float *_Nonnull activations, const float *_Nonnull errors, const float *_Nonnull weights, float leak,
        float *_Nonnull deltas, ptrdiff_t rows, ptrdiff_t width);
    // Writes the sums over the rows of the distances from the means, and of their squares.
    void (*_Nonnull moments)(
        const float *_Nonnull input, const float *_Nonnull means, float *_Nonnull sums, float *_Nonnull squares,
        ptrdiff_t rows, ptrdiff_t width);
    // Takes a step of Adam.
    void (*_Nonnull adam)(
        float *_Nonnull parameters, const float *_Nonnull gradients, float *_Nonnull means, float *_Nonnull squares,
        float first_decay, float second_decay, float scale, float correction, float floor, ptrdiff_t count);
    // Scales a row of weights, and subtracts its product with the mean from the shift.
    void (*_Nonnull scale_weights)(
        float *_Nonnull row, float *_Nonnull shift, float mean, float scale, ptrdiff_t count);
    // Subtracts the product of the mean and the shift from a row of gradients, and scales it.
    void (*_Nonnull scale_gradients)(
        float *_Nonnull row, const float *_Nonnull shift, float mean, float scale, ptrdiff_t count);
    // Halves the range from the least to the greatest number eight times. More than `most` numbers are below a new upper end, and
    // at most `most` below a new lower end. There is at least one number.
    void (*_Nonnull bisect)(
        const float *_Nonnull numbers, ptrdiff_t count, ptrdiff_t most, float *_Nonnull low, float *_Nonnull high);
};

// Calls of these loops. Swift 6.3 emits invalid code for the thread sanitizer where it loads such a pointer from memory itself.
#define HALCYON_VECTORS const struct halcyon_vectors *_Nonnull vectors

static inline void halcyon_encode_rows(
    HALCYON_VECTORS, float *_Nonnull rows, ptrdiff_t count, const float *_Nonnull steps, const float *_Nonnull slopes,
    ptrdiff_t row_count) {
    vectors->encode_rows(rows, count, steps, slopes, row_count);
}

static inline void halcyon_encode(
    HALCYON_VECTORS, const float *_Nonnull numbers, const float *_Nonnull steps, const float *_Nonnull slopes,
    float *_Nonnull inputs, ptrdiff_t count) {
    vectors->encode(numbers, steps, slopes, inputs, count);
}

static inline void halcyon_pack(
    HALCYON_VECTORS, const float *_Nonnull numbers, const float *_Nonnull steps, const float *_Nonnull slopes,
    uint8_t *_Nonnull bytes, ptrdiff_t count) {
    vectors->pack(numbers, steps, slopes, bytes, count);
}

static inline void halcyon_decode(
    HALCYON_VECTORS, const uint8_t *_Nonnull bytes, float *_Nonnull inputs, ptrdiff_t count) {
    vectors->decode(bytes, inputs, count);
}

static inline void halcyon_decay(
    HALCYON_VECTORS, float *_Nonnull numbers, const float *_Nonnull times, float rate, ptrdiff_t count) {
    vectors->decay(numbers, times, rate, count);
}

static inline void halcyon_octaves(HALCYON_VECTORS, float *_Nonnull numbers, ptrdiff_t count) {
    vectors->octaves(numbers, count);
}

static inline void halcyon_rectify(HALCYON_VECTORS, float *_Nonnull numbers, ptrdiff_t count, float leak) {
    vectors->rectify(numbers, count, leak);
}

static inline void halcyon_errors(
    HALCYON_VECTORS, const float *_Nonnull logits, const float *_Nonnull labels, float scale, float *_Nonnull errors,
    ptrdiff_t count) {
    vectors->errors(logits, labels, scale, errors, count);
}

static inline void halcyon_propagate(
    HALCYON_VECTORS, const float *_Nonnull activations, const float *_Nonnull errors, const float *_Nonnull weights,
    float leak, float *_Nonnull deltas, ptrdiff_t rows, ptrdiff_t width) {
    vectors->propagate(activations, errors, weights, leak, deltas, rows, width);
}

static inline void halcyon_moments(
    HALCYON_VECTORS, const float *_Nonnull input, const float *_Nonnull means, float *_Nonnull sums,
    float *_Nonnull squares, ptrdiff_t rows, ptrdiff_t width) {
    vectors->moments(input, means, sums, squares, rows, width);
}

static inline void halcyon_adam(
    HALCYON_VECTORS, float *_Nonnull parameters, const float *_Nonnull gradients, float *_Nonnull means,
    float *_Nonnull squares, float first_decay, float second_decay, float scale, float correction, float floor,
    ptrdiff_t count) {
    vectors->adam(parameters, gradients, means, squares, first_decay, second_decay, scale, correction, floor, count);
}

static inline void halcyon_scale_weights(
    HALCYON_VECTORS, float *_Nonnull row, float *_Nonnull shift, float mean, float scale, ptrdiff_t count) {
    vectors->scale_weights(row, shift, mean, scale, count);
}

static inline void halcyon_scale_gradients(
    HALCYON_VECTORS, float *_Nonnull row, const float *_Nonnull shift, float mean, float scale, ptrdiff_t count) {
    vectors->scale_gradients(row, shift, mean, scale, count);
}

static inline void halcyon_bisect(
    HALCYON_VECTORS, const float *_Nonnull numbers, ptrdiff_t count, ptrdiff_t most, float *_Nonnull low,
    float *_Nonnull high) {
    vectors->bisect(numbers, count, most, low, high);
}
#undef HALCYON_VECTORS

// The number of instruction sets that the routines were compiled for.
int halcyon_blas_level_count(void);

// The routines for instruction set `level`, from 0 (every processor has it) upwards to the widest registers; null where this
// processor lacks its instructions.
const struct halcyon_blas *_Nullable halcyon_blas_level(int level);

// The loops over vectors for instruction set `level`, as halcyon_blas_level.
const struct halcyon_vectors *_Nullable halcyon_vectors_level(int level);

// The name of instruction set `level`, whether the processor has it or not.
const char *_Nonnull halcyon_blas_level_name(int level);

#ifdef __cplusplus
}
#endif

#endif
