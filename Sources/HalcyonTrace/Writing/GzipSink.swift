import CZlib

/// Packs bytes as one gzip member, the same bytes for the same content: without name and date.
final class GzipSink: ByteSink {
    private let sink: any ByteSink
    private let path: String
    private let stream: UnsafeMutablePointer<z_stream>
    private let output: UnsafeMutableRawBufferPointer

    init(_ sink: any ByteSink, path: String) throws(TraceError) {
        self.sink = sink
        self.path = path
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        output = .allocate(byteCount: 1 << 16, alignment: 16)
        let size = Int32(MemoryLayout<z_stream>.size)
        guard
            deflateInit2_(
                stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, size) == Z_OK
        else { throw TraceError(file: path, message: "zlib could not be started") }
    }

    deinit {
        deflateEnd(stream)
        stream.deallocate()
        output.deallocate()
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws(TraceError) {
        stream.pointee.next_in = UnsafeMutablePointer(
            mutating: bytes.baseAddress?.assumingMemoryBound(to: UInt8.self))
        stream.pointee.avail_in = UInt32(bytes.count)
        try run(Z_NO_FLUSH)
    }

    func finish() throws(TraceError) {
        stream.pointee.avail_in = 0
        try run(Z_FINISH)
        try sink.finish()
    }

    private func run(_ flush: Int32) throws(TraceError) {
        repeat {
            stream.pointee.next_out = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
            stream.pointee.avail_out = UInt32(output.count)
            guard deflate(stream, flush) != Z_STREAM_ERROR else {
                throw TraceError(file: path, message: "zlib failed while packing")
            }
            let count = output.count - Int(stream.pointee.avail_out)
            try sink.write(UnsafeRawBufferPointer(rebasing: output.prefix(count)))
        } while stream.pointee.avail_out == 0
    }
}
