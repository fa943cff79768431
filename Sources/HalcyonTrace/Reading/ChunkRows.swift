/// The requests of one chunk; names carry the numbers of the worker that parsed it.
struct ChunkRows: Sendable {
    /// Whose numbers these are.
    var worker = 0
    var keys: [UInt32] = []
    /// Microseconds; empty without times.
    var times: [Int64] = []
    /// Bytes, 0 for unknown; empty without sizes.
    var sizes: [UInt64] = []
    /// Numbers of category fields as they are written (`a|b` is one); empty without categories.
    var categories: [UInt32] = []
    /// Empty without users.
    var users: [UInt32] = []
    /// Of the keys; empty unless asked for.
    var hashes: [UInt64] = []
    /// The requests left out at the start.
    var skipped = 0
    var lines = 0
    var badLines = 0
    var unansweredReads = 0
    var firstLine = 0
    var firstTimeColumn: Int?
    var problem: RowProblem?
    /// What stopped the reading of the source behind the chunks before.
    var failure: TraceError?

    var count: Int { keys.count }

    /// Keeps only these requests.
    mutating func keep(_ range: Range<Int>) {
        keys = Array(keys[range])
        if !times.isEmpty { times = Array(times[range]) }
        if !sizes.isEmpty { sizes = Array(sizes[range]) }
        if !categories.isEmpty { categories = Array(categories[range]) }
        if !users.isEmpty { users = Array(users[range]) }
    }
}

/// The names that one worker has met.
struct NameTables: Sendable {
    var keys = KeyTable()
    var categories = KeyTable()
    var users = KeyTable()
}
