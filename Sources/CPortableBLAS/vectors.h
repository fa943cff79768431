// The loops over vectors for one instruction set, under the target attributes that are in force where this file is included. It
// takes the macros of kernels.h, which must be included before it, and is included more than once on purpose.
//
// Swift code is compiled for the processors that every machine has; the compiler vectorizes these loops for wider registers. The
// elements of a result are independent of each other, so the width changes no bit of them. The arithmetic is that of FastMath in
// HalcyonLearning, operation by operation.

#pragma clang fp contract(off)

HALCYON_INLINE float HALCYON_KERNEL(float_of)(uint32_t bits) {
    float value;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}

HALCYON_INLINE uint32_t HALCYON_KERNEL(bits_of)(float value) {
    uint32_t bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    return bits;
}

// FastMath.log2
HALCYON_INLINE float HALCYON_KERNEL(log2_of)(float value) {
    uint32_t bits = HALCYON_KERNEL(bits_of)(value);
    float exponent = HALCYON_KERNEL(float_of)(bits >> 23 | 0x4B000000u) - 8388608.0f - 128.0f;
    float mantissa = HALCYON_KERNEL(float_of)((bits & 0x7FFFFFu) | 0x3F800000u);
    return exponent + ((2.0f - mantissa * 0.33333333f) * mantissa - 0.66666667f);
}

// FastMath.exp2
HALCYON_INLINE float HALCYON_KERNEL(exp2_of)(float value) {
    float bounded = value < 100.0f ? value : 100.0f;
    float shifted = bounded + 12582912.0f;
    float rest = bounded - (shifted - 12582912.0f);
    float power = 1.0f + rest * (0.693147f + rest * (0.240227f + rest * 0.055504f));
    uint32_t bits = HALCYON_KERNEL(bits_of)(power) + (HALCYON_KERNEL(bits_of)(shifted) << 23);
    return value >= -100.0f ? HALCYON_KERNEL(float_of)(bits) : 0.0f;
}

// The square root of a number of at least 0, within 0.001 %: from its bits and two of Newton's steps. The library's function
// has a branch for negative numbers, which prevents the vectorization of loops.
HALCYON_INLINE float HALCYON_KERNEL(root_of)(float value) {
    float inverse = HALCYON_KERNEL(float_of)(0x5F3759DFu - (HALCYON_KERNEL(bits_of)(value) >> 1));
    inverse *= 1.5f - 0.5f * value * inverse * inverse;
    inverse *= 1.5f - 0.5f * value * inverse * inverse;
    return value * inverse;
}

// FastMath.nearestByte
HALCYON_INLINE float HALCYON_KERNEL(nearest_byte)(float value) {
    float above = (value > 0.0f ? (value < 254.5f ? value : 254.5f) : 0.0f) + 0.5f;
    float nearest = (above + 8388608.0f) - 8388608.0f;
    return nearest > above ? nearest - 1.0f : nearest;
}

// A byte as an input around 0.
HALCYON_INLINE float HALCYON_KERNEL(input_of)(float level) { return level * 0.015625f - 1.0f; }

HALCYON_INLINE halcyon_lanes HALCYON_KERNEL(choose)(halcyon_mask is_first, halcyon_lanes first, halcyon_lanes second) {
    return (halcyon_lanes)(((halcyon_mask)first & is_first) | ((halcyon_mask)second & ~is_first));
}

// FeatureScales.level of sixteen numbers: FastMath.nearestByte of their logarithms times the steps, plus the numbers times the
// slopes.
HALCYON_INLINE halcyon_lanes HALCYON_KERNEL(levels)(const float *numbers, const float *steps, const float *slopes) {
    halcyon_lanes zero = {0}, number = *(const halcyon_lanes *)numbers;
    halcyon_bits bits = (halcyon_bits)(number + 1.0f);
    halcyon_lanes exponent = (halcyon_lanes)(bits >> 23 | 0x4B000000u) - 8388608.0f - 128.0f;
    halcyon_lanes mantissa = (halcyon_lanes)((bits & 0x7FFFFFu) | 0x3F800000u);
    halcyon_lanes logarithm = exponent + ((2.0f - mantissa * 0.33333333f) * mantissa - 0.66666667f);
    halcyon_lanes level = logarithm * *(const halcyon_lanes *)steps + number * *(const halcyon_lanes *)slopes;
    halcyon_lanes bounded = HALCYON_KERNEL(choose)(level < 254.5f, level, zero + 254.5f);
    halcyon_lanes above = HALCYON_KERNEL(choose)(level > 0.0f, bounded, zero) + 0.5f;
    halcyon_lanes nearest = (above + 8388608.0f) - 8388608.0f;
    return HALCYON_KERNEL(choose)(nearest > above, nearest - 1.0f, nearest);
}

static void HALCYON_KERNEL(encode_rows)(
    float *rows, ptrdiff_t count, const float *steps, const float *slopes, ptrdiff_t row_count) {
    for (ptrdiff_t row = 0; row < row_count; row++, rows += count) {
        float step = steps[row], slope = slopes[row];
        if (step == 0.0f) {
            for (ptrdiff_t i = 0; i < count; i++)
                rows[i] = HALCYON_KERNEL(input_of)(HALCYON_KERNEL(nearest_byte)(rows[i] * slope));
        } else {
            for (ptrdiff_t i = 0; i < count; i++)
                rows[i] = HALCYON_KERNEL(input_of)(
                    HALCYON_KERNEL(nearest_byte)(HALCYON_KERNEL(log2_of)(rows[i] + 1.0f) * step));
        }
    }
}

// Sixteen numbers at a time, of at least sixteen. The last sixteen overlap those before, which saves a loop for the rest.
#define HALCYON_SIXTEENS(i, count)                                                                                         \
    for (ptrdiff_t next = 0, i; next < (count) && (i = next + 16 <= (count) ? next : (count) - 16, 1); next += 16)

static void HALCYON_KERNEL(encode)(
    const float *numbers, const float *steps, const float *slopes, float *inputs, ptrdiff_t count) {
    HALCYON_SIXTEENS(i, count) {
        halcyon_lanes levels = HALCYON_KERNEL(levels)(numbers + i, steps + i, slopes + i);
        *(halcyon_lanes *)(inputs + i) = levels * 0.015625f - 1.0f;
    }
}

static void HALCYON_KERNEL(pack)(
    const float *numbers, const float *steps, const float *slopes, uint8_t *bytes, ptrdiff_t count) {
    HALCYON_SIXTEENS(i, count) {
        halcyon_bits levels =
            (halcyon_bits)(HALCYON_KERNEL(levels)(numbers + i, steps + i, slopes + i) + 8388608.0f);
        *(halcyon_bytes *)(bytes + i) = __builtin_convertvector(levels, halcyon_bytes);
    }
}

static void HALCYON_KERNEL(decode)(const uint8_t *bytes, float *inputs, ptrdiff_t count) {
    HALCYON_SIXTEENS(i, count) {
        halcyon_lanes levels = __builtin_convertvector(*(const halcyon_bytes *)(bytes + i), halcyon_lanes);
        *(halcyon_lanes *)(inputs + i) = levels * 0.015625f - 1.0f;
    }
}
#undef HALCYON_SIXTEENS

static void HALCYON_KERNEL(decay)(
    float *restrict numbers, const float *restrict times, float rate, ptrdiff_t count) {
    for (ptrdiff_t i = 0; i < count; i++) numbers[i] *= HALCYON_KERNEL(exp2_of)(-times[i] * rate);
}

static void HALCYON_KERNEL(octaves)(float *numbers, ptrdiff_t count) {
    for (ptrdiff_t i = 0; i < count; i++) {
        float octaves = HALCYON_KERNEL(nearest_byte)(HALCYON_KERNEL(log2_of)(numbers[i]) * 8.0f + 128.0f);
        numbers[i] = numbers[i] < 0x1p-16f ? 0.0f : octaves;
    }
}

static void HALCYON_KERNEL(rectify)(float *numbers, ptrdiff_t count, float leak) {
    for (ptrdiff_t i = 0; i < count; i++) numbers[i] = numbers[i] > 0.0f ? numbers[i] : leak * numbers[i];
}

static void HALCYON_KERNEL(errors)(
    const float *restrict logits, const float *restrict labels, float scale, float *restrict errors, ptrdiff_t count) {
    for (ptrdiff_t i = 0; i < count; i++)
        errors[i] = (1.0f / (1.0f + HALCYON_KERNEL(exp2_of)(-1.442695f * logits[i])) - labels[i]) * scale;
}

static void HALCYON_KERNEL(propagate)(
    const float *restrict activations, const float *restrict errors, const float *restrict weights, float leak,
    float *restrict deltas, ptrdiff_t rows, ptrdiff_t width) {
    for (ptrdiff_t row = 0; row < rows; row++, activations += width, deltas += width) {
        float error = errors[row];
        for (ptrdiff_t i = 0; i < width; i++) deltas[i] = error * weights[i] * (activations[i] > 0.0f ? 1.0f : leak);
    }
}

// Sixteen columns at a time stay in registers.
static void HALCYON_KERNEL(moments)(
    const float *input, const float *means, float *sums, float *squares, ptrdiff_t rows, ptrdiff_t width) {
    const float *end = input + rows * width;
    for (ptrdiff_t j = 0; j < width; j += 16) {
        ptrdiff_t count = width - j < 16 ? width - j : 16;
        halcyon_lanes mean = HALCYON_KERNEL(part)(means + j, count, width - j), sum = {0}, square = {0};
        const float *from = input + j;
        for (ptrdiff_t row = 0; row < rows; row++, from += width) {
            halcyon_lanes numbers =
                count == 16 ? *(const halcyon_lanes *)from : HALCYON_KERNEL(part)(from, count, end - from);
            halcyon_lanes offset = numbers - mean;
            sum += offset;
            square += offset * offset;
        }
        HALCYON_KERNEL(store_part)(sums + j, sum, count);
        HALCYON_KERNEL(store_part)(squares + j, square, count);
    }
}

static void HALCYON_KERNEL(adam)(
    float *restrict parameters, const float *restrict gradients, float *restrict means, float *restrict squares,
    float first_decay, float second_decay, float scale, float correction, float floor, ptrdiff_t count) {
    for (ptrdiff_t i = 0; i < count; i++) {
        float gradient = gradients[i];
        float moved = first_decay * means[i] + (1.0f - first_decay) * gradient;
        float spread = second_decay * squares[i] + (1.0f - second_decay) * gradient * gradient;
        means[i] = moved;
        squares[i] = spread;
        parameters[i] -= scale * moved / (HALCYON_KERNEL(root_of)(spread) * correction + floor);
    }
}

static void HALCYON_KERNEL(scale_weights)(
    float *restrict row, float *restrict shift, float mean, float scale, ptrdiff_t count) {
    for (ptrdiff_t i = 0; i < count; i++) {
        row[i] *= scale;
        shift[i] -= mean * row[i];
    }
}

static void HALCYON_KERNEL(scale_gradients)(
    float *restrict row, const float *restrict shift, float mean, float scale, ptrdiff_t count) {
    for (ptrdiff_t i = 0; i < count; i++) row[i] = (row[i] - mean * shift[i]) * scale;
}

static void HALCYON_KERNEL(bisect)(const float *numbers, ptrdiff_t count, ptrdiff_t most, float *low, float *high) {
    // A number that is not a number changes neither end, unless it is the first.
    float least = numbers[0], greatest = numbers[0];
    if (count >= 16) {
        halcyon_lanes zero = {0}, lowest = zero + least, highest = lowest;
        ptrdiff_t i = 0;
        for (; i + 16 <= count; i += 16) {
            halcyon_lanes next = *(const halcyon_lanes *)(numbers + i);
            lowest = HALCYON_KERNEL(choose)(next < lowest, next, lowest);
            highest = HALCYON_KERNEL(choose)(next > highest, next, highest);
        }
        halcyon_lanes last = *(const halcyon_lanes *)(numbers + count - 16);
        lowest = HALCYON_KERNEL(choose)(last < lowest, last, lowest);
        highest = HALCYON_KERNEL(choose)(last > highest, last, highest);
        for (int lane = 0; lane < 16; lane++) {
            if (lowest[lane] < least) least = lowest[lane];
            if (highest[lane] > greatest) greatest = highest[lane];
        }
    } else {
        for (ptrdiff_t i = 1; i < count; i++) {
            if (numbers[i] < least) least = numbers[i];
            if (numbers[i] > greatest) greatest = numbers[i];
        }
    }
    for (int step = 0; step < 8; step++) {
        float middle = least + (greatest - least) / 2.0f;
        int32_t below = 0;
        for (ptrdiff_t i = 0; i < count; i++) below += numbers[i] < middle;
        if (below > most)
            greatest = middle;
        else
            least = middle;
    }
    *low = least;
    *high = greatest;
}

static const struct halcyon_vectors HALCYON_KERNEL(vectors) = {
    HALCYON_KERNEL(encode_rows), HALCYON_KERNEL(encode), HALCYON_KERNEL(pack), HALCYON_KERNEL(decode),
    HALCYON_KERNEL(decay), HALCYON_KERNEL(octaves), HALCYON_KERNEL(rectify), HALCYON_KERNEL(errors),
    HALCYON_KERNEL(propagate), HALCYON_KERNEL(moments), HALCYON_KERNEL(adam), HALCYON_KERNEL(scale_weights),
    HALCYON_KERNEL(scale_gradients), HALCYON_KERNEL(bisect),
};
