import Foundation

@testable import HalcyonTrace

/// A folder of a test's own, gone afterwards.
final class TemporaryFolder {
    let path: String

    init() throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("halcyon-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        path = url.path
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Writes a file and returns its path.
    func file(_ name: String, _ text: String) throws -> String { try file(name, Array(text.utf8)) }

    /// Writes a file and returns its path.
    func file(_ name: String, _ bytes: [UInt8]) throws -> String {
        let path = "\(path)/\(name)"
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        return path
    }
}

extension LoadOptions {
    /// The defaults, changed.
    static func with(_ change: (inout LoadOptions) -> Void) -> LoadOptions {
        var options = LoadOptions()
        change(&options)
        return options
    }
}

/// The sentence with which loading fails, the folder taken out.
func fault(_ path: String, _ options: LoadOptions = LoadOptions()) -> String? {
    do throws(TraceError) {
        _ = try Trace.load(path, options)
        return nil
    } catch {
        return error.description.replacingOccurrences(of: (path as NSString).deletingLastPathComponent + "/", with: "")
    }
}
