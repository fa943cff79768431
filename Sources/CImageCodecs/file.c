#include <stdlib.h>

#include "image_codecs.h"

void codec_free(codec_file *file) {
    free(file->bytes);
    file->bytes = NULL;
    file->count = 0;
}
