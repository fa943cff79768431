#ifndef HALCYON_HEAP_USE_H
#define HALCYON_HEAP_USE_H

#include <stddef.h>

/* What the program holds of the C heap, in bytes, after what it does not was given back to the system. 0 where that cannot be told. */
size_t heap_in_use(void);

#endif
