import CZstd

/// The bytes inside a Zstandard file of one or more frames.
final class ZstdSource: ByteSource {
    private let source: any ByteSource
    private let path: String
    private let context: OpaquePointer
    private let block: UnsafeMutableRawBufferPointer
    private var input: ZSTD_inBuffer
    private var insideFrame = false

    init(_ source: any ByteSource, path: String) throws(TraceError) {
        guard let context = ZSTD_createDCtx() else {
            throw TraceError(file: path, message: "zstd could not be started")
        }
        self.source = source
        self.path = path
        self.context = context
        // Archived traces are often packed with long windows; 2 GiB is the format's own recommended limit of them.
        ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, 31)
        block = .allocate(byteCount: ZSTD_DStreamInSize(), alignment: 16)
        input = ZSTD_inBuffer(src: block.baseAddress, size: 0, pos: 0)
    }

    deinit {
        ZSTD_freeDCtx(context)
        block.deallocate()
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(TraceError) -> Int {
        var output = ZSTD_outBuffer(dst: buffer.baseAddress, size: buffer.count, pos: 0)
        while output.pos < output.size {
            if input.pos == input.size {
                input.size = try source.read(into: block)
                input.pos = 0
            }
            let before = output.pos
            let ended = input.size == 0
            if ended, !insideFrame { return output.pos }
            let result = ZSTD_decompressStream(context, &output, &input)
            if ZSTD_isError(result) != 0 {
                let reason = String(cString: ZSTD_getErrorName(result))
                throw TraceError(file: path, message: "the zstd data is damaged (\(reason))")
            }
            insideFrame = result != 0
            if ended, insideFrame, output.pos == before {
                if output.pos > 0 { return output.pos }
                throw TraceError(file: path, message: "the zstd data ends early: the file is truncated")
            }
        }
        return output.pos
    }
}
