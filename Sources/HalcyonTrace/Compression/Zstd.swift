import CZstd

/// A decompressor for Zstandard data of one or more frames.
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
        // Archived traces often have long windows; 2 GiB is the largest that the format recommends.
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

/// A compressor that writes one Zstandard frame with a checksum.
final class ZstdSink: ByteSink {
    private let sink: any ByteSink
    private let path: String
    private let context: OpaquePointer
    private let block: UnsafeMutableRawBufferPointer

    /// Creates a compressor.
    ///
    /// - Parameters:
    ///   - level: the compression level. Nil for that of libzstd, 3.
    ///   - size: the number of bytes that will be written, which the frame then states. Nil if it is not known.
    init(_ sink: any ByteSink, path: String, level: Int32? = nil, size: UInt64? = nil) throws(TraceError) {
        guard let context = ZSTD_createCCtx() else {
            throw TraceError(file: path, message: "zstd could not be started")
        }
        self.sink = sink
        self.path = path
        self.context = context
        ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1)
        if let level { ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level) }
        if let size { ZSTD_CCtx_setPledgedSrcSize(context, size) }
        block = .allocate(byteCount: ZSTD_CStreamOutSize(), alignment: 16)
    }

    deinit {
        ZSTD_freeCCtx(context)
        block.deallocate()
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws(TraceError) {
        var input = ZSTD_inBuffer(src: bytes.baseAddress, size: bytes.count, pos: 0)
        while input.pos < input.size { _ = try run(&input, ZSTD_e_continue) }
    }

    func finish() throws(TraceError) {
        var input = ZSTD_inBuffer(src: nil, size: 0, pos: 0)
        while try run(&input, ZSTD_e_end) > 0 {}
        try sink.finish()
    }

    /// Compresses one block and returns the number of bytes that remain to be flushed.
    private func run(_ input: inout ZSTD_inBuffer, _ directive: ZSTD_EndDirective) throws(TraceError) -> Int {
        var output = ZSTD_outBuffer(dst: block.baseAddress, size: block.count, pos: 0)
        let left = ZSTD_compressStream2(context, &output, &input, directive)
        guard ZSTD_isError(left) == 0 else {
            throw TraceError(
                file: path, message: "zstd failed to compress (\(String(cString: ZSTD_getErrorName(left))))")
        }
        try sink.write(UnsafeRawBufferPointer(rebasing: block.prefix(output.pos)))
        return left
    }
}
