#include "heap_use.h"

#include <stdlib.h>

#if defined(__GLIBC__)
#include <malloc.h>

size_t heap_in_use(void) {
    malloc_trim(0);
    struct mallinfo2 use = mallinfo2();
    return use.uordblks + use.hblkhd;
}
#else
size_t heap_in_use(void) { return 0; }
#endif
