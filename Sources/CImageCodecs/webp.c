#include <webp/decode.h>
#include <webp/encode.h>

#include "result.h"

static codec_result result_of(VP8StatusCode code) {
    switch (code) {
    case VP8_STATUS_OK: return codec_result_make(codec_ok, "");
    case VP8_STATUS_OUT_OF_MEMORY: return codec_result_make(codec_out_of_memory, "libwebp has no memory");
    case VP8_STATUS_UNSUPPORTED_FEATURE: return codec_result_make(codec_unsupported, "a feature that libwebp lacks");
    case VP8_STATUS_SUSPENDED:
    case VP8_STATUS_NOT_ENOUGH_DATA: return codec_result_make(codec_truncated, "the file ends inside the picture");
    default: return codec_result_make(codec_damaged, "the bit stream is not valid");
    }
}

codec_result codec_webp_decode(const uint8_t *file, size_t count, int32_t width, int32_t height, int32_t scaled_width,
                               int32_t scaled_height, uint8_t *pixels) {
    WebPDecoderConfig config;
    if (!WebPInitDecoderConfig(&config)) return codec_result_make(codec_unsupported, "libwebp has another interface");
    VP8StatusCode code = WebPGetFeatures(file, count, &config.input);
    if (code != VP8_STATUS_OK) return result_of(code);
    if (config.input.width != width || config.input.height != height)
        return codec_result_make(codec_damaged, "its headers contradict one another");
    config.options.use_scaling = scaled_width != width || scaled_height != height;
    config.options.scaled_width = scaled_width;
    config.options.scaled_height = scaled_height;
    config.output.colorspace = MODE_RGBA;
    config.output.is_external_memory = 1;
    config.output.u.RGBA.rgba = pixels;
    config.output.u.RGBA.stride = scaled_width * 4;
    config.output.u.RGBA.size = (size_t)scaled_width * (size_t)scaled_height * 4;
    code = WebPDecode(file, count, &config);
    WebPFreeDecBuffer(&config.output);
    return result_of(code);
}

codec_result codec_webp_encode(const uint8_t *pixels, int32_t width, int32_t height, int is_opaque, float quality,
                               codec_file *file) {
    WebPConfig config;
    WebPPicture picture;
    if (!WebPConfigInit(&config) || !WebPPictureInit(&picture))
        return codec_result_make(codec_unsupported, "libwebp has another interface");
    if (quality < 0) {
        WebPConfigLosslessPreset(&config, 6);
        config.exact = 1;
    } else {
        config.quality = quality;
    }
    picture.width = width;
    picture.height = height;
    picture.use_argb = quality < 0;
    WebPMemoryWriter writer;
    WebPMemoryWriterInit(&writer);
    picture.writer = WebPMemoryWrite;
    picture.custom_ptr = &writer;

    codec_result result = codec_result_make(codec_ok, "");
    const int imported = is_opaque ? WebPPictureImportRGBX(&picture, pixels, width * 4)
                                   : WebPPictureImportRGBA(&picture, pixels, width * 4);
    if (imported && WebPEncode(&config, &picture)) {
        // The writer's memory comes from malloc, as everywhere in this library.
        file->bytes = writer.mem;
        file->count = writer.size;
    } else {
        const int is_memory = picture.error_code == VP8_ENC_ERROR_OUT_OF_MEMORY ||
                              picture.error_code == VP8_ENC_ERROR_BITSTREAM_OUT_OF_MEMORY;
        result = is_memory ? codec_result_make(codec_out_of_memory, "libwebp has no memory")
                           : codec_result_make(codec_unsupported, "libwebp cannot write this picture");
        WebPMemoryWriterClear(&writer);
    }
    WebPPictureFree(&picture);
    return result;
}
