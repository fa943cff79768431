/// What the app knows of the device just now, and predictive prefetching heeds.
///
/// Nothing of it can be learnt by the package itself: an app passes what its platform tells it.
public struct PrefetchConditions: OptionSet, Sendable, Hashable {
    /// The set as bits.
    public let rawValue: UInt8

    /// A set from bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The user wants little to be loaded.
    public static let lowDataMode = PrefetchConditions(rawValue: 1 << 0)
    /// The battery is low, or saved.
    public static let lowBattery = PrefetchConditions(rawValue: 1 << 1)
    /// What is loaded is paid for by the byte.
    public static let meteredNetwork = PrefetchConditions(rawValue: 1 << 2)
}
