/// Parses chunks and numbers their names in tables of its own.
struct ChunkWorker {
    let parser: any RowParser
    let index: Int
    let skipsBadLines: Bool
    /// Whether ``ChunkRows/hashes`` are wanted.
    var wantsHashes = false
    var tables = NameTables()
    private var scratch: RowScratch?

    init(parser: any RowParser, index: Int, skipsBadLines: Bool) {
        self.parser = parser
        self.skipsBadLines = skipsBadLines
        self.index = index
    }

    /// Parses the first bytes of `buffer`, which may be rewritten.
    ///
    /// - Parameters:
    ///   - skip: The requests to leave out at the start; their names are not numbered.
    ///   - lastTime: The time that the first request must not be before, in microseconds.
    mutating func parse(
        _ buffer: inout [UInt8], _ chunk: ChunkReader.Chunk, skip: Int = 0, after lastTime: Int64 = .min
    ) -> ChunkRows {
        if chunk.isOversized { return oversized(buffer.prefix(chunk.count)) }
        let rows = scratch(for: buffer.count)
        rows.lastTime = lastTime
        var result = ChunkRows(worker: index)
        buffer.withUnsafeMutableBufferPointer { bytes in
            guard let base = bytes.baseAddress else { return }
            parser.parse(base, count: chunk.count, into: rows)
            let kept = min(skip, rows.count)..<rows.count
            result.skipped = kept.lowerBound
            if wantsHashes { result.hashes = kept.map { rows.keys.hash($0, base: base) } }
            result.keys = tables.keys.intern(rows.keys, kept, base: base)
            if parser.present.contains(.categories) {
                result.categories = tables.categories.intern(rows.categories, kept, base: base)
            }
            if parser.present.contains(.users) {
                result.users = tables.users.intern(rows.users, kept, base: base)
            }
            if parser.present.contains(.times) {
                result.times = TimeColumn(
                    coarse: UnsafeBufferPointer(start: rows.times + kept.lowerBound, count: kept.count))
            }
            if parser.present.contains(.sizes) {
                result.sizes = SizeColumn(
                    UnsafeBufferPointer(start: rows.sizes + kept.lowerBound, count: kept.count))
            }
        }
        result.lines = rows.lines
        result.badLines = rows.badLines
        result.unansweredReads = rows.unansweredReads
        result.firstLine = rows.firstLine
        result.firstTimeColumn = rows.firstTimeColumn
        result.problem = rows.problem
        return result
    }

    /// A line that is too long to be read.
    private func oversized(_ head: ArraySlice<UInt8>) -> ChunkRows {
        var result = ChunkRows(worker: index, lines: 1)
        if skipsBadLines {
            result.badLines = 1
        } else {
            result.problem = RowProblem(line: 0, message: LineFault.tooLong(head).message)
        }
        return result
    }

    private mutating func scratch(for bytes: Int) -> RowScratch {
        let capacity = bytes / parser.shortestRow + 1
        if let scratch, scratch.capacity >= capacity {
            scratch.reset()
            return scratch
        }
        let wider = RowScratch(capacity: capacity, present: parser.present)
        scratch = wider
        return wider
    }
}
