import Foundation

/// An exclusive lock on a directory, held as long as this object exists. It is a `flock` on the directory itself. It
/// needs no file, and ends when the process ends for any reason.
final class DirectoryLock: Sendable {
    private let descriptor: Int32
    /// The directory's identity. No other directory has it while the descriptor is open.
    private let number: (device: dev_t, node: ino_t)

    /// Locks a directory. If a storage that is closing holds the lock, it waits.
    ///
    /// - Parameter patience: the maximum time to wait.
    /// - Throws: ``CacheError/directoryInUse(_:)`` or ``CacheError/cannotCreateDirectory(_:underlying:)``.
    init(_ url: URL, patience: Duration = .seconds(1)) throws {
        descriptor = open(url.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        if descriptor < 0 { throw CacheError.cannotCreateDirectory(url, underlying: SystemError.last) }
        var status = stat()
        fstat(descriptor, &status)
        number = (status.st_dev, status.st_ino)
        var waited = Duration.zero
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            let error = SystemError.last
            if error.code == EINTR { continue }
            if error.code == EWOULDBLOCK && waited < patience {
                Thread.sleep(forTimeInterval: 0.005)
                waited += .milliseconds(5)
                continue
            }
            // All properties are set, so that `deinit` closes the descriptor.
            throw error.code == EWOULDBLOCK
                ? CacheError.directoryInUse(url) : CacheError.cannotCreateDirectory(url, underlying: error)
        }
    }

    deinit { SystemFiles.close(descriptor) }

    /// Returns whether the locked directory is no longer at `url`. It was removed; another directory may be in its
    /// place, which another process may use. One system call.
    func isMissing(from url: URL) -> Bool {
        var status = stat()
        if stat(url.path, &status) != 0 { return errno == ENOENT }
        return status.st_dev != number.device || status.st_ino != number.node
    }
}
