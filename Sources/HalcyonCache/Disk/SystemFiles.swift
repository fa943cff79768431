import Foundation

/// What Linux and Apple's systems say differently of files.
enum SystemFiles {
    #if os(Linux)
        /// `O_NOATIME`, which Swift does not import: reading leaves the access time alone.
        static let noAccessTime: Int32 = 0o1_000_000
    #else
        /// Nothing: there is no such flag.
        static let noAccessTime: Int32 = 0
    #endif

    /// Closes a descriptor. In debug builds, one that is closed already is an error: another thread may have it by now.
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
        /// When the file was last written.
        var modified: timespec { st_mtimespec }
        /// When the file was last read.
        var lastAccess: timespec { st_atimespec }
    #else
        /// When the file was last written.
        var modified: timespec { st_mtim }
        /// When the file was last read.
        var lastAccess: timespec { st_atim }
    #endif
}

/// What the system says went wrong.
public struct SystemError: Error, Equatable, CustomStringConvertible {
    /// The number (`errno`).
    public let code: Int32

    /// What went wrong in this thread's last call.
    static var last: SystemError { SystemError(code: errno) }

    /// In words.
    public var description: String { String(cString: strerror(code)) }
}
