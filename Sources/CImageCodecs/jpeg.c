#include <turbojpeg.h>

#include "result.h"

int32_t codec_jpeg_scaled(int32_t dimension, int32_t eighths) {
    return (int32_t)(((int64_t)dimension * eighths + 7) / 8);
}

/// Whether libjpeg went on to the end of a whole picture after this. Files with bytes too many between segments or odd parameters are
/// common. After any other warning it fills the rest with grey. Of several warnings TurboJPEG hands out the first.
///
/// TurboJPEG calls an error a warning, too, if a warning came before it; the message is then the error's, so that only messages
/// known to be harmless say that there is a picture.
static int is_harmless(const char *message) {
    return strstr(message, "extraneous bytes before marker") != NULL ||
           strstr(message, "Invalid SOS parameters for sequential JPEG") != NULL ||
           strstr(message, "Unknown Adobe color transform code") != NULL ||
           strstr(message, "unknown JFIF revision number") != NULL;
}

/// Whether libjpeg met the end marker before the data that it expected, and filled in the rest.
static int is_cut_short(const char *message) {
    return strstr(message, "premature end of data segment") != NULL || strstr(message, "instead of RST") != NULL;
}

static codec_status meaning_of_error(const char *message, int is_cut) {
    if (is_cut && is_cut_short(message)) return codec_truncated;
    if (strstr(message, "Premature end of JPEG file") != NULL) return codec_truncated;
    if (strstr(message, "nsufficient memory") != NULL) return codec_out_of_memory;
    if (strstr(message, "nsupported") != NULL || strstr(message, "not supported") != NULL) return codec_unsupported;
    return codec_damaged;
}

/// Four inks, stored inverted, into RGBA in place: each ink's light times the black's.
static void rgba_from_inverted_cmyk(uint8_t *pixels, size_t count) {
    for (size_t i = 0; i < count; i++, pixels += 4) {
        const uint32_t black = pixels[3];
        for (int c = 0; c < 3; c++) pixels[c] = (uint8_t)((pixels[c] * black * 2 + 255) / 510);
        pixels[3] = 255;
    }
}

codec_result codec_jpeg_decode(const uint8_t *file, size_t count, int32_t width, int32_t height, int is_cmyk,
                               int32_t eighths, int is_cut, uint8_t *pixels) {
    tjhandle handle = tjInitDecompress();
    if (handle == NULL) return codec_result_make(codec_out_of_memory, "TurboJPEG could not be started");
    codec_result result = codec_result_make(codec_ok, "");
    int actual_width = 0, actual_height = 0, sampling = 0, colours = 0;
    const int32_t to_width = codec_jpeg_scaled(width, eighths), to_height = codec_jpeg_scaled(height, eighths);

    if (tjDecompressHeader3(handle, file, count, &actual_width, &actual_height, &sampling, &colours) != 0 &&
        tjGetErrorCode(handle) == TJERR_FATAL) {
        const char *message = tjGetErrorStr2(handle);
        result = codec_result_make(meaning_of_error(message, is_cut), message);
    } else if (actual_width != width || actual_height != height ||
               is_cmyk != (colours == TJCS_CMYK || colours == TJCS_YCCK)) {
        result = codec_result_make(codec_damaged, "its headers contradict one another");
    } else if (tjDecompress2(handle, file, count, pixels, to_width, to_width * 4, to_height,
                             is_cmyk ? TJPF_CMYK : TJPF_RGBA, TJFLAG_LIMITSCANS) != 0) {
        const char *message = tjGetErrorStr2(handle);
        const int is_whole = tjGetErrorCode(handle) == TJERR_WARNING && is_harmless(message);
        result = codec_result_make(is_whole ? codec_ok : meaning_of_error(message, is_cut), message);
        if (is_cut && tjGetErrorCode(handle) == TJERR_WARNING && is_cut_short(message)) result.status = codec_partial;
    }
    if ((result.status == codec_ok || result.status == codec_partial) && is_cmyk)
        rgba_from_inverted_cmyk(pixels, (size_t)to_width * (size_t)to_height);
    tjDestroy(handle);
    return result;
}

codec_result codec_jpeg_encode(const uint8_t *pixels, int32_t width, int32_t height, int quality, codec_file *file) {
    tjhandle handle = tjInitCompress();
    if (handle == NULL) return codec_result_make(codec_out_of_memory, "TurboJPEG could not be started");
    codec_result result = codec_result_make(codec_ok, "");
    const int sampling = quality < 90 ? TJSAMP_420 : TJSAMP_444;
    unsigned long room = tjBufSize(width, height, sampling), written = room;
    unsigned char *bytes = room == (unsigned long)-1 ? NULL : malloc(room);

    if (bytes == NULL) {
        result = codec_result_make(codec_out_of_memory, "there is no memory for the file");
    } else if (tjCompress2(handle, pixels, width, width * 4, height, TJPF_RGBX, &bytes, &written, sampling, quality,
                           TJFLAG_NOREALLOC) != 0) {
        result = codec_result_make(codec_damaged, tjGetErrorStr2(handle));
        free(bytes);
    } else {
        unsigned char *fitted = realloc(bytes, written);
        file->bytes = fitted != NULL ? fitted : bytes;
        file->count = written;
    }
    tjDestroy(handle);
    return result;
}
