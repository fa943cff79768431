#include <lzma.h>

// The macro is one that Swift does not import.
static const uint32_t halcyon_lzma_concatenated = LZMA_CONCATENATED;
