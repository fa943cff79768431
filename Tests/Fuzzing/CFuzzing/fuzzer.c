#include "fuzzer.h"

/// libFuzzer as a library. A program that is not built with `-sanitize=fuzzer` has none.
int LLVMFuzzerRunDriver(int *count, char ***arguments, int (*body)(const uint8_t *, size_t)) __attribute__((weak));

int fuzzer_run(int *count, char ***arguments, int (*body)(const uint8_t *data, size_t size)) {
    return LLVMFuzzerRunDriver ? LLVMFuzzerRunDriver(count, arguments, body) : -1;
}
