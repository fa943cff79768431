import Foundation

/// How long the long tests are.
enum SoakLength {
    /// Whether the environment asks for the long forms.
    static let isLong = ProcessInfo.processInfo.environment["HALCYON_SOAK"] != nil
    /// The accesses of a trace that are driven through a live cache.
    static let accesses = isLong ? 100_000 : 20_000
}
