/// What tells a log from other SQLite files, and the versions of its tables.
///
/// `PRAGMA application_id` tells a log from other programs' files, `PRAGMA user_version` is the version.
package enum LogFormat {
    /// `Hlog` in ASCII.
    package static let applicationID: Int32 = 0x486c_6f67
    /// The latest version that this release knows.
    package static let latestVersion = 4

    /// Returns the version of a file; 0 if it holds nothing yet.
    ///
    /// - Parameters:
    ///   - version: the version that the file states.
    ///   - applicationID: the program that the file states.
    ///   - isEmpty: whether the file has no table.
    ///   - latest: the latest known version.
    /// - Throws: ``AccessLogError`` if the file is another program's or of a later version.
    package static func version(
        _ version: Int, applicationID: Int32, isEmpty: Bool, latest: Int = latestVersion, path: String
    ) throws(AccessLogError) -> Int {
        guard applicationID == Self.applicationID else {
            if version == 0, isEmpty { return 0 }
            throw AccessLogError(
                path, .foreign, "is an SQLite file of another program; an access log of Halcyon is needed")
        }
        guard version <= latest else {
            throw AccessLogError(
                path, .newerSchema,
                "has schema version \(version), of a later release; this one knows versions up to \(latest)")
        }
        return version
    }
}
