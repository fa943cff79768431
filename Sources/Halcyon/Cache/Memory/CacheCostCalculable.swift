import Foundation

/// What knows what it costs to keep it in memory.
public protocol CacheCostCalculable {
    /// The bytes that it takes in memory, or whatever else the storage's limit counts; not negative.
    var cacheCost: Int { get }
}

extension Data: CacheCostCalculable {
    /// The number of bytes.
    public var cacheCost: Int { count }
}
