#include "portable_blas.h"

#ifndef __clang__
#error "Compile this file with clang: other compilers ignore the pragma that forbids fused operations."
#endif
#pragma clang fp contract(off)

// The routines in kernels.h are compiled once for each instruction set. Tile heights fit its registers; they do not change results.

#if defined(__x86_64__)

#define HALCYON_KERNEL(name) name##_sse2
#define HALCYON_LEVEL_NAME "sse2"
#define HALCYON_TILE_ROWS 2
#define HALCYON_TILE_COLUMNS 1
#include "kernels.h"

#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#define HALCYON_KERNEL(name) name##_avx2
#define HALCYON_LEVEL_NAME "avx2"
#define HALCYON_TILE_ROWS 6
#define HALCYON_TILE_COLUMNS 1
#include "kernels.h"
#pragma clang attribute pop

#pragma clang attribute push(__attribute__((target("avx512f,avx512vl,avx512dq,avx512bw"))), apply_to = function)
#define HALCYON_KERNEL(name) name##_avx512
#define HALCYON_LEVEL_NAME "avx512"
#define HALCYON_TILE_ROWS 8
#define HALCYON_TILE_COLUMNS 2
#include "kernels.h"
#pragma clang attribute pop

static const struct halcyon_blas *const levels[] = {&routines_sse2, &routines_avx2, &routines_avx512};
static const struct halcyon_vectors *const vectors[] = {&vectors_sse2, &vectors_avx2, &vectors_avx512};

static int is_supported(int level) {
    __builtin_cpu_init();
    switch (level) {
    case 0: return 1;
    case 1: return __builtin_cpu_supports("avx2");
    case 2:
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")
            && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
    default: return 0;
    }
}

#else

#if defined(__aarch64__)
#define HALCYON_LEVEL_NAME "neon"
#else
#define HALCYON_LEVEL_NAME "generic"
#endif
#define HALCYON_KERNEL(name) name##_baseline
#define HALCYON_TILE_ROWS 4
#define HALCYON_TILE_COLUMNS 1
#include "kernels.h"

static const struct halcyon_blas *const levels[] = {&routines_baseline};
static const struct halcyon_vectors *const vectors[] = {&vectors_baseline};

static int is_supported(int level) { return level == 0; }

#endif

static const int level_count = sizeof levels / sizeof levels[0];

int halcyon_blas_level_count(void) { return level_count; }

const struct halcyon_blas *halcyon_blas_level(int level) {
    return level >= 0 && level < level_count && is_supported(level) ? levels[level] : 0;
}

const struct halcyon_vectors *halcyon_vectors_level(int level) {
    return level >= 0 && level < level_count && is_supported(level) ? vectors[level] : 0;
}

const char *halcyon_blas_level_name(int level) {
    return level >= 0 && level < level_count ? levels[level]->name : "";
}
