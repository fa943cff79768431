import CZlib

/// A decompressor for gzip data of one or more members.
final class GzipSource: ByteSource {
    private let source: any ByteSource
    private let path: String
    private let stream: UnsafeMutablePointer<z_stream>
    private let input: UnsafeMutableRawBufferPointer
    private var insideMember = true
    private var sourceEnded = false

    init(_ source: any ByteSource, path: String) throws(TraceError) {
        self.source = source
        self.path = path
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        input = .allocate(byteCount: 1 << 18, alignment: 16)
        let size = Int32(MemoryLayout<z_stream>.size)
        guard inflateInit2_(stream, 15 + 16, ZLIB_VERSION, size) == Z_OK else {
            throw TraceError(file: path, message: "zlib could not be started")
        }
    }

    /// Returns whether bytes are the start of gzip data: a valid header, and a deflate stream without a fault.
    static func isStart(_ bytes: some Collection<UInt8>) -> Bool {
        var input = Array(bytes)
        var output = [UInt8](repeating: 0, count: 1 << 12)
        var stream = z_stream()
        guard inflateInit2_(&stream, 15 + 16, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
            return false
        }
        defer { inflateEnd(&stream) }
        return input.withUnsafeMutableBufferPointer { input in
            output.withUnsafeMutableBufferPointer { output in
                stream.next_in = input.baseAddress
                stream.avail_in = UInt32(input.count)
                while stream.avail_in > 0 {
                    stream.next_out = output.baseAddress
                    stream.avail_out = UInt32(output.count)
                    switch inflate(&stream, Z_NO_FLUSH) {
                    case Z_OK: continue
                    case Z_STREAM_END, Z_BUF_ERROR: return true
                    default: return false
                    }
                }
                return true
            }
        }
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
        input.deallocate()
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(TraceError) -> Int {
        stream.pointee.next_out = buffer.baseAddress?.assumingMemoryBound(to: UInt8.self)
        stream.pointee.avail_out = UInt32(clamping: buffer.count)
        let capacity = Int(stream.pointee.avail_out)
        while stream.pointee.avail_out > 0 {
            if stream.pointee.avail_in == 0 { try refill() }
            if sourceEnded, stream.pointee.avail_in == 0 {
                let written = capacity - Int(stream.pointee.avail_out)
                if insideMember, written == 0 {
                    throw TraceError(file: path, message: "the gzip data ends early: the file is truncated")
                }
                return written
            }
            if !insideMember {
                inflateReset(stream)
                insideMember = true
            }
            switch inflate(stream, Z_NO_FLUSH) {
            case Z_STREAM_END: insideMember = false
            case Z_OK, Z_BUF_ERROR: break
            default:
                let reason = stream.pointee.msg.map { String(cString: $0) } ?? "unknown fault"
                throw TraceError(file: path, message: "the gzip data is damaged (\(reason))")
            }
        }
        return capacity
    }

    private func refill() throws(TraceError) {
        let count = try source.read(into: input)
        if count == 0 { sourceEnded = true }
        stream.pointee.next_in = input.baseAddress?.assumingMemoryBound(to: UInt8.self)
        stream.pointee.avail_in = UInt32(count)
    }
}

/// A compressor that writes one gzip member without name and date, so equal content gives equal bytes.
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
                throw TraceError(file: path, message: "zlib failed to compress")
            }
            let count = output.count - Int(stream.pointee.avail_out)
            try sink.write(UnsafeRawBufferPointer(rebasing: output.prefix(count)))
        } while stream.pointee.avail_out == 0
    }
}
