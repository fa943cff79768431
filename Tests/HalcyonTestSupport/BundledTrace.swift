import Foundation

/// The folder of the package, which holds `Package.swift`.
public let packageFolder = URL(fileURLWithPath: #filePath).appending(path: "../../..").standardizedFileURL

/// The traces that are committed.
public enum BundledTrace {
    /// Where a trace lies.
    public static func path(_ name: String) -> String { packageFolder.appending(path: "Traces/\(name)").path }
}
