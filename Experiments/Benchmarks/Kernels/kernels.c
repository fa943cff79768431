// Times the portable matrix routines beside OpenBLAS on the learner's and the planner's shapes, and prints Markdown. See
// `make bench-kernels`.
//
// Each figure is the least of several rounds, the routines in turn, so that a machine that drifts drifts for all.
#include "portable_blas.h"

#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { rounds = 15, repetitions = 1000, most_levels = 8, room = 1 << 16 };

enum operation { gemm, gemm_transposed, gemv, gemv_transposed };

static const struct {
    const char *what;
    enum operation operation;
    ptrdiff_t m, n, k;
} shapes[] = {
    {"learner scores 64 candidates", gemm_transposed, 64, 32, 38},
    {"learner scores 1 object", gemm, 1, 32, 38},
    {"learner predicts 32 samples", gemm, 32, 32, 38},
    {"learner trains, forward", gemm, 256, 32, 38},
    {"learner trains, gradient", gemm_transposed, 38, 32, 256},
    {"learner's output, 64 rows", gemv, 64, 32, 0},
    {"learner's output, 256 rows", gemv, 256, 32, 0},
    {"learner's output gradient", gemv_transposed, 256, 32, 0},
    {"planner scores 12 candidates", gemm_transposed, 12, 16, 40},
    {"planner trains, forward", gemm, 32, 16, 40},
    {"planner trains, gradient", gemm_transposed, 40, 16, 32},
};

static float a[room], b[room], c[room];

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void multiply(const struct halcyon_blas *blas, enum operation operation, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k) {
    if (blas) {
        switch (operation) {
        case gemm: blas->gemm(a, b, c, m, n, k); break;
        case gemm_transposed: blas->gemm_transposed(a, b, c, m, n, k); break;
        case gemv: blas->gemv(a, b, c, m, n); break;
        case gemv_transposed: blas->gemv_transposed(a, b, c, m, n); break;
        }
        return;
    }
    blasint rows = (blasint)m, columns = (blasint)n, inner = (blasint)k;
    switch (operation) {
    case gemm:
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, columns, inner, 1, a, inner, b, columns, 0, c, columns);
        break;
    case gemm_transposed:
        cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, rows, columns, inner, 1, a, rows, b, columns, 0, c, columns);
        break;
    case gemv: cblas_sgemv(CblasRowMajor, CblasNoTrans, rows, columns, 1, a, columns, b, 1, 0, c, 1); break;
    case gemv_transposed: cblas_sgemv(CblasRowMajor, CblasTrans, rows, columns, 1, a, columns, b, 1, 0, c, 1); break;
    }
}

static void print_processor(void) {
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[256] = "";
    while (file && fgets(line, sizeof line, file) && strncmp(line, "model name", 10)) {}
    if (file) fclose(file);
    char *name = strchr(line, ':');
    printf("Processor: %s", name ? name + 2 : "unknown\n");
    printf("OpenBLAS: %s, kernels for %s\n\n", openblas_get_config(), openblas_get_corename());
}

int main(void) {
    openblas_set_num_threads(1);
    for (int i = 0; i < room; i++) {
        a[i] = (float)rand() / (float)RAND_MAX - 0.5f;
        b[i] = (float)rand() / (float)RAND_MAX - 0.5f;
    }
    // The last is OpenBLAS.
    const struct halcyon_blas *all[most_levels + 1];
    int count = 0;
    for (int level = 0; level < halcyon_blas_level_count() && count < most_levels; level++)
        if (halcyon_blas_level(level)) all[count++] = halcyon_blas_level(level);
    all[count] = 0;

    print_processor();
    printf("| ns each | m × n × k |");
    for (int i = 0; i < count; i++) printf(" %s |", all[i]->name);
    printf(" OpenBLAS | OpenBLAS / %s |\n|---|---|", all[count - 1]->name);
    for (int i = 0; i <= count + 1; i++) printf("--:|");
    printf("\n");
    for (size_t shape = 0; shape < sizeof shapes / sizeof shapes[0]; shape++) {
        double least[most_levels + 1];
        for (int i = 0; i <= count; i++) least[i] = 1e18;
        for (int round = 0; round < rounds; round++) {
            for (int i = 0; i <= count; i++) {
                double began = now();
                for (int repetition = 0; repetition < repetitions; repetition++)
                    multiply(all[i], shapes[shape].operation, shapes[shape].m, shapes[shape].n, shapes[shape].k);
                double each = (now() - began) / repetitions;
                if (each < least[i]) least[i] = each;
            }
        }
        printf("| %s | %td × %td", shapes[shape].what, shapes[shape].m, shapes[shape].n);
        if (shapes[shape].k) printf(" × %td", shapes[shape].k);
        printf(" |");
        for (int i = 0; i <= count; i++) printf(" %.0f |", least[i]);
        printf(" %.1f |\n", least[count] / least[count - 1]);
    }
    return 0;
}
