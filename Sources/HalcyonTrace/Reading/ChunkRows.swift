/// The requests of one chunk; names carry the numbers of the worker that parsed it.
struct ChunkRows: Sendable {
    /// Whose numbers these are.
    var worker = 0
    var keys = NameColumn()
    /// Empty without times.
    var times = TimeColumn([])
    /// 0 for unknown; empty without sizes.
    var sizes = SizeColumn.empty
    /// Numbers of category fields as they are written (`a|b` is one); empty without categories.
    var categories = NameColumn()
    /// Empty without users.
    var users = NameColumn()
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

    var count: Int { keys.numbers.count }

    /// Keeps only these requests.
    mutating func keep(_ range: Range<Int>) {
        keys = keys.kept(range)
        categories = categories.kept(range)
        users = users.kept(range)
        if !times.isEmpty { times = TimeColumn(times[range].map { $0 }) }
        if !sizes.isEmpty { sizes = sizes.kept(range) }
    }
}

/// The names that one worker has met.
struct NameTables: Sendable {
    var keys = KeyTable()
    var categories = KeyTable()
    var users = KeyTable()
}
