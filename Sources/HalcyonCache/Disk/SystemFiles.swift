import Foundation

/// The differences between Linux and Apple's systems in file functions.
enum SystemFiles {
    #if os(Linux)
        /// `O_NOATIME`, which Swift does not import: reads do not change the access time.
        static let noAccessTime: Int32 = 0o1_000_000
    #else
        /// No flag: the system has none.
        static let noAccessTime: Int32 = 0
    #endif

    /// Closes a descriptor. In debug builds, it traps if the descriptor was closed already, because another thread
    /// may have reused it.
    static func close(_ descriptor: Int32) {
        #if canImport(Darwin)
            let status = Darwin.close(descriptor)
        #else
            let status = Glibc.close(descriptor)
        #endif
        assert(status == 0 || errno != EBADF, "The descriptor is closed twice.")
    }
}

extension stat {
    #if canImport(Darwin)
        /// The time of the last write.
        var modified: timespec { st_mtimespec }
        /// The time of the last read.
        var lastAccess: timespec { st_atimespec }
    #else
        /// The time of the last write.
        var modified: timespec { st_mtim }
        /// The time of the last read.
        var lastAccess: timespec { st_atim }
    #endif
}

/// An error of a system call.
public struct SystemError: Error, Equatable, CustomStringConvertible {
    /// The error number (`errno`).
    public let code: Int32

    /// The error of the last call on this thread.
    static var last: SystemError { SystemError(code: errno) }

    /// The system's text for the error.
    public var description: String { String(cString: strerror(code)) }
}
