#ifndef HALCYON_CODEC_RESULT_H
#define HALCYON_CODEC_RESULT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "image_codecs.h"

static inline codec_result codec_result_make(codec_status status, const char *message) {
    codec_result result = {.status = status};
    snprintf(result.message, sizeof result.message, "%s", message);
    return result;
}

#endif
