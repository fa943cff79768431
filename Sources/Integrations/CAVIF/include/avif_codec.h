#ifndef HALCYON_AVIF_CODEC_H
#define HALCYON_AVIF_CODEC_H

#include <stddef.h>
#include <stdint.h>

/// libavif behind plain functions over whole files in memory, where its headers were there when this was compiled. Without them every
/// function returns `avif_codec_missing`, so that a package that holds this target builds without libavif.

typedef enum {
    avif_codec_ok = 0,
    avif_codec_truncated = 1,
    avif_codec_damaged = 2,
    avif_codec_unsupported = 3,
    avif_codec_out_of_memory = 4,
    avif_codec_missing = 5,
} avif_codec_status;

typedef struct {
    avif_codec_status status;
    char message[160];
    /// As stored, before it is turned.
    int32_t width, height;
    /// How it is to be turned, as EXIF numbers it.
    int32_t orientation;
    int32_t has_alpha;
    /// Whether the file has an ICC profile.
    int32_t has_profile;
} avif_codec_result;

/// Reads the header.
avif_codec_result avif_codec_information(const uint8_t *_Nonnull file, size_t count);

/// Decodes the first picture as 8-bit RGBA, alpha not multiplied in, into `width` x `height` pixels, which must be the file's.
avif_codec_result avif_codec_decode(const uint8_t *_Nonnull file, size_t count, int32_t width, int32_t height,
                                    uint8_t *_Nonnull pixels);

#endif
