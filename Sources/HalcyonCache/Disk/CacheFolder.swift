import Foundation

/// Where an operation on the disk stands; a test may end the process, or the operation, there.
package enum DiskStep: String, CaseIterable, Sendable {
    case opening, writing, renaming, renamed, removing, removed, indexing, indexed
}

/// The files of a disk storage: read, written at once or not at all, listed, removed.
///
/// Values lie in the folder itself; what is being written, and the index, lie in the hidden folder `.halcyon` within, from
/// where a finished file is renamed to its place. A process that is killed therefore leaves whole files only, and parts
/// that ``removeParts()`` removes. Power failures are left to the file system: nothing is synchronised to the disk.
package struct CacheFolder: Sendable {
    let url: URL
    /// Called at each step; what it throws is a failure of that step.
    let onStep: @Sendable (DiskStep) throws -> Void
    private let session = UInt64.random(in: 0...UInt64.max)

    package var hidden: URL { url.appendingPathComponent(".halcyon", isDirectory: true) }

    init(url: URL, onStep: @escaping @Sendable (DiskStep) throws -> Void = { _ in }) {
        self.url = url
        self.onStep = onStep
    }

    /// Makes the folders where they are missing.
    ///
    /// - Throws: ``CacheError/cannotCreateDirectory(_:underlying:)``.
    func create() throws {
        do {
            try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        } catch {
            throw CacheError.cannotCreateDirectory(url, underlying: error)
        }
        // Where this fails nothing can be written, but what is there can be read. It names what is cached and what was asked for: as the
        // values, that is for their owner alone.
        mkdir(hidden.path, 0o700)
        chmod(hidden.path, 0o700)
    }

    func path(_ name: String) -> String { url.path + "/" + name }
    func url(_ name: String) -> URL { url.appendingPathComponent(name) }

    /// What is kept of a file.
    struct Status: Equatable {
        /// Blocks × 512.
        var size: Int
        /// The bytes of the value.
        var length: Int
        /// In microseconds since 1970.
        var accessed: Int64
        /// In microseconds since 1970; `Int64.max` if never.
        var expires: Int64
    }

    /// Reads a file; `nil` if there is none.
    ///
    /// - Throws: ``SystemError``.
    func read(_ name: String) throws -> (data: Data, status: Status)? {
        guard let descriptor = try openForReading(name) else { return nil }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw SystemError.last }
        if status.st_mode & S_IFMT == S_IFDIR { throw SystemError(code: EISDIR) }
        if status.st_mode & S_IFMT != S_IFREG { return nil }
        var data = Data(count: Int(status.st_size))
        var length = 0
        try data.withUnsafeMutableBytes { bytes in
            while length < bytes.count, let base = bytes.baseAddress {
                let count = Self.retrying { readBytes(descriptor, base + length, bytes.count - length) }
                if count < 0 { throw SystemError.last }
                if count == 0 { break }
                length += count
            }
        }
        if length < data.count { throw SystemError(code: EIO) }
        return (data, Self.status(status))
    }

    /// The status of a file; `nil` if there is none.
    func status(_ name: String) -> Status? {
        var status = stat()
        guard lstat(path(name), &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return Self.status(status)
    }

    private func openForReading(_ name: String) throws -> Int32? {
        // The access time is the cache's to set; reading it as another user is not worth an error.
        // Links are not followed, and a pipe is not waited for: neither is a file of the cache.
        let flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
        var descriptor = open(path(name), flags | SystemFiles.noAccessTime)
        if descriptor < 0 && errno == EPERM { descriptor = open(path(name), flags) }
        if descriptor >= 0 { return descriptor }
        let error = SystemError.last
        if error.code == ENOENT || error.code == ELOOP { return nil }
        throw error
    }

    /// Writes bytes into a part that is nobody's value yet.
    ///
    /// - Returns: the part's name in ``hidden``, and what is kept of it.
    /// - Throws: ``SystemError``; the part is gone then.
    func writePart(_ data: Data, number: UInt64, accessed: Int64, expires: Int64) throws -> (
        part: String, status: Status
    ) {
        let part = "\(session)-\(number).part"
        let path = hidden.path + "/" + part
        try onStep(.opening)
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        if descriptor < 0 { throw SystemError.last }
        defer { close(descriptor) }
        do {
            var written = 0
            try onStep(.writing)
            try data.withUnsafeBytes { bytes in
                while written < bytes.count, let base = bytes.baseAddress {
                    let count = Self.retrying { writeBytes(descriptor, base + written, bytes.count - written) }
                    if count < 0 { throw SystemError.last }
                    written += count
                }
            }
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

    /// Puts a part in the place of a value.
    ///
    /// - Throws: ``SystemError``; the part is gone then.
    func place(_ part: String, as name: String) throws {
        let path = hidden.path + "/" + part
        do {
            try onStep(.renaming)
            if rename(path, self.path(name)) != 0 { throw SystemError.last }
            try onStep(.renamed)
        } catch {
            unlink(path)
            throw error
        }
    }

    /// Removes a part.
    func discard(_ part: String) { unlink(hidden.path + "/" + part) }

    /// Removes a file; whether it is not there any more.
    @discardableResult
    func remove(_ name: String) -> Bool {
        do {
            try onStep(.removing)
            if unlink(path(name)) != 0 && errno != ENOENT { return false }
            try onStep(.removed)
            return true
        } catch {
            return false
        }
    }

    /// Sets the times of a file.
    func touch(_ name: String, accessed: Int64, expires: Int64) {
        var times = [Self.moment(accessed), Self.moment(Self.fileTime(expires))]
        utimensat(AT_FDCWD, path(name), &times, AT_SYMLINK_NOFOLLOW)
    }

    /// All values with what is kept of them; files that no storage names so are left alone. O(files).
    ///
    /// - Throws: ``SystemError`` if the folder cannot be listed.
    func list() throws -> [(name: String, status: Status)] {
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

    /// Removes the parts that processes before this one left.
    func removeParts() {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: hidden.path)) ?? []
        for name in names where name.hasSuffix(".part") && !name.hasPrefix("\(session)-") { discard(name) }
    }

    // MARK: - Times

    /// The modification time that stands for never: the last second that every file system can hold (2038-01-19). A file system
    /// that cannot hold a later time sets this one, so that such a file does not expire after a restart.
    private static let never: Int64 = 0x7fff_ffff * 1_000_000

    /// Returns the modification time of a file that expires at a time.
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

// Outside of the type, whose own names would hide the system's.

private func readBytes(_ descriptor: Int32, _ start: UnsafeMutableRawPointer, _ count: Int) -> Int {
    read(descriptor, start, count)
}

private func writeBytes(_ descriptor: Int32, _ start: UnsafeRawPointer, _ count: Int) -> Int {
    write(descriptor, start, count)
}
