/// A cached object, as a small dense integer handed out by whoever owns the keys.
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
    /// What is asked for.
    public var entry: EntryID
    /// How many requests came before this one (the logical time).
    public var requestNumber: Int
    /// The wall time in microseconds.
    public var time: Int64
    /// What the entry takes of the capacity: bytes, or 1 where every object counts 1.
    public var size: Int
    /// The categories of the object as of now.
    public var categories: CategorySetID
    /// Who asks; `UInt32.max` if unknown.
    public var user: UInt32
    /// What is asked for, by a number that all caches which share a model agree on. In a single cache it is the entry; in a
    /// fleet each cache numbers its own entries, and this tells that two users ask for the same object.
    public var object: UInt32
    /// Whether nobody has asked for it yet: it is fetched ahead of need. Policies are never told of such an access where
    /// the cache keeps what was fetched ahead apart; see ``PrefetchingPolicy``.
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
