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
