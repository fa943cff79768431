import HalcyonEviction

/// Whether the app of each device is killed between visits in a replay.
///
/// After a pause of more than 30 minutes between two requests of a user, memory is empty and the disk (or the only
/// tier) is as it was. Policies that learn continue with what a live cache has written: the latest ``calls`` of the
/// policy, and its model if there were more. Other policies have the residents of the disk in the order of their last
/// access, as a live disk gets them.
///
/// ```swift
/// options.restart = try RestartOptions(parsing: "visits")
/// ```
public struct RestartOptions: Sendable, Hashable, CustomStringConvertible {
    /// The accepted numbers of calls.
    public static let callCounts = 16...1 << 20
    /// The number of calls that a live cache keeps: 16,384.
    public static let liveCalls = CacheCalls.most

    /// The most calls of each policy that are kept. The default is ``liveCalls``.
    public var calls: Int

    /// Creates options.
    public init(calls: Int = RestartOptions.liveCalls) { self.calls = calls }

    /// Reads `visits`, or `visits(calls=1024)`.
    ///
    /// - Throws: ``ReplayError/usage(_:)`` for other text, or a number out of range.
    public init(parsing text: String) throws(ReplayError) {
        self.init()
        let spec: PolicySpec
        do { spec = try PolicySpec(parsing: text) } catch { throw Self.fault(text) }
        guard spec.name == "visits", spec.settings.count < 2 else { throw Self.fault(text) }
        guard let setting = spec.settings.first else { return }
        guard setting.name == "calls" else { throw Self.fault(text) }
        guard let value = Int(setting.value), Self.callCounts.contains(value) else {
            throw .usage(
                "calls=\(setting.value) is no number of calls to keep: give \(Self.callCounts.lowerBound) to "
                    + "\(Self.callCounts.upperBound).")
        }
        calls = value
    }

    private static func fault(_ text: String) -> ReplayError {
        .usage("'\(text)' describes no restarts: write visits, or visits(calls=\(liveCalls)).")
    }

    /// The notation that ``init(parsing:)`` reads.
    public var description: String { calls == Self.liveCalls ? "visits" : "visits(calls=\(calls))" }
}
