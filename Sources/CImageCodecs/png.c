#include <png.h>
#include <setjmp.h>

#include "result.h"

/// What the callbacks of one call share.
typedef struct {
    codec_result result;
    const uint8_t *input;
    size_t remaining;
    codec_file *output;
    size_t room;
} png_session;

static void failed(png_structp png, png_const_charp message) {
    png_session *session = png_get_error_ptr(png);
    if (session->result.status == codec_ok) session->result = codec_result_make(codec_damaged, message);
    png_longjmp(png, 1);
}

static void warned(png_structp png, png_const_charp message) {
    (void)png;
    (void)message;
}

static void read_bytes(png_structp png, png_bytep bytes, size_t count) {
    png_session *session = png_get_io_ptr(png);
    if (count > session->remaining) {
        session->result = codec_result_make(codec_truncated, "the file ends inside the picture");
        png_error(png, "truncated");
    }
    memcpy(bytes, session->input, count);
    session->input += count;
    session->remaining -= count;
}

static void write_bytes(png_structp png, png_bytep bytes, size_t count) {
    png_session *session = png_get_io_ptr(png);
    codec_file *file = session->output;
    if (count > session->room - file->count) {
        const size_t room = (session->room + count) * 2;
        uint8_t *larger = realloc(file->bytes, room);
        if (larger == NULL) {
            session->result = codec_result_make(codec_out_of_memory, "there is no memory for the file");
            png_error(png, "no memory");
        }
        file->bytes = larger;
        session->room = room;
    }
    memcpy(file->bytes + file->count, bytes, count);
    file->count += count;
}

static void flush_bytes(png_structp png) { (void)png; }

/// Everything that can jump back to `setjmp` in the caller. No chunk beside the picture's own is looked at, so that none can cost.
static void read_picture(png_structp png, png_infop info, int32_t width, int32_t height, uint8_t *pixels) {
    png_session *session = png_get_error_ptr(png);
    static const png_byte aside[] = "bKGD\0cHRM\0eXIf\0gAMA\0hIST\0iCCP\0iTXt\0oFFs\0pCAL\0pHYs\0sBIT\0sCAL\0sPLT\0sRGB\0tEXt\0tIME\0zTXt";
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, NULL, 0);
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, aside, sizeof aside / 5);
    png_set_user_limits(png, (png_uint_32)width, (png_uint_32)height);
    png_set_read_fn(png, session, read_bytes);
    png_read_info(png, info);
    if (png_get_image_width(png, info) != (png_uint_32)width || png_get_image_height(png, info) != (png_uint_32)height)
        png_error(png, "its headers contradict one another");
    png_set_expand(png);
    png_set_scale_16(png);
    png_set_gray_to_rgb(png);
    png_set_add_alpha(png, 0xFF, PNG_FILLER_AFTER);
    const int passes = png_set_interlace_handling(png);
    png_read_update_info(png, info);
    if (png_get_rowbytes(png, info) != (size_t)width * 4) png_error(png, "its rows have another length");
    for (int pass = 0; pass < passes; pass++)
        for (int32_t y = 0; y < height; y++) png_read_row(png, pixels + (size_t)y * (size_t)width * 4, NULL);
    png_read_end(png, NULL);
}

codec_result codec_png_decode(const uint8_t *file, size_t count, int32_t width, int32_t height, uint8_t *pixels) {
    png_session session = {.result = {.status = codec_ok}, .input = file, .remaining = count};
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &session, failed, warned);
    png_infop info = png == NULL ? NULL : png_create_info_struct(png);
    if (info == NULL) {
        png_destroy_read_struct(&png, NULL, NULL);
        return codec_result_make(codec_out_of_memory, "libpng could not be started");
    }
    if (setjmp(png_jmpbuf(png)) == 0) read_picture(png, info, width, height, pixels);
    png_destroy_read_struct(&png, &info, NULL);
    return session.result;
}

static void write_picture(png_structp png, png_infop info, const uint8_t *pixels, int32_t width, int32_t height,
                          int is_opaque, int level) {
    png_set_write_fn(png, png_get_error_ptr(png), write_bytes, flush_bytes);
    png_set_compression_level(png, level);
    png_set_IHDR(png, info, (png_uint_32)width, (png_uint_32)height, 8,
                 is_opaque ? PNG_COLOR_TYPE_RGB : PNG_COLOR_TYPE_RGB_ALPHA, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    if (is_opaque) png_set_filler(png, 0, PNG_FILLER_AFTER);
    for (int32_t y = 0; y < height; y++) png_write_row(png, pixels + (size_t)y * (size_t)width * 4);
    png_write_end(png, info);
}

codec_result codec_png_encode(const uint8_t *pixels, int32_t width, int32_t height, int is_opaque, int level,
                              codec_file *file) {
    png_session session = {.result = {.status = codec_ok}, .output = file};
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &session, failed, warned);
    png_infop info = png == NULL ? NULL : png_create_info_struct(png);
    if (info == NULL) {
        png_destroy_write_struct(&png, NULL);
        return codec_result_make(codec_out_of_memory, "libpng could not be started");
    }
    if (setjmp(png_jmpbuf(png)) == 0) write_picture(png, info, pixels, width, height, is_opaque, level);
    png_destroy_write_struct(&png, &info);
    if (session.result.status != codec_ok) codec_free(file);
    return session.result;
}
