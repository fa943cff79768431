import Foundation

/// How long the long tests are: `make soak` sets `HALCYON_SOAK`.
public enum SoakLength {
    /// Whether the environment asks for the long forms.
    public static let isLong = ProcessInfo.processInfo.environment["HALCYON_SOAK"] != nil
    /// The accesses of a trace that are driven through a live cache.
    public static let accesses = isLong ? 100_000 : 20_000

    /// How often a process is killed: 200 times in the long form.
    public static func kills(short: Int) -> Int { isLong ? 200 : short }
}
