#include <setjmp.h>

#include "result.h"

#include <jpeglib.h>

#include <jerror.h>

/// What libjpeg's callbacks of one call share. `manager` comes first: libjpeg hands out its address.
typedef struct {
    struct jpeg_error_mgr manager;
    jmp_buf failed;
    codec_result result;
    int is_cut;
} jpeg_session;

int32_t codec_jpeg_scaled(int32_t dimension, int32_t eighths) {
    return (int32_t)(((int64_t)dimension * eighths + 7) / 8);
}

/// What a message of libjpeg means for the picture. libjpeg goes on after a warning. After those that are `codec_ok`
/// here it loses nothing: files with bytes too many between segments or odd parameters are common. After any other it
/// fills in what it lacks.
static codec_status meaning(int code, int is_cut) {
    switch (code) {
    case JWRN_EXTRANEOUS_DATA:
    case JWRN_NOT_SEQUENTIAL:
    case JWRN_ADOBE_XFORM:
    case JWRN_JFIF_MAJOR: return codec_ok;
    // The end marker came before the data.
    case JWRN_HIT_MARKER:
    case JWRN_MUST_RESYNC: return is_cut ? codec_partial : codec_damaged;
    case JWRN_JPEG_EOF:
    case JERR_INPUT_EOF:
    case JERR_INPUT_EMPTY: return codec_truncated;
    case JERR_OUT_OF_MEMORY: return codec_out_of_memory;
    case JERR_FRACT_SAMPLE_NOTIMPL:
    case JERR_CONVERSION_NOTIMPL:
    case JERR_ARITH_NOTIMPL:
    case JERR_SOF_UNSUPPORTED: return codec_unsupported;
    default: return codec_damaged;
    }
}

/// A sentence for a message of libjpeg: its own, but for features, of which the format's error wants a name.
static codec_result described(j_common_ptr codec, codec_status status) {
    char text[JMSG_LENGTH_MAX];
    static const char prefix[] = "Corrupt JPEG data: ";
    switch (codec->err->msg_code) {
    case JERR_FRACT_SAMPLE_NOTIMPL: return codec_result_make(status, "channels sampled at a fraction of one another");
    case JERR_CONVERSION_NOTIMPL: return codec_result_make(status, "channels of an unknown kind");
    case JERR_ARITH_NOTIMPL: return codec_result_make(status, "arithmetic coding");
    case JERR_SOF_UNSUPPORTED: return codec_result_make(status, "a coding of another kind");
    default: {
        codec->err->format_message(codec, text);
        const size_t skipped = strncmp(text, prefix, sizeof prefix - 1) == 0 ? sizeof prefix - 1 : 0;
        return codec_result_make(status, text + skipped);
    }
    }
}

_Noreturn static void failed(j_common_ptr codec) {
    jpeg_session *session = (jpeg_session *)codec->err;
    codec_status status = meaning(codec->err->msg_code, session->is_cut);
    if (status == codec_ok || status == codec_partial) status = codec_damaged;
    session->result = described(codec, status);
    longjmp(session->failed, 1);
}

/// Keeps the first warning that matters. Levels from 0 are traces.
static void warned(j_common_ptr codec, int level) {
    jpeg_session *session = (jpeg_session *)codec->err;
    if (level >= 0 || session->result.status != codec_ok) return;
    const codec_status status = meaning(codec->err->msg_code, session->is_cut);
    if (status != codec_ok) session->result = described(codec, status);
}

static struct jpeg_error_mgr *start(jpeg_session *session) {
    struct jpeg_error_mgr *manager = jpeg_std_error(&session->manager);
    manager->error_exit = failed;
    manager->emit_message = warned;
    return manager;
}

/// Four inks, stored inverted, into RGBA in place: each ink's light times the black's.
static void rgba_from_inverted_cmyk(uint8_t *pixels, size_t count) {
    for (size_t i = 0; i < count; i++, pixels += 4) {
        const uint32_t black = pixels[3];
        for (int c = 0; c < 3; c++) pixels[c] = (uint8_t)((pixels[c] * black * 2 + 255) / 510);
        pixels[3] = 255;
    }
}

/// Everything that can jump back to `setjmp` in the caller.
static void read_picture(j_decompress_ptr codec, const uint8_t *file, size_t count, int32_t width, int32_t height,
                         int is_cmyk, int32_t eighths, uint8_t *pixels) {
    jpeg_create_decompress(codec);
    jpeg_mem_src(codec, file, count);
    jpeg_read_header(codec, TRUE);
    codec->scale_num = (unsigned)eighths;
    codec->scale_denom = 8;
    codec->out_color_space = is_cmyk ? JCS_CMYK : JCS_EXT_RGBA;
    jpeg_calc_output_dimensions(codec);
    if (codec->image_width != (JDIMENSION)width || codec->image_height != (JDIMENSION)height ||
        is_cmyk != (codec->num_components == 4) ||
        codec->output_width != (JDIMENSION)codec_jpeg_scaled(width, eighths) ||
        codec->output_height != (JDIMENSION)codec_jpeg_scaled(height, eighths)) {
        jpeg_session *session = (jpeg_session *)codec->err;
        session->result = codec_result_make(codec_damaged, "its headers contradict one another");
        return;
    }
    jpeg_start_decompress(codec);
    const size_t row = (size_t)codec->output_width * 4;
    while (codec->output_scanline < codec->output_height) {
        // Rows beyond those that libjpeg has at hand are not asked for.
        JSAMPROW rows[16];
        JDIMENSION wanted = codec->output_height - codec->output_scanline;
        if (wanted > 16) wanted = 16;
        for (JDIMENSION i = 0; i < wanted; i++) rows[i] = pixels + (codec->output_scanline + i) * row;
        jpeg_read_scanlines(codec, rows, wanted);
    }
    if (is_cmyk) rgba_from_inverted_cmyk(pixels, (size_t)codec->output_width * codec->output_height);
    jpeg_finish_decompress(codec);
}

codec_result codec_jpeg_decode(const uint8_t *file, size_t count, int32_t width, int32_t height, int is_cmyk,
                               int32_t eighths, int is_cut, uint8_t *pixels) {
    jpeg_session session = {.result = {.status = codec_ok}, .is_cut = is_cut};
    struct jpeg_decompress_struct codec = {.err = start(&session)};
    if (setjmp(session.failed) == 0) read_picture(&codec, file, count, width, height, is_cmyk, eighths, pixels);
    jpeg_destroy_decompress(&codec);
    return session.result;
}

/// The most bytes of a file: for each sample of the padded picture no more than two, and the headers.
static size_t room_for(int32_t width, int32_t height, int has_half_chroma) {
    const size_t block = has_half_chroma ? 16 : 8;
    const size_t across = ((size_t)width + block - 1) / block * block;
    const size_t down = ((size_t)height + block - 1) / block * block;
    return across * down * (has_half_chroma ? 3 : 6) + 2048;
}

static void write_picture(j_compress_ptr codec, const uint8_t *pixels, int32_t width, int32_t height, int quality,
                          uint8_t **bytes, unsigned long *written) {
    jpeg_create_compress(codec);
    jpeg_mem_dest(codec, bytes, written);
    codec->image_width = (JDIMENSION)width;
    codec->image_height = (JDIMENSION)height;
    codec->input_components = 4;
    codec->in_color_space = JCS_EXT_RGBX;
    jpeg_set_defaults(codec);
    jpeg_set_quality(codec, quality, TRUE);
    codec->dct_method = quality < 96 ? JDCT_FASTEST : JDCT_ISLOW;
    codec->comp_info[0].h_samp_factor = codec->comp_info[0].v_samp_factor = quality < 90 ? 2 : 1;
    jpeg_start_compress(codec, TRUE);
    while (codec->next_scanline < codec->image_height) {
        JSAMPROW row = (JSAMPROW)(pixels + (size_t)codec->next_scanline * (size_t)width * 4);
        jpeg_write_scanlines(codec, &row, 1);
    }
    jpeg_finish_compress(codec);
}

codec_result codec_jpeg_encode(const uint8_t *pixels, int32_t width, int32_t height, int quality, codec_file *file) {
    jpeg_session session = {.result = {.status = codec_ok}};
    unsigned long written = room_for(width, height, quality < 90);
    uint8_t *const room = malloc(written);
    // libjpeg replaces the memory if it is too small.
    uint8_t *bytes = room;
    if (room == NULL) return codec_result_make(codec_out_of_memory, "there is no memory for the file");
    struct jpeg_compress_struct codec = {.err = start(&session)};
    if (setjmp(session.failed) == 0) {
        write_picture(&codec, pixels, width, height, quality, &bytes, &written);
        file->bytes = bytes;
        file->count = written;
    }
    jpeg_destroy_compress(&codec);
    if (file->bytes != room) free(room);
    uint8_t *fitted = file->bytes == NULL ? NULL : realloc(file->bytes, file->count);
    if (fitted != NULL) file->bytes = fitted;
    return session.result;
}
