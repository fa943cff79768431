/// A sequential destination of bytes.
protocol ByteSink: AnyObject {
    /// Appends bytes.
    func write(_ bytes: UnsafeRawBufferPointer) throws(TraceError)
    /// Writes the buffered bytes and moves the file to its path.
    func finish() throws(TraceError)
}

extension AtomicFile: ByteSink {}

/// Opens a sink for a file; `nil` chooses the compression by the file's name.
func openSink(_ path: String, compression: Compression?) throws(TraceError) -> any ByteSink {
    let compression = compression ?? Compression(path: path)
    if compression == .xz {
        throw TraceError(
            file: path, message: "xz is read and not written; end the name in .gz or .zst", isOfOutput: true)
    }
    let file = try AtomicFile(path: path)
    switch compression {
    case .none, .xz: return file
    case .gzip: return try GzipSink(file, path: path)
    case .zstd: return try ZstdSink(file, path: path)
    }
}

/// A buffer that collects small writes for a sink.
struct BufferedSink {
    private let sink: any ByteSink
    private var buffer: [UInt8] = []
    private let limit = 1 << 18

    init(_ sink: any ByteSink) {
        self.sink = sink
        buffer.reserveCapacity(limit + 4_096)
    }

    @inline(__always)
    mutating func append(_ byte: UInt8) { buffer.append(byte) }

    @inline(__always)
    mutating func append(_ bytes: some Collection<UInt8>) { buffer.append(contentsOf: bytes) }

    /// Appends a decimal number.
    mutating func append(decimal value: UInt64) {
        var rest = value
        let start = buffer.count
        repeat {
            buffer.append(48 + UInt8(rest % 10))
            rest /= 10
        } while rest > 0
        buffer[start...].reverse()
    }

    /// Appends a number's bytes in little-endian order.
    @inline(__always)
    mutating func append(littleEndian value: some FixedWidthInteger) {
        withUnsafeBytes(of: value.littleEndian) { buffer.append(contentsOf: $0) }
    }

    /// Writes the buffer to the sink if it is full.
    @inline(__always)
    mutating func flushIfFull() throws(TraceError) {
        if buffer.count >= limit { try flush() }
    }

    private mutating func flush() throws(TraceError) {
        let sink = sink
        try buffer.withUnsafeBufferPointer { bytes throws(TraceError) in try sink.write(UnsafeRawBufferPointer(bytes)) }
        buffer.removeAll(keepingCapacity: true)
    }

    /// Writes the remaining bytes and finishes the sink.
    mutating func finish() throws(TraceError) {
        try flush()
        try sink.finish()
    }
}
