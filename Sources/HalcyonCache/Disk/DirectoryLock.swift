import Foundation
import Synchronization

/// An exclusive lock on a directory, held as long as this object exists. It ends when the process ends for any reason.
///
/// It is a `flock` on the directory itself, which needs no file. NFS refuses that: Linux locks a whole file there,
/// which must be open for writing, as no directory can be (`EBADF`). The lock is then one on the file `.halcyon/lock`
/// in the directory.
///
/// See `DiskFolderTests.directoryThatCannotBeLockedIsLockedByFile()`.
final class DirectoryLock: Sendable {
    private let descriptor: Int32
    /// The lock file, where the directory itself cannot be locked.
    private let file = Mutex<Int32?>(nil)
    /// The directory's identity. No other directory has it while the descriptor is open.
    private let number: (device: dev_t, node: ino_t)

    /// Locks a directory. If a storage that is closing holds the lock, it waits.
    ///
    /// - Parameters:
    ///   - patience: the maximum time to wait.
    ///   - lock: locks a descriptor; the system's `flock` unless a test replaces it.
    /// - Throws: ``CacheError/directoryInUse(_:)`` or ``CacheError/cannotCreateDirectory(_:underlying:)``.
    init(
        _ url: URL, patience: Duration = .seconds(1), by lock: (Int32) -> Int32 = { flock($0, LOCK_EX | LOCK_NB) }
    ) throws {
        descriptor = open(url.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        if descriptor < 0 { throw CacheError.cannotCreateDirectory(url, underlying: SystemError.last) }
        var status = stat()
        fstat(descriptor, &status)
        number = (status.st_dev, status.st_ino)
        var waited = Duration.zero
        var locked = descriptor
        while lock(locked) != 0 {
            let error = SystemError.last
            if error.code == EINTR { continue }
            if error.code == EBADF && locked == descriptor {
                let hidden = url.path + "/.halcyon"
                mkdir(hidden, 0o700)
                locked = open(hidden + "/lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
                if locked < 0 { throw CacheError.cannotCreateDirectory(url, underlying: SystemError.last) }
                file.withLock { [locked] in $0 = locked }
                continue
            }
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

    deinit {
        SystemFiles.close(descriptor)
        if let file = file.withLock({ $0 }) { SystemFiles.close(file) }
    }

    /// Returns whether the locked directory is no longer at `url`. It was removed; another directory may be in its
    /// place, which another process may use. One system call.
    func isMissing(from url: URL) -> Bool {
        var status = stat()
        if stat(url.path, &status) != 0 { return errno == ENOENT }
        return status.st_dev != number.device || status.st_ino != number.node
    }
}
