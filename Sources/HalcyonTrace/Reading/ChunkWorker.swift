/// Parses chunks and numbers their names in tables of its own.
struct ChunkWorker {
    let parser: any RowParser
    let index: Int
    var tables = NameTables()
    private var scratch: RowScratch?

    init(parser: any RowParser, index: Int) {
        self.parser = parser
        self.index = index
    }

    /// Parses the first bytes of `buffer`, which may be rewritten.
    mutating func parse(_ buffer: inout [UInt8], _ chunk: ChunkReader.Chunk, skipsBadLines: Bool) -> ChunkRows {
        var result = ChunkRows()
        result.worker = index
        if chunk.isOversized {
            result.lines = 1
            if skipsBadLines {
                result.badLines = 1
            } else {
                let start = quoted(buffer.prefix(chunk.count))
                result.problem = RowProblem(
                    line: 0,
                    message: "the line that starts with \(start) is longer than \(ChunkReader.longestLine) bytes, "
                        + "the most accepted")
            }
            return result
        }
        let capacity = buffer.count / parser.shortestRow + 1
        let rows: RowScratch
        if let scratch, scratch.capacity >= capacity {
            rows = scratch
            rows.reset()
        } else {
            rows = RowScratch(capacity: capacity, present: parser.present)
            scratch = rows
        }
        buffer.withUnsafeMutableBufferPointer { bytes in
            guard let base = bytes.baseAddress else { return }
            parser.parse(base, count: chunk.count, into: rows)
            result.keys = ChunkWorker.number(rows.keys, rows.count, base, &tables.keys)
            if parser.present.contains(.categories) {
                result.categories = ChunkWorker.number(rows.categories, rows.count, base, &tables.categories)
            }
            if parser.present.contains(.users) {
                result.users = ChunkWorker.number(rows.users, rows.count, base, &tables.users)
            }
        }
        if parser.present.contains(.times) {
            result.times = Array(UnsafeBufferPointer(start: rows.times, count: rows.count))
        }
        if parser.present.contains(.sizes) {
            result.sizes = Array(UnsafeBufferPointer(start: rows.sizes, count: rows.count))
        }
        result.lines = rows.lines
        result.badLines = rows.badLines
        result.unansweredReads = rows.unansweredReads
        result.firstLine = rows.firstLine
        result.firstTimeColumn = rows.firstTimeColumn
        result.problem = rows.problem
        return result
    }

    private static func number(
        _ tokens: TokenColumn, _ count: Int, _ base: UnsafeMutablePointer<UInt8>, _ table: inout KeyTable
    ) -> [UInt32] {
        [UInt32](unsafeUninitializedCapacity: count) { numbers, initialized in
            if let start = numbers.baseAddress {
                table.intern(tokens, count: count, base: base, into: start)
            }
            initialized = count
        }
    }
}
