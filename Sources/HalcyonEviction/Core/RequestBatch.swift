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
