import CXz

/// A decompressor for xz data of one or more streams.
final class XzSource: ByteSource {
    /// The memory that a decoder may use. The largest preset of xz needs 65 MB; a stream may declare up to 4 GB.
    private static let memoryLimit: UInt64 = 1 << 32

    private let source: any ByteSource
    private let path: String
    private let stream: UnsafeMutablePointer<lzma_stream>
    private let input: UnsafeMutableRawBufferPointer
    private var action = LZMA_RUN
    private var ended = false

    init(_ source: any ByteSource, path: String) throws(TraceError) {
        self.source = source
        self.path = path
        stream = .allocate(capacity: 1)
        stream.initialize(to: lzma_stream())
        input = .allocate(byteCount: 1 << 18, alignment: 16)
        guard lzma_stream_decoder(stream, XzSource.memoryLimit, halcyon_lzma_concatenated) == LZMA_OK else {
            throw TraceError(file: path, message: "liblzma could not be started")
        }
    }

    deinit {
        lzma_end(stream)
        stream.deallocate()
        input.deallocate()
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(TraceError) -> Int {
        stream.pointee.next_out = buffer.baseAddress?.assumingMemoryBound(to: UInt8.self)
        stream.pointee.avail_out = buffer.count
        while stream.pointee.avail_out > 0, !ended {
            if stream.pointee.avail_in == 0, action == LZMA_RUN { try refill() }
            switch lzma_code(stream, action) {
            case LZMA_OK: break
            case LZMA_STREAM_END: ended = true
            case LZMA_BUF_ERROR:
                // No progress is possible: the input ended inside a stream. What was decompressed is returned first.
                let written = buffer.count - stream.pointee.avail_out
                if written > 0 { return written }
                throw TraceError(file: path, message: "the xz data ends early: the file is truncated")
            case let fault: throw TraceError(file: path, message: "the xz data is damaged (\(XzSource.reason(fault)))")
            }
        }
        return buffer.count - stream.pointee.avail_out
    }

    private func refill() throws(TraceError) {
        let count = try source.read(into: input)
        if count == 0 { action = LZMA_FINISH }
        stream.pointee.next_in = UnsafePointer(input.baseAddress?.assumingMemoryBound(to: UInt8.self))
        stream.pointee.avail_in = count
    }

    private static func reason(_ fault: lzma_ret) -> String {
        switch fault {
        case LZMA_FORMAT_ERROR: "bytes that are no xz stream follow the first"
        case LZMA_DATA_ERROR: "its content does not match its checksums or lengths"
        case LZMA_OPTIONS_ERROR: "it needs a filter that is not supported"
        case LZMA_MEMLIMIT_ERROR: "it needs more than 4 GB of memory"
        case LZMA_MEM_ERROR: "there is too little memory"
        default: "fault \(fault.rawValue)"
        }
    }
}
