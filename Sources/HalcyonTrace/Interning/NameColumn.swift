/// The names of a chunk's requests, in the numbers of the worker that parsed it.
struct NameColumn: Sendable {
    /// By row; ``KeyTable/none`` where there is no name.
    var numbers: [UInt32] = []
    /// The rows that hold a name which the worker had not met before, ascending.
    ///
    /// A worker takes chunks in the order of the file, so the first request for any name is in such a row of some chunk.
    var firsts: [UInt32] = []

    /// Only these rows; `firsts` then are all of them, since what came before is gone.
    func kept(_ rows: Range<Int>) -> NameColumn {
        if numbers.isEmpty { return self }
        return NameColumn(numbers: Array(numbers[rows]), firsts: (0..<UInt32(rows.count)).map { $0 })
    }
}
