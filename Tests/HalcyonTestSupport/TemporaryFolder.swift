import Foundation

/// A folder of a test's own, gone afterwards.
public final class TemporaryFolder: Sendable {
    /// Where it is.
    public let path: String

    /// A new, empty folder, among the system's temporary ones or in another.
    public init(in parent: String? = nil) throws {
        let parent = parent.map { URL(fileURLWithPath: $0) } ?? FileManager.default.temporaryDirectory
        let url = parent.appendingPathComponent("halcyon-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        path = url.path
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Writes a file and returns its path.
    public func file(_ name: String, _ text: String) throws -> String { try file(name, Array(text.utf8)) }

    /// Writes a file and returns its path.
    public func file(_ name: String, _ bytes: [UInt8]) throws -> String {
        let path = "\(path)/\(name)"
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        return path
    }
}
