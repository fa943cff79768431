// jpeglib.h needs the declarations before it, and jerror.h those of jpeglib.h.
#include <stddef.h>
#include <stdio.h>

#include <jpeglib.h>

#include <jerror.h>
