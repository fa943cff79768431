import Foundation

/// The right to use a directory, for as long as this object lives: a lock on the directory itself (`flock`), which ends
/// with the process however that ends, and needs no file.
final class DirectoryLock: Sendable {
    private let descriptor: Int32
    /// Which directory it is; no other has this number as long as the descriptor is open.
    private let number: (device: dev_t, node: ino_t)

    /// Takes the right; from a storage that is just ending its work, after a moment.
    ///
    /// - Parameter patience: the seconds after which it is taken to be in use.
    /// - Throws: ``CacheError/directoryInUse(_:)`` or ``CacheError/cannotCreateDirectory(_:underlying:)``.
    init(_ url: URL, patience: Double = 1) throws {
        descriptor = open(url.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        if descriptor < 0 { throw CacheError.cannotCreateDirectory(url, underlying: SystemError.last) }
        var status = stat()
        fstat(descriptor, &status)
        number = (status.st_dev, status.st_ino)
        var waited = 0.0
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            let error = SystemError.last
            if error.code == EINTR { continue }
            if error.code == EWOULDBLOCK && waited < patience {
                Thread.sleep(forTimeInterval: 0.005)
                waited += 0.005
                continue
            }
            // All properties are set, so that `deinit` closes the descriptor.
            throw error.code == EWOULDBLOCK
                ? CacheError.directoryInUse(url) : CacheError.cannotCreateDirectory(url, underlying: error)
        }
    }

    deinit { SystemFiles.close(descriptor) }

    /// Whether the directory is no more at the path where it was: somebody removed it, and may have made another there, which
    /// then may be another process' to use. One system call.
    func isMissing(from url: URL) -> Bool {
        var status = stat()
        if stat(url.path, &status) != 0 { return errno == ENOENT }
        return status.st_dev != number.device || status.st_ino != number.node
    }
}
