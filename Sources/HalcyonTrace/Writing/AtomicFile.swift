import Foundation
import Synchronization

/// A file that appears under its name only when it is whole.
///
/// Bytes go to a file beside it, on Linux one without a name where the file system can, so that even a killed process
/// leaves nothing behind; ``finish()`` gives it the name. A link stays, and the file it leads to is replaced, which
/// keeps its permissions. What is no plain file (a pipe, a device) is written to as it is; `-` and `/dev/stdout` are the
/// standard output.
public final class AtomicFile {
    /// The file as it was named by the caller.
    private let name: String
    /// The file itself, links followed.
    private let path: String
    private let descriptor: Int32
    /// The name that the file has for now; `nil` if none.
    private var temporary: String?
    private let isDirect: Bool

    /// The names that files have while they are not whole.
    private static let unfinished = Mutex<Set<String>>([])

    /// Starts a file.
    ///
    /// - Throws: ``TraceError`` if nothing can be written there.
    public init(path name: String) throws(TraceError) {
        let target = try Target(name)
        self.name = target.isStandardOutput ? "standard output" : name
        path = target.path
        isDirect = target.isDirect
        if target.isStandardOutput {
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
        if let mode = target.mode { fchmod(descriptor, mode) }
    }

    /// Whether a file of this name would take the place of what is there, or be new; `false` for standard output, pipes and
    /// devices, which are written to as they are.
    ///
    /// - Throws: ``TraceError`` if it is a directory, or a link that leads nowhere.
    public static func replaces(_ name: String) throws(TraceError) -> Bool { try !Target(name).isDirect }

    /// Throws what ``init(path:)`` would, and leaves no trace: to be asked before a long work.
    ///
    /// - Throws: ``TraceError`` if nothing can be written there.
    public static func verify(_ name: String) throws(TraceError) {
        if try replaces(name) { _ = try AtomicFile(path: name) }
    }

    /// Removes whatever files beside others there are: for a process that is about to be ended by a signal.
    public static func discardUnfinished() {
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

    /// Adds bytes.
    ///
    /// - Throws: ``TraceError`` if the disk is full or fails.
    public func write(_ bytes: UnsafeRawBufferPointer) throws(TraceError) {
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
            give(name: beside)
        }
        guard let temporary, rename(temporary, path) == 0 else { throw fault("cannot be put in place") }
        AtomicFile.unfinished.withLock { _ = $0.remove(temporary) }
        self.temporary = nil
    }

    private func give(name: String) {
        temporary = name
        AtomicFile.unfinished.withLock { _ = $0.insert(name) }
    }

    private func fault(_ what: String) -> TraceError {
        TraceError(file: name, message: "\(what): \(String(cString: strerror(errno)))", isOfOutput: true)
    }

    private static func nameBeside(_ path: String) -> String {
        "\(path).\(UInt64.random(in: 0...UInt64.max))-partial"
    }

    /// A file without a name in the folder of `path`, or -1 where that cannot be.
    private static func openNameless(beside path: String) -> Int32 {
        #if os(Linux)
            // Foundation's deletingLastPathComponent traps on names of one character (Swift 6.3).
            let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
            // The header's O_TMPFILE is a macro that Swift does not import: this bit beside O_DIRECTORY.
            return open(folder, 0o20_000_000 | O_DIRECTORY | O_WRONLY | O_CLOEXEC, 0o666)
        #else
            return -1
        #endif
    }
}

/// Where the bytes for a name go.
private struct Target {
    /// The file, links followed.
    let path: String
    let isStandardOutput: Bool
    /// Whether it is written to as it is, because it cannot be replaced.
    let isDirect: Bool
    /// The permissions of the file that will be replaced.
    let mode: mode_t?

    init(_ name: String) throws(TraceError) {
        isStandardOutput = name == "-" || name == "/dev/stdout"
        var (link, status) = (stat(), stat())
        if isStandardOutput || name.isEmpty || lstat(name, &link) != 0 {
            (path, isDirect, mode) = (name, isStandardOutput, nil)
            if name.isEmpty { throw Target.fault(name, "the name of the file to write is empty") }
            return
        }
        guard stat(name, &status) == 0 else { throw Target.fault(name, "is a link that leads nowhere") }
        if status.st_mode & S_IFMT == S_IFDIR {
            throw Target.fault(name, "is a directory; the name of a file is needed")
        }
        let isLink = link.st_mode & S_IFMT == S_IFLNK
        // Links such as /dev/fd/3 stand for what a process has open, which no other file may replace.
        isDirect = status.st_mode & S_IFMT != S_IFREG || isLink && ["/dev/", "/proc/"].contains(where: name.hasPrefix)
        path = isLink && !isDirect ? URL(fileURLWithPath: name).resolvingSymlinksInPath().path : name
        mode = isDirect ? nil : status.st_mode & 0o7777
    }

    private static func fault(_ name: String, _ message: String) -> TraceError {
        TraceError(file: name, message: message, isOfOutput: true)
    }
}
