import Foundation

/// What knows what it costs to keep it in memory.
public protocol CacheCostCalculable {
    /// The bytes that it takes in memory, or whatever else the storage's limit counts; not negative.
    ///
    /// A replay of what was recorded counts at least 1 for each object, because 0 is a size that is not known; reports say
    /// how many those were.
    var cacheCost: Int { get }
}

extension Data: CacheCostCalculable {
    /// The number of bytes.
    public var cacheCost: Int { count }
}
