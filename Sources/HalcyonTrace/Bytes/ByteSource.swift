import Foundation

/// Bytes that come one after the other.
protocol ByteSource: AnyObject {
    /// Puts the next bytes at the start of `buffer` and returns how many there are; 0 at the end.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws(TraceError) -> Int
}

/// The bytes of a file, in large reads.
final class FileSource: ByteSource {
    let path: String
    private let descriptor: Int32
    private var ahead: [UInt8] = []

    /// Opens `path`. Throws a sentence if it is missing, a directory or unreadable.
    init(path: String) throws(TraceError) {
        self.path = path
        descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            let reason =
                errno == ENOENT ? "there is no such file" : "cannot be opened: \(String(cString: strerror(errno)))"
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

    /// The first `count` bytes, fewer if the file is shorter; they are read again afterwards.
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
            throw TraceError(file: path, message: "cannot be read: \(String(cString: strerror(errno)))")
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
