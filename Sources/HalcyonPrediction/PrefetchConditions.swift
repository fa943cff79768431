/// The conditions of network and battery that predictive prefetching observes. An app sets them as its platform reports them.
public struct PrefetchConditions: OptionSet, Sendable, Hashable {
    /// The set as bits.
    public let rawValue: UInt8

    /// A set from bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Low Data Mode is on.
    public static let lowDataMode = PrefetchConditions(rawValue: 1 << 0)
    /// The battery is low, or in a mode that saves it.
    public static let lowBattery = PrefetchConditions(rawValue: 1 << 1)
    /// The network is paid for by the byte.
    public static let meteredNetwork = PrefetchConditions(rawValue: 1 << 2)
}
