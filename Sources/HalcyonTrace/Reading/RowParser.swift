/// Parses chunks of one source.
protocol RowParser: Sendable {
    /// The columns that the source has beside keys.
    var present: PresentColumns { get }
    /// Bytes that the shortest request takes.
    var shortestRow: Int { get }
    /// Parses `count` bytes; what is parsed until the first problem is kept. The bytes may be rewritten.
    func parse(_ bytes: UnsafeMutablePointer<UInt8>, count: Int, into rows: RowScratch)
}
