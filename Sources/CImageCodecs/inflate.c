#include <zlib.h>

#include "result.h"

codec_result codec_inflate(const uint8_t *source, size_t count, size_t limit, codec_file *file) {
    // Compressed data are never more than 1032 times smaller.
    if (count > UINT32_MAX || limit > UINT32_MAX) return codec_result_make(codec_unsupported, "too many bytes");
    size_t room = count * 1032 < limit ? count * 1032 : limit;
    uint8_t *bytes = malloc(room > 0 ? room : 1);
    if (bytes == NULL) return codec_result_make(codec_out_of_memory, "there is no memory");
    uLongf written = room;
    const int status = uncompress(bytes, &written, source, (uLong)count);
    if (status != Z_OK) {
        free(bytes);
        return codec_result_make(status == Z_MEM_ERROR ? codec_out_of_memory : codec_damaged, "zlib cannot read it");
    }
    file->bytes = bytes;
    file->count = written;
    return codec_result_make(codec_ok, "");
}

uint32_t codec_crc32(const uint8_t *bytes, size_t count) {
    uLong sum = crc32(0, NULL, 0);
    while (count > 0) {
        const uInt part = count > 1u << 30 ? 1u << 30 : (uInt)count;
        sum = crc32(sum, bytes, part);
        bytes += part;
        count -= part;
    }
    return (uint32_t)sum;
}
