#include <stdio.h>
#include <string.h>

#include "avif_codec.h"

static avif_codec_result result_make(avif_codec_status status, const char *message) {
    avif_codec_result result = {.status = status, .orientation = 1};
    snprintf(result.message, sizeof result.message, "%s", message);
    return result;
}

#if __has_include(<avif/avif.h>)
#include <avif/avif.h>

static avif_codec_result result_of(avifResult code) {
    switch (code) {
    case AVIF_RESULT_OK: return result_make(avif_codec_ok, "");
    case AVIF_RESULT_OUT_OF_MEMORY: return result_make(avif_codec_out_of_memory, "libavif has no memory");
    case AVIF_RESULT_TRUNCATED_DATA: return result_make(avif_codec_truncated, avifResultToString(code));
    case AVIF_RESULT_NO_CODEC_AVAILABLE:
    case AVIF_RESULT_NOT_IMPLEMENTED:
    case AVIF_RESULT_UNSUPPORTED_DEPTH: return result_make(avif_codec_unsupported, avifResultToString(code));
    default: return result_make(avif_codec_damaged, avifResultToString(code));
    }
}

/// The turn that EXIF would name: first the rotation, anti-clockwise by quarters, then the mirror.
static int32_t orientation_of(const avifImage *image) {
    const int angle = image->transformFlags & AVIF_TRANSFORM_IROT ? image->irot.angle & 3 : 0;
    if (!(image->transformFlags & AVIF_TRANSFORM_IMIR)) {
        static const int32_t turned[] = {1, 8, 3, 6};
        return turned[angle];
    }
    // Mode 0 exchanges top and bottom, 1 left and right.
    static const int32_t mirrored[2][4] = {{4, 5, 2, 7}, {2, 7, 4, 5}};
    return mirrored[image->imir.mode & 1][angle];
}

static avifDecoder *opened(const uint8_t *file, size_t count, avif_codec_result *result) {
    avifDecoder *decoder = avifDecoderCreate();
    if (decoder == NULL) {
        *result = result_make(avif_codec_out_of_memory, "libavif could not be started");
        return NULL;
    }
    decoder->maxThreads = 1;
    decoder->strictFlags = AVIF_STRICT_DISABLED;
    avifResult code = avifDecoderSetIOMemory(decoder, file, count);
    if (code == AVIF_RESULT_OK) code = avifDecoderParse(decoder);
    *result = result_of(code);
    if (code != AVIF_RESULT_OK) {
        avifDecoderDestroy(decoder);
        return NULL;
    }
    result->width = (int32_t)decoder->image->width;
    result->height = (int32_t)decoder->image->height;
    result->orientation = orientation_of(decoder->image);
    result->has_alpha = decoder->alphaPresent;
    result->has_profile = decoder->image->icc.size > 0;
    return decoder;
}

avif_codec_result avif_codec_information(const uint8_t *file, size_t count) {
    avif_codec_result result;
    avifDecoder *decoder = opened(file, count, &result);
    if (decoder != NULL) avifDecoderDestroy(decoder);
    return result;
}

avif_codec_result avif_codec_decode(const uint8_t *file, size_t count, int32_t width, int32_t height,
                                    uint8_t *pixels) {
    avif_codec_result result;
    avifDecoder *decoder = opened(file, count, &result);
    if (decoder == NULL) return result;
    avifResult code = avifDecoderNextImage(decoder);
    if (code == AVIF_RESULT_OK &&
        (decoder->image->width != (uint32_t)width || decoder->image->height != (uint32_t)height)) {
        result = result_make(avif_codec_damaged, "its headers contradict one another");
    } else if (code == AVIF_RESULT_OK) {
        avifRGBImage rgb;
        avifRGBImageSetDefaults(&rgb, decoder->image);
        rgb.format = AVIF_RGB_FORMAT_RGBA;
        rgb.depth = 8;
        rgb.alphaPremultiplied = AVIF_FALSE;
        rgb.pixels = pixels;
        rgb.rowBytes = (uint32_t)width * 4;
        code = avifImageYUVToRGB(decoder->image, &rgb);
    }
    if (code != AVIF_RESULT_OK) result = result_of(code);
    avifDecoderDestroy(decoder);
    return result;
}

#else

avif_codec_result avif_codec_information(const uint8_t *file, size_t count) {
    (void)file;
    (void)count;
    return result_make(avif_codec_missing, "libavif was not there when this was built");
}

avif_codec_result avif_codec_decode(const uint8_t *file, size_t count, int32_t width, int32_t height,
                                    uint8_t *pixels) {
    (void)width;
    (void)height;
    (void)pixels;
    return avif_codec_information(file, count);
}

#endif
