#ifndef HALCYON_IMAGE_CODECS_H
#define HALCYON_IMAGE_CODECS_H

#include <stddef.h>
#include <stdint.h>

/// libjpeg-turbo, libpng and libwebp behind plain functions over whole files in memory.
///
/// Pixels are 8-bit RGBA, alpha not multiplied in, rows one after another without padding. No function keeps a pointer, jumps
/// out of C or prints. A decoder is told the dimensions that the caller read and made room for, and refuses a file in which the
/// library reads others.

typedef enum {
    codec_ok = 0,
    /// The data ends before the picture does.
    codec_truncated = 1,
    /// The data is not what the format allows.
    codec_damaged = 2,
    /// The format allows it and the library does not know it.
    codec_unsupported = 3,
    codec_out_of_memory = 4,
    /// The data ends before the picture does, and every pixel is written nevertheless.
    codec_partial = 5,
} codec_status;

/// A result, and in the library's words what was wrong: a sentence in ASCII that ends with a NUL.
typedef struct {
    codec_status status;
    char message[160];
} codec_result;

/// A file that was written, to be given back to `codec_free`.
typedef struct {
    uint8_t *_Nullable bytes;
    size_t count;
} codec_file;

/// The room for a codec's dimension after scaling by eighths: ceil(`dimension` * `eighths` / 8).
int32_t codec_jpeg_scaled(int32_t dimension, int32_t eighths);

/// Decodes at `eighths` / 8 of the size (1 to 8), inside the inverse transform. `is_cmyk`: four inks, taken to be stored inverted, as
/// Adobe's programs do. `is_cut`: the caller has put an end marker where the file ended; if data are missing before it, the result is
/// `codec_partial`. `pixels` has room for both scaled dimensions.
codec_result codec_jpeg_decode(const uint8_t *_Nonnull file, size_t count, int32_t width, int32_t height, int is_cmyk,
                               int32_t eighths, int is_cut, uint8_t *_Nonnull pixels);

/// `quality` 1 to 100; chroma at half of the resolution below 90, in full from there. Alpha is ignored.
codec_result codec_jpeg_encode(const uint8_t *_Nonnull pixels, int32_t width, int32_t height, int quality,
                               codec_file *_Nonnull file);

/// Decodes every kind of PNG: grey, palette and keyed transparency expanded, 16 bits rounded to 8, interlacing undone. No colour
/// management: gAMA, cHRM and iCCP are left aside.
codec_result codec_png_decode(const uint8_t *_Nonnull file, size_t count, int32_t width, int32_t height,
                              uint8_t *_Nonnull pixels);

/// `level` of zlib, 0 to 9. `is_opaque` leaves the alpha out.
codec_result codec_png_encode(const uint8_t *_Nonnull pixels, int32_t width, int32_t height, int is_opaque, int level,
                              codec_file *_Nonnull file);

/// Decodes a still WebP, or the chunks of one frame, scaled to `scaled_width` x `scaled_height`; equal to `width` x `height`: as it is.
codec_result codec_webp_decode(const uint8_t *_Nonnull file, size_t count, int32_t width, int32_t height,
                               int32_t scaled_width, int32_t scaled_height, uint8_t *_Nonnull pixels);

/// `quality` 0 to 100, or negative: lossless, colours under full transparency kept.
codec_result codec_webp_encode(const uint8_t *_Nonnull pixels, int32_t width, int32_t height, int is_opaque,
                               float quality, codec_file *_Nonnull file);

/// Decompresses zlib's format to at most `limit` bytes.
codec_result codec_inflate(const uint8_t *_Nonnull source, size_t count, size_t limit, codec_file *_Nonnull file);

/// The checksum of a PNG chunk.
uint32_t codec_crc32(const uint8_t *_Nonnull bytes, size_t count);

/// Gives a written file back.
void codec_free(codec_file *_Nonnull file);

#endif
