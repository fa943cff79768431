/// A cached object, as a small dense integer that the owner of the keys assigns.
///
/// In a replay it is the object's number in the trace. A live storage hands one out for each key it holds and takes it
/// back when the policy has forgotten the entry.
public typealias EntryID = UInt32

/// A set of categories, as a small dense integer; 0 is the empty set. See ``EvictionPolicy/define(categorySet:members:)``.
public typealias CategorySetID = UInt32

extension EntryID {
    /// No entry: the end of a list, an empty place.
    public static let none = EntryID.max
}

/// What a policy may know at the moment of a request, and nothing later.
@frozen
public struct Access: Sendable, Equatable {
    /// The requested entry.
    public var entry: EntryID
    /// How many requests came before this one (the logical time).
    public var requestNumber: Int
    /// The wall time in microseconds.
    public var time: Int64
    /// The size of the entry: bytes, or 1 if every object counts 1.
    public var size: Int
    /// The categories of the object as of now.
    public var categories: CategorySetID
    /// The user; `UInt32.max` if unknown.
    public var user: UInt32
    /// The object, by a number that all caches which share a model agree on. With one cache it is the entry; per-user caches
    /// number their own entries.
    public var object: UInt32
    /// Whether the entry is prefetched: no user has requested it. Policies receive no such access; see
    /// ``PolicyContext/prefetches``.
    public var isPrefetch: Bool

    /// An access; everything but the entry has a neutral default.
    @inlinable
    public init(
        entry: EntryID, requestNumber: Int = 0, time: Int64 = 0, size: Int = 1, categories: CategorySetID = 0,
        user: UInt32 = .max, object: UInt32? = nil, isPrefetch: Bool = false
    ) {
        self.entry = entry
        self.requestNumber = requestNumber
        self.time = time
        self.size = size
        self.categories = categories
        self.user = user
        self.object = object ?? entry
        self.isPrefetch = isPrefetch
    }
}

/// The outcome of an access. Odd raw values are hits.
@frozen
public enum AccessOutcome: UInt8, Sendable {
    /// Absent, fetched and kept.
    case miss = 0
    /// Resident.
    case hit = 1
    /// Absent, fetched and not kept: larger than the cache or refused by the policy.
    case refused = 2
    /// Absent from the first of two tiers, resident in the second.
    case lowerTierHit = 3
    /// Resident, but expired or of another size than requested; fetched again and kept.
    case stale = 4

    /// Whether the object was found.
    @inlinable
    public var isHit: Bool { rawValue & 1 == 1 }
}

/// A run of consecutive requests, as columns; what a column does not say has its neutral value.
///
/// The pointers belong to the caller and are read only during the call they are passed to.
public struct RequestBatch {
    /// How many requests came before the first of these.
    public var firstRequest: Int
    /// What is asked for.
    public var entries: UnsafeBufferPointer<EntryID>
    /// The size of each; 1 where `nil`.
    public var sizes: UnsafePointer<Int>?
    /// The time of each in microseconds; 0 where `nil`.
    public var times: UnsafePointer<Int64>?
    /// The category set of each; 0 where `nil`.
    public var categories: UnsafePointer<CategorySetID>?
    /// The user of each; unknown where `nil`.
    public var users: UnsafePointer<UInt32>?

    /// A batch over the caller's columns.
    public init(
        firstRequest: Int, entries: UnsafeBufferPointer<EntryID>, sizes: UnsafePointer<Int>? = nil,
        times: UnsafePointer<Int64>? = nil, categories: UnsafePointer<CategorySetID>? = nil,
        users: UnsafePointer<UInt32>? = nil
    ) {
        self.firstRequest = firstRequest
        self.entries = entries
        self.sizes = sizes
        self.times = times
        self.categories = categories
        self.users = users
    }

    /// The access at `position` of the batch.
    @inlinable @inline(__always)
    public func access(_ position: Int) -> Access {
        Access(
            entry: entries[position], requestNumber: firstRequest &+ position, time: times?[position] ?? 0,
            size: sizes?[position] ?? 1, categories: categories?[position] ?? 0, user: users?[position] ?? .max)
    }
}
