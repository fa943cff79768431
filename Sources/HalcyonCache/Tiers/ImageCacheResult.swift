/// The tier that contains a value.
public enum CacheType: String, Sendable, CaseIterable {
    /// No tier.
    case none
    /// The memory.
    case memory
    /// The disk.
    case disk

    /// Whether any tier contains the value.
    public var cached: Bool { self != .none }
}

/// A choice of the tiers of a cache.
public struct CacheTiers: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The memory.
    public static let memory = CacheTiers(rawValue: 1)
    /// The disk.
    public static let disk = CacheTiers(rawValue: 2)
    /// Memory and disk.
    public static let all: CacheTiers = [.memory, .disk]
}

/// The result of a look-up.
public enum ImageCacheResult<Value: Sendable>: Sendable {
    /// The value was found on disk. It is also in memory now, if it was admitted there.
    case disk(Value)
    /// The value was found in memory.
    case memory(Value)
    /// The value was not found.
    case none

    /// The value, if any.
    public var image: Value? {
        switch self {
        case .disk(let value), .memory(let value): value
        case .none: nil
        }
    }

    /// The tier in which the value was found.
    public var cacheType: CacheType {
        switch self {
        case .disk: .disk
        case .memory: .memory
        case .none: .none
        }
    }
}

/// The result of a store.
public struct CacheStoreResult: Sendable {
    /// The result in memory, which never fails. It is no failure if the value is not admitted.
    public let memoryCacheResult: Result<Void, Never>
    /// The result on disk: ``CacheError`` if the value cannot be serialized or written, or has an empty key.
    public let diskCacheResult: Result<Void, any Error>
}
