import Foundation

/// A file that appears under its name only when it is whole.
///
/// Bytes go to a file beside it, on Linux one without a name where the file system can, so that even a killed process
/// leaves nothing behind; ``finish()`` gives it the name. What is no plain file, such as `/dev/stdout`, is written to as it is.
public final class AtomicFile {
    private let path: String
    private let descriptor: Int32
    /// The name that the file has for now; `nil` if none.
    private var temporary: String?
    private let isDirect: Bool
    private var isFinished = false

    /// Starts a file.
    ///
    /// - Throws: ``TraceError`` if nothing can be written there.
    public init(path: String) throws(TraceError) {
        self.path = path
        var status = stat()
        if stat(path, &status) == 0 {
            if status.st_mode & S_IFMT == S_IFDIR {
                throw TraceError(file: path, message: "is a directory; the name of a file is needed")
            }
            isDirect = status.st_mode & S_IFMT != S_IFREG
        } else {
            isDirect = false
        }
        if isDirect {
            descriptor = open(path, O_WRONLY | O_CLOEXEC)
        } else {
            let nameless = AtomicFile.openNameless(beside: path)
            if nameless >= 0 {
                descriptor = nameless
            } else {
                let beside = AtomicFile.nameBeside(path)
                temporary = beside
                descriptor = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
            }
        }
        if descriptor < 0 {
            temporary = nil
            throw fault("cannot be written")
        }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
        if let temporary, !isFinished { unlink(temporary) }
    }

    /// Adds bytes.
    ///
    /// - Throws: ``TraceError`` if the disk is full or fails.
    public func write(_ bytes: UnsafeRawBufferPointer) throws(TraceError) {
        var rest = bytes
        while let start = rest.baseAddress, rest.count > 0 {
            #if canImport(Darwin)
                let count = Darwin.write(descriptor, start, rest.count)
            #else
                let count = Glibc.write(descriptor, start, rest.count)
            #endif
            if count < 0 {
                if errno == EINTR { continue }
                throw fault("cannot be written")
            }
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
        }
    }

    /// Adds bytes.
    ///
    /// - Throws: ``TraceError`` if the disk is full or fails.
    public func write(_ bytes: [UInt8]) throws(TraceError) {
        try bytes.withUnsafeBufferPointer { buffer throws(TraceError) in try write(UnsafeRawBufferPointer(buffer)) }
    }

    /// Puts the file in its place; one that is there is replaced.
    ///
    /// - Throws: ``TraceError`` if that fails; then nothing has changed.
    public func finish() throws(TraceError) {
        guard !isDirect else { return }
        if temporary == nil {
            let beside = AtomicFile.nameBeside(path)
            guard linkat(AT_FDCWD, "/proc/self/fd/\(descriptor)", AT_FDCWD, beside, AT_SYMLINK_FOLLOW) == 0 else {
                throw fault("cannot be written")
            }
            temporary = beside
        }
        guard let temporary, rename(temporary, path) == 0 else { throw fault("cannot be put in place") }
        isFinished = true
    }

    private func fault(_ what: String) -> TraceError {
        TraceError(file: path, message: "\(what): \(String(cString: strerror(errno)))")
    }

    private static func nameBeside(_ path: String) -> String {
        "\(path).\(UInt64.random(in: 0...UInt64.max))-partial"
    }

    /// A file without a name in the folder of `path`, or -1 where that cannot be.
    private static func openNameless(beside path: String) -> Int32 {
        #if os(Linux)
            let folder = (path as NSString).deletingLastPathComponent
            // The header's O_TMPFILE is a macro that Swift does not import: this bit beside O_DIRECTORY.
            return open(folder.isEmpty ? "." : folder, 0o20_000_000 | O_DIRECTORY | O_WRONLY | O_CLOEXEC, 0o666)
        #else
            return -1
        #endif
    }
}
