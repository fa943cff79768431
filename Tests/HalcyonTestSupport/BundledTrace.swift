import Foundation

/// The traces that are committed.
public enum BundledTrace {
    /// Where a trace lies.
    public static func path(_ name: String) -> String {
        var folder = URL(fileURLWithPath: #filePath)
        for _ in 0..<3 { folder.deleteLastPathComponent() }
        return folder.appendingPathComponent("Traces/\(name)").path
    }
}
