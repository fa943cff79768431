import Foundation

/// The traces that are committed.
enum BundledTrace {
    /// Where a trace lies.
    static func path(_ name: String, from file: String = #filePath) -> String {
        var folder = URL(fileURLWithPath: file)
        for _ in 0..<4 { folder.deleteLastPathComponent() }
        return folder.appendingPathComponent("Traces/\(name)").path
    }
}
