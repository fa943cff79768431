import Foundation

/// A call of a disk storage to its disk.
package enum DiskCall: Sendable {
    /// The folder is listed.
    case listing
    /// A part is created.
    case opening
    /// The bytes of a part are written.
    case writing
    /// A part is renamed to its place.
    case renaming
    /// A file is removed.
    case removing
    /// The index database is updated.
    case indexing
    /// The size of a file is read.
    case measuring
    /// A file is read.
    case reading
    /// The times of a file are set.
    case touching
}

/// What performs the calls of a disk storage to its disk. The storages of tests have others, which count the calls, wait, end the
/// process or fail.
///
/// A call that fails is an error or a miss, and never wrong bytes. See `DiskFaultTests.failingStepIsErrorOrMiss()`.
package protocol DiskCalls: Sendable {
    /// Performs a call, and returns its result or throws its error.
    func perform<Result>(_ call: DiskCall, _ body: () throws -> Result) throws -> Result
}

/// Performs each call as it is.
struct DirectDiskCalls: DiskCalls {
    func perform<Result>(_ call: DiskCall, _ body: () throws -> Result) throws -> Result { try body() }
}

/// The files of a disk storage. Reads, lists and removes them, and writes each atomically.
///
/// Values are files in the folder itself. The hidden folder `.halcyon` in it contains the index database and the
/// parts: files that are being written. A complete part is renamed to its place. A process that is killed therefore
/// leaves complete files only, and parts, which ``removeParts()`` removes. Nothing is synchronised to the disk: the
/// state after a power failure depends on the file system.
///
/// See `DiskRecoveryTests.killedProcessLeavesWholeValues()`.
package struct CacheFolder: Sendable {
    let url: URL
    let calls: any DiskCalls
    private let session = UInt64.random(in: 0...UInt64.max)

    package var hidden: URL { url.appendingPathComponent(".halcyon", isDirectory: true) }

    init(url: URL, calls: any DiskCalls = DirectDiskCalls()) {
        self.url = url
        self.calls = calls
    }

    /// Creates the folders that do not exist.
    ///
    /// - Throws: ``CacheError/cannotCreateDirectory(_:underlying:)`` or ``CacheError/directoryOfAnotherUser(_:)``.
    func create() throws {
        do {
            try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        } catch {
            throw CacheError.cannotCreateDirectory(url, underlying: error)
        }
        if let foreign = Self.foreignPart(of: url) { throw CacheError.directoryOfAnotherUser(foreign) }
        // If this fails, values can be read but not written. The hidden folder contains the names of cached and
        // requested objects. Only its owner may read it, as with the values.
        mkdir(hidden.path, 0o700)
        chmod(hidden.path, 0o700)
    }

    /// Returns the first directory of a path that another user may have created or can replace; `nil` if there is
    /// none.
    ///
    /// A parent that all users can write to allows this. It does not if it is sticky, as `/tmp` is, and the next
    /// directory is no link and belongs to this user or root. The path is checked as it is written and as its links
    /// resolve.
    private static func foreignPart(of url: URL) -> URL? {
        var paths = [url.path]
        if let resolved = realpath(url.path, nil) {
            paths.append(String(cString: resolved))
            free(resolved)
        }
        for path in paths {
            var parent = "/"
            for component in path.split(separator: "/") {
                let next = parent == "/" ? "/\(component)" : "\(parent)/\(component)"
                var (above, own) = (stat(), stat())
                if stat(parent, &above) == 0, above.st_mode & S_IWOTH != 0, lstat(next, &own) == 0 {
                    let isProtected = above.st_mode & S_ISVTX != 0
                    let isOwn = own.st_uid == geteuid() || own.st_uid == 0
                    if !isProtected || !isOwn || own.st_mode & S_IFMT != S_IFDIR { return URL(fileURLWithPath: next) }
                }
                parent = next
            }
        }
        return nil
    }

    func path(_ name: String) -> String { url.path + "/" + name }
    /// Returns the URL of a file, without asking the disk whether it is a directory.
    func url(_ name: String) -> URL { url.appendingPathComponent(name, isDirectory: false) }

    /// The metadata of a file.
    struct Status: Equatable {
        /// The bytes on the disk: blocks × 512.
        var size: Int
        /// The length of the value in bytes.
        var length: Int
        /// The last access in microseconds since 1970.
        var accessed: Int64
        /// The expiration in microseconds since 1970; `Int64.max` if never.
        var expires: Int64
    }

    /// Reads a file; `nil` if there is none.
    ///
    /// - Throws: ``SystemError``.
    func read(_ name: String) throws -> (data: Data, status: Status)? {
        try calls.perform(.reading) { try readFile(name) }
    }

    private func readFile(_ name: String) throws -> (data: Data, status: Status)? {
        guard let descriptor = try openForReading(name) else { return nil }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw SystemError.last }
        if status.st_mode & S_IFMT == S_IFDIR { throw SystemError(code: EISDIR) }
        if status.st_mode & S_IFMT != S_IFREG { return nil }
        let size = Int(status.st_size)
        // `Data(count:)` would write zeros to each byte first.
        guard let buffer = malloc(max(size, 1)) else { throw SystemError(code: ENOMEM) }
        var length = 0
        while length < size {
            let count = Self.retrying { readBytes(descriptor, buffer + length, size - length) }
            if count <= 0 {
                let error = count < 0 ? SystemError.last : SystemError(code: EIO)
                free(buffer)
                throw error
            }
            length += count
        }
        return (Data(bytesNoCopy: buffer, count: size, deallocator: .free), Self.status(status))
    }

    /// Returns the metadata of a file; `nil` if there is none.
    func status(_ name: String) -> Status? {
        var status = stat()
        guard lstat(path(name), &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return Self.status(status)
    }

    private func openForReading(_ name: String) throws -> Int32? {
        // The cache sets the access time itself. Only the owner of a file may use this flag, so other users retry
        // without it. Links are not followed and pipes are not waited for, because neither is a file of the cache.
        let flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
        var descriptor = open(path(name), flags | SystemFiles.noAccessTime)
        if descriptor < 0 && errno == EPERM { descriptor = open(path(name), flags) }
        if descriptor >= 0 { return descriptor }
        let error = SystemError.last
        if error.code == ENOENT || error.code == ELOOP { return nil }
        throw error
    }

    /// Writes bytes to a new part.
    ///
    /// - Returns: the part's name in ``hidden``, and its metadata.
    /// - Throws: ``SystemError``; the part is removed then.
    func writePart(_ data: Data, number: UInt64, accessed: Int64, expires: Int64) throws -> (
        part: String, status: Status
    ) {
        let part = "\(session)-\(number).part"
        let path = hidden.path + "/" + part
        let descriptor = try calls.perform(.opening) {
            let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            if descriptor < 0 { throw SystemError.last }
            return descriptor
        }
        defer { close(descriptor) }
        do {
            try calls.perform(.writing) { try write(data, to: descriptor) }
            var times = [Self.moment(accessed), Self.moment(Self.fileTime(expires))]
            if futimens(descriptor, &times) != 0 { throw SystemError.last }
            var status = stat()
            if fstat(descriptor, &status) != 0 { throw SystemError.last }
            return (part, Self.status(status))
        } catch {
            unlink(path)
            throw error
        }
    }

    private func write(_ data: Data, to descriptor: Int32) throws {
        try data.withUnsafeBytes { bytes in
            var written = 0
            while written < bytes.count, let base = bytes.baseAddress {
                let count = Self.retrying { writeBytes(descriptor, base + written, bytes.count - written) }
                if count < 0 { throw SystemError.last }
                written += count
            }
        }
    }

    /// Renames a part to the file of a value, which it replaces.
    ///
    /// - Throws: ``SystemError``; the part is removed then.
    func place(_ part: String, as name: String) throws {
        let path = hidden.path + "/" + part
        do {
            try calls.perform(.renaming) { if rename(path, self.path(name)) != 0 { throw SystemError.last } }
        } catch {
            unlink(path)
            throw error
        }
    }

    /// Removes a part.
    func discard(_ part: String) { unlink(hidden.path + "/" + part) }

    /// Removes a file, and returns whether it no longer exists.
    @discardableResult
    func remove(_ name: String) -> Bool {
        let isGone = try? calls.perform(.removing) { unlink(path(name)) == 0 || errno == ENOENT }
        return isGone == true
    }

    /// Sets the times of a file.
    func touch(_ name: String, accessed: Int64, expires: Int64) {
        var times = [Self.moment(accessed), Self.moment(Self.fileTime(expires))]
        _ = try? calls.perform(.touching) { utimensat(AT_FDCWD, path(name), &times, AT_SYMLINK_NOFOLLOW) }
    }

    /// The bytes that can still be written to the file system; `nil` if it does not say.
    var availableSize: Int? {
        var status = statvfs()
        guard statvfs(url.path, &status) == 0 else { return nil }
        return Int(
            clamping: UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize)).partialValue)
    }

    /// Returns all values with their metadata. Files whose names no storage gives are ignored. O(files).
    ///
    /// - Throws: ``SystemError`` if the folder cannot be listed.
    func list() throws -> [(name: String, status: Status)] { try calls.perform(.listing) { try listFiles() } }

    private func listFiles() throws -> [(name: String, status: Status)] {
        guard let directory = opendir(url.path) else { throw SystemError.last }
        defer { closedir(directory) }
        let descriptor = dirfd(directory)
        var found: [(String, Status)] = []
        while true {
            errno = 0
            guard let item = readdir(directory) else { break }
            let name = withUnsafePointer(to: &item.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name.utf8.first == UInt8(ascii: ".") || !FileNaming.isPlain(name) { continue }
            var status = stat()
            guard fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else { continue }
            if status.st_mode & S_IFMT == S_IFREG { found.append((name, Self.status(status))) }
        }
        if errno != 0 { throw SystemError.last }
        return found
    }

    /// Removes the parts that earlier processes left.
    func removeParts() {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: hidden.path)) ?? []
        for name in names where name.hasSuffix(".part") && !name.hasPrefix("\(session)-") { discard(name) }
    }

    // MARK: - Times

    /// The modification time for "never": the last second that every file system can represent (2038-01-19). A file
    /// system that cannot represent a later time stores this one. Such a file does not expire after a restart.
    private static let never: Int64 = 0x7fff_ffff * 1_000_000

    /// Returns the modification time of a file that expires at `expires`.
    private static func fileTime(_ expires: Int64) -> Int64 {
        expires == .max ? never : expires == never ? never - 1 : expires
    }

    private static func moment(_ microseconds: Int64) -> timespec {
        let time = max(microseconds, 0)
        return timespec(tv_sec: Int(time / 1_000_000), tv_nsec: Int(time % 1_000_000) * 1_000)
    }

    private static func status(_ status: stat) -> Status {
        func time(_ time: timespec) -> Int64 { Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000 }
        let expires = time(status.modified)
        return Status(
            size: Int(status.st_blocks) * 512, length: Int(status.st_size), accessed: time(status.lastAccess),
            expires: expires == never ? .max : expires)
    }

    private static func retrying(_ call: () -> Int) -> Int {
        while true {
            let result = call()
            if result >= 0 || errno != EINTR { return result }
        }
    }
}

// Outside the type, because its methods would hide the system functions.

private func readBytes(_ descriptor: Int32, _ start: UnsafeMutableRawPointer, _ count: Int) -> Int {
    read(descriptor, start, count)
}

private func writeBytes(_ descriptor: Int32, _ start: UnsafeRawPointer, _ count: Int) -> Int {
    write(descriptor, start, count)
}
