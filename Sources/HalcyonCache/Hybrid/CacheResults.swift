/// Where a value is, or was found.
public enum CacheType: String, Sendable, CaseIterable {
    /// Nowhere.
    case none
    /// In memory.
    case memory
    /// On disk.
    case disk

    /// Whether it is anywhere.
    public var cached: Bool { self != .none }
}

/// What a look-up found, and where.
public enum ImageCacheResult<Value: Sendable>: Sendable {
    /// On disk; it is in memory now, if it was admitted there.
    case disk(Value)
    /// In memory.
    case memory(Value)
    /// Nothing.
    case none

    /// The value, if any.
    public var image: Value? {
        switch self {
        case .disk(let value), .memory(let value): value
        case .none: nil
        }
    }

    /// Where it was found.
    public var cacheType: CacheType {
        switch self {
        case .disk: .disk
        case .memory: .memory
        case .none: .none
        }
    }
}

/// What came of a store.
public struct CacheStoreResult: Sendable {
    /// In memory nothing can fail; that a value was not admitted is no failure.
    public let memoryCacheResult: Result<Void, Never>
    /// On disk: ``CacheError`` if it cannot be written or serialized.
    public let diskCacheResult: Result<Void, any Error>
}
