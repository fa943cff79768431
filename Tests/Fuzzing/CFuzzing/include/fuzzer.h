#include <stddef.h>
#include <stdint.h>

/// Calls `body` with the inputs that libFuzzer makes, as its arguments say. Returns its exit code, or -1 where the program was
/// built without libFuzzer.
int fuzzer_run(int *count, char ***arguments, int (*body)(const uint8_t *data, size_t size));
