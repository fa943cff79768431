import Foundation
import HalcyonSupport
import Synchronization

/// A file that appears at its path only once it is complete.
///
/// Bytes are written to a temporary file in the same folder, and ``finish()`` moves it to the path. On Linux the
/// temporary file has no name if the file system supports that, so even a killed process leaves no file behind. If the
/// path is a link, the link stays and its target is replaced; the new file keeps the permissions of the old. A path
/// that is not a regular file, such as a pipe, is written directly. `-` and `/dev/stdout` are the standard output.
package final class AtomicFile {
    /// The path that the caller gave.
    private let name: String
    /// The path after following links.
    private let path: String
    private let descriptor: Int32
    /// The temporary name of the file; `nil` if it has none.
    private var temporary: String?
    private let isDirect: Bool
    private let isDurable: Bool

    /// The temporary names of all unfinished files.
    private static let unfinished = Mutex<Set<String>>([])
    private static let written = Mutex((files: [String](), direct: [String]()))

    /// The paths of the files that this process has completed, as the caller gave them, in this order.
    package static var completedFiles: [String] { written.withLock { $0.files } }

    /// The paths that are not regular files, such as standard output, to which this process wrote without finishing.
    package static var incompleteOutputs: [String] { written.withLock { $0.direct } }

    /// Creates the temporary file.
    ///
    /// - Parameters:
    ///   - name: the path of the file.
    ///   - isDurable: whether ``finish()`` returns only once the file is on the disk, at its path. This takes
    ///     milliseconds. The default is false.
    /// - Throws: ``TraceError`` if the path cannot be written.
    package init(path name: String, isDurable: Bool = false) throws(TraceError) {
        let destination = try OutputDestination(name)
        self.isDurable = isDurable
        self.name = destination.isStandardOutput ? "standard output" : name
        path = destination.path
        isDirect = destination.isDirect
        if destination.isStandardOutput {
            descriptor = dup(STDOUT_FILENO)
        } else if isDirect {
            descriptor = open(path, O_WRONLY | O_APPEND | O_CLOEXEC)
        } else {
            let nameless = AtomicFile.openNameless(beside: path)
            if nameless >= 0 {
                descriptor = nameless
            } else {
                let beside = AtomicFile.nameBeside(path)
                descriptor = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
                if descriptor >= 0 { give(name: beside) }
            }
        }
        if descriptor < 0 { throw fault("cannot be written") }
        if let mode = destination.mode { fchmod(descriptor, mode) }
    }

    /// Returns whether writing creates or replaces a regular file; `false` for paths that are written directly, such
    /// as the standard output and pipes.
    ///
    /// - Throws: ``TraceError`` if the path is a directory or a broken link.
    package static func replaces(_ name: String) throws(TraceError) -> Bool { try !OutputDestination(name).isDirect }

    /// Verifies, before a long computation, that the path can be written. Leaves no file behind.
    ///
    /// - Throws: ``TraceError`` if ``init(path:isDurable:)`` would throw it.
    package static func verify(_ name: String) throws(TraceError) {
        if try replaces(name) { _ = try AtomicFile(path: name) }
    }

    /// Removes all temporary files; for a process that is about to be ended by a signal.
    package static func discardUnfinished() {
        unfinished.withLock { names in
            for name in names { unlink(name) }
            names = []
        }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
        if let temporary {
            unlink(temporary)
            AtomicFile.unfinished.withLock { _ = $0.remove(temporary) }
        }
    }

    /// Appends bytes.
    ///
    /// - Throws: ``TraceError`` if the disk is full or fails.
    package func write(_ bytes: UnsafeRawBufferPointer) throws(TraceError) {
        if isDirect, !bytes.isEmpty {
            AtomicFile.written.withLock { written in
                if !written.direct.contains(name) { written.direct.append(name) }
            }
        }
        var rest = bytes
        while let start = rest.baseAddress, rest.count > 0 {
            let count = Foundation.write(descriptor, start, rest.count)
            if count < 0 {
                if errno == EINTR { continue }
                throw fault("cannot be written")
            }
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
        }
    }

    /// Appends bytes.
    ///
    /// - Throws: ``TraceError`` if the disk is full or fails.
    package func write(_ bytes: [UInt8]) throws(TraceError) {
        try bytes.withUnsafeBufferPointer { buffer throws(TraceError) in try write(UnsafeRawBufferPointer(buffer)) }
    }

    /// Moves the file to its path and replaces an existing file.
    ///
    /// - Throws: ``TraceError`` if that fails; an existing file is then unchanged.
    package func finish() throws(TraceError) {
        if isDirect {
            AtomicFile.written.withLock { $0.direct.removeAll { $0 == name } }
            return
        }
        if isDurable, fsync(descriptor) != 0 { throw fault("cannot be written") }
        if temporary == nil {
            let beside = AtomicFile.nameBeside(path)
            guard linkat(AT_FDCWD, "/proc/self/fd/\(descriptor)", AT_FDCWD, beside, AT_SYMLINK_FOLLOW) == 0 else {
                throw fault("cannot be written")
            }
            give(name: beside)
        }
        guard let temporary, rename(temporary, path) == 0 else { throw fault("cannot be put in place") }
        AtomicFile.unfinished.withLock { _ = $0.remove(temporary) }
        AtomicFile.written.withLock { $0.files.append(name) }
        self.temporary = nil
        if isDurable { try synchronizeFolder() }
    }

    /// Waits until the names in the folder of the file are on the disk.
    private func synchronizeFolder() throws(TraceError) {
        let folder = open(AtomicFile.folder(of: path), O_RDONLY | O_CLOEXEC)
        guard folder >= 0 else { throw fault("cannot be put in place") }
        defer { close(folder) }
        // Some file systems cannot flush a folder; there is nothing to wait for then.
        if fsync(folder) != 0, errno != EINVAL { throw fault("cannot be put in place") }
    }

    private func give(name: String) {
        temporary = name
        AtomicFile.unfinished.withLock { _ = $0.insert(name) }
    }

    private func fault(_ what: String) -> TraceError {
        TraceError(file: name, message: "\(what): \(SystemReason.ofLastCall)", isOfOutput: true)
    }

    private static func nameBeside(_ path: String) -> String {
        "\(path).\(UInt64.random(in: 0...UInt64.max))-partial"
    }

    /// Returns the path of the folder that holds a path.
    private static func folder(of path: String) -> String {
        // Foundation's deletingLastPathComponent traps on names of one character (Swift 6.3).
        path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
    }

    /// Opens a file without a name in the folder of `path`; returns -1 if that is not supported.
    private static func openNameless(beside path: String) -> Int32 {
        #if os(Linux)
            // Swift does not import the macro O_TMPFILE: this bit together with O_DIRECTORY.
            return open(folder(of: path), 0o20_000_000 | O_DIRECTORY | O_WRONLY | O_CLOEXEC, 0o666)
        #else
            return -1
        #endif
    }
}

/// The destination of the bytes for a path.
private struct OutputDestination {
    /// The path after following links.
    let path: String
    let isStandardOutput: Bool
    /// Whether it is written directly, because it cannot be replaced.
    let isDirect: Bool
    /// The permissions of the file to be replaced.
    let mode: mode_t?

    init(_ name: String) throws(TraceError) {
        isStandardOutput = name == "-" || name == "/dev/stdout"
        var (link, status) = (stat(), stat())
        if isStandardOutput || name.isEmpty || lstat(name, &link) != 0 {
            (path, isDirect, mode) = (name, isStandardOutput, nil)
            if name.isEmpty { throw OutputDestination.fault(name, "the name of the file to write is empty") }
            return
        }
        guard stat(name, &status) == 0 else { throw OutputDestination.fault(name, "is a broken link") }
        if status.st_mode & S_IFMT == S_IFDIR {
            throw OutputDestination.fault(name, "is a directory; the name of a file is needed")
        }
        let isLink = link.st_mode & S_IFMT == S_IFLNK
        // Links such as /dev/fd/3 name an open file of the process, which cannot be replaced.
        isDirect = status.st_mode & S_IFMT != S_IFREG || isLink && ["/dev/", "/proc/"].contains(where: name.hasPrefix)
        path = isLink && !isDirect ? URL(fileURLWithPath: name).resolvingSymlinksInPath().path : name
        mode = isDirect ? nil : status.st_mode & 0o7777
    }

    private static func fault(_ name: String, _ message: String) -> TraceError {
        TraceError(file: name, message: message, isOfOutput: true)
    }
}
