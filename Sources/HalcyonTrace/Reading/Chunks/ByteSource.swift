import Foundation
import HalcyonSupport

/// A sequential source of bytes.
protocol ByteSource: AnyObject {
    /// Reads the next bytes into `buffer` and returns their number; 0 at the end.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws(TraceError) -> Int
}

/// A byte source that reads a file.
final class FileSource: ByteSource {
    let path: String
    private let descriptor: Int32
    private var ahead: [UInt8] = []

    /// Opens `path`. Throws an error if it is missing, a directory or unreadable.
    init(path: String) throws(TraceError) {
        if path.isEmpty {
            throw TraceError(
                file: path, message: "the name of the trace is empty; name a file, or - for standard input")
        }
        self.path = path
        descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            let reason =
                errno == ENOENT ? "there is no such file" : "cannot be opened: \(SystemReason.ofLastCall)"
            throw TraceError(file: path, message: reason)
        }
        var status = stat()
        if fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFDIR {
            throw TraceError(file: path, message: "is a directory; a trace file is needed")
        }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// Returns the first `count` bytes without consuming them; fewer if the file is shorter.
    func peek(_ count: Int) throws(TraceError) -> ArraySlice<UInt8> {
        while ahead.count < count {
            var block = [UInt8](repeating: 0, count: count - ahead.count)
            let read = try readFile(&block)
            if read == 0 { break }
            ahead.append(contentsOf: block.prefix(read))
        }
        return ahead.prefix(count)
    }

    private func readFile(_ block: inout [UInt8]) throws(TraceError) -> Int {
        let descriptor = descriptor
        let count = block.withUnsafeMutableBytes { FileSource.readOnce(descriptor, $0) }
        return try checked(count)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(TraceError) -> Int {
        if !ahead.isEmpty {
            let count = min(ahead.count, buffer.count)
            buffer.copyBytes(from: ahead.prefix(count))
            ahead.removeFirst(count)
            return count
        }
        return try checked(FileSource.readOnce(descriptor, buffer))
    }

    private func checked(_ count: Int) throws(TraceError) -> Int {
        guard count >= 0 else {
            throw TraceError(file: path, message: "cannot be read: \(SystemReason.ofLastCall)")
        }
        return count
    }

    private static func readOnce(_ descriptor: Int32, _ buffer: UnsafeMutableRawBufferPointer) -> Int {
        while true {
            let count = Foundation.read(descriptor, buffer.baseAddress, buffer.count)
            if count >= 0 || errno != EINTR { return count }
        }
    }
}

/// Opens a file, with decompression if the caller, its first bytes or its name require that.
///
/// The first bytes decide, because names are often wrong. In a binary trace, gzip data must also start a deflate
/// stream, because its first two bytes alone can be those of a time.
///
/// - Parameter format: the format of the decompressed bytes; `nil` if it is not yet known.
func openSource(
    _ path: String, format: TraceFormat?, compression wanted: Compression?
) throws(TraceError) -> any ByteSource {
    let file = try FileSource(path: path)
    let magic = try file.peek(6)
    var shown = Compression(magic: magic)
    if shown == .gzip, format?.isBinary ?? true, try !GzipSource.isStart(file.peek(512)) { shown = .none }
    let named = Compression(path: path)
    let compression = wanted ?? (shown == .none ? named : shown)
    if compression != .none, compression != Compression(magic: magic) {
        let reason = magic.isEmpty ? "is empty" : "does not start as \(compression.rawValue) data does"
        throw TraceError(file: path, message: "\(reason), although its name or --compression says so")
    }
    switch compression {
    case .none: return file
    case .gzip: return try GzipSource(file, path: path)
    case .zstd: return try ZstdSource(file, path: path)
    case .xz: return try XzSource(file, path: path)
    }
}
