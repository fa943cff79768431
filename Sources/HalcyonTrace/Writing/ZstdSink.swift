import CZstd

/// Packs bytes as one Zstandard frame with a checksum.
final class ZstdSink: ByteSink {
    private let sink: any ByteSink
    private let path: String
    private let context: OpaquePointer
    private let block: UnsafeMutableRawBufferPointer

    init(_ sink: any ByteSink, path: String) throws(TraceError) {
        guard let context = ZSTD_createCCtx() else {
            throw TraceError(file: path, message: "zstd could not be started")
        }
        self.sink = sink
        self.path = path
        self.context = context
        ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1)
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

    /// One step; returns what is left to be flushed.
    private func run(_ input: inout ZSTD_inBuffer, _ directive: ZSTD_EndDirective) throws(TraceError) -> Int {
        var output = ZSTD_outBuffer(dst: block.baseAddress, size: block.count, pos: 0)
        let left = ZSTD_compressStream2(context, &output, &input, directive)
        guard ZSTD_isError(left) == 0 else {
            throw TraceError(
                file: path, message: "zstd failed while packing (\(String(cString: ZSTD_getErrorName(left))))")
        }
        try sink.write(UnsafeRawBufferPointer(rebasing: block.prefix(output.pos)))
        return left
    }
}
