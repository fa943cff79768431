/// A worker that parses chunks and numbers their names in private tables.
struct ChunkWorker {
    /// The parsers of the sources.
    private let parsers: [any RowParser]
    private var source = 0
    private var parser: any RowParser { parsers[source] }
    /// The columns of the rows: those that any source has.
    private let present: PresentColumns
    let index: Int
    let skipsBadLines: Bool
    /// Whether to fill ``ChunkRows/hashes``.
    var wantsHashes = false
    /// Whether rows that were shown are only counted.
    var dropsShown = false
    var tables: NameTables
    /// The names in rows that were shown; `nil` before the first of them.
    private(set) var shownTables: NameTables?
    private let tooManyNames: Int
    private var scratch: RowScratch?

    /// Creates a worker for the sources of these parsers, of which there is at least one.
    init(parsers: [any RowParser], index: Int, skipsBadLines: Bool, tooManyNames: Int = NameTable.tooMany) {
        tables = NameTables(tooMany: tooManyNames)
        self.tooManyNames = tooManyNames
        self.parsers = parsers
        present = PresentColumns(of: parsers)
        self.skipsBadLines = skipsBadLines
        self.index = index
    }

    /// Whether a table has too many names.
    var isOverfull: Bool { tables.isOverfull || shownTables?.isOverfull ?? false }

    /// Parses the first bytes of `buffer`, and may overwrite them.
    ///
    /// - Parameters:
    ///   - source: The number of the source that the bytes are of.
    ///   - skip: The number of requests to skip at the start; their names are not numbered.
    ///   - lastTime: The earliest accepted time of the first request, in microseconds.
    mutating func parse(
        _ buffer: inout [UInt8], _ chunk: ChunkReader.Chunk, of source: Int, skip: Int = 0,
        after lastTime: Int64 = .min
    ) -> ChunkRows {
        if source != self.source {
            self.source = source
            scratch = nil
        }
        if chunk.isOversized { return oversized(buffer.prefix(chunk.count)) }
        let rows = scratch(for: buffer.count)
        rows.lastTime = lastTime
        var result = ChunkRows(worker: index, source: source)
        buffer.withUnsafeMutableBufferPointer { bytes in
            guard let base = bytes.baseAddress else { return }
            parser.parse(base, count: chunk.count, into: rows)
            if rows.count > 0, parser.present.contains(.times) { result.span = (rows.times[0], rows.lastTime) }
            result.shownCount = rows.shownCount
            if let (shown, before) = rows.takeShown(), !dropsShown {
                var tables = shownTables ?? NameTables(tooMany: tooManyNames)
                result.shown = ShownRows(shown, before: before, &tables, base: base)
                shownTables = tables
            }
            let rows = rows.spans.contains { $0 != 1 } ? rows.expandingSpans() : rows
            var repeats = rows.repeats
            let kept = ChunkWorker.rowsAfter(skip, of: rows.count, &repeats, skipped: &result.skipped)
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
            if parser.present.contains(.lifetimes) {
                result.lifetimes = Array(
                    UnsafeBufferPointer(start: rows.lifetimes + kept.lowerBound, count: kept.count))
            }
            if !repeats.isEmpty { result.expand(repeats[kept]) }
        }
        if present != parser.present { result.complete(to: present) }
        result.lines = rows.lines
        result.badLines = rows.badLines
        result.unansweredReads = rows.unansweredReads
        result.repeatedHeaders = rows.repeatedHeaders
        result.operations = rows.operations
        result.operationNames = rows.operationNames
        result.firstLine = rows.firstLine
        result.firstTimeColumn = rows.firstTimeColumn
        result.problem = rows.problem
        return result
    }

    /// Returns the rows that hold the requests after the first `skip`, and removes skipped requests from the repeats
    /// of the first of these rows.
    private static func rowsAfter(
        _ skip: Int, of count: Int, _ repeats: inout [UInt32], skipped: inout Int
    ) -> Range<Int> {
        if repeats.isEmpty {
            skipped = min(skip, count)
            return skipped..<count
        }
        var row = 0
        while row < count, Int(repeats[row]) <= skip - skipped {
            skipped += Int(repeats[row])
            row += 1
        }
        if row < count, skipped < skip {
            repeats[row] -= UInt32(skip - skipped)
            skipped = skip
        }
        return row..<count
    }

    /// Returns the result for a line that is longer than the limit.
    private func oversized(_ head: ArraySlice<UInt8>) -> ChunkRows {
        var result = ChunkRows(worker: index, source: source, lines: 1)
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

/// The requests of one chunk, with the name numbers of the worker that parsed it.
struct ChunkRows: Sendable {
    /// The worker whose name numbers these are.
    var worker = 0
    /// The number of the source that they are of.
    var source = 0
    var keys = NameColumn()
    /// Empty without times.
    var times = TimeColumn([])
    /// Sizes in bytes, 0 for unknown; empty without sizes.
    var sizes = SizeColumn.empty
    /// The numbers of whole category fields (`a|b` is one name); empty without categories.
    var categories = NameColumn()
    /// Empty without users.
    var users = NameColumn()
    /// Empty without lifetimes.
    var lifetimes: [UInt32] = []
    /// The hashes of the keys; empty unless ``ChunkWorker/wantsHashes``.
    var hashes: [UInt64] = []
    /// The number of requests skipped at the start.
    var skipped = 0
    var lines = 0
    var badLines = 0
    var unansweredReads = 0
    var repeatedHeaders = 0
    var operations = OperationTally()
    var operationNames = OperationNames()
    var firstLine = 0
    var firstTimeColumn: Int?
    /// The rows that were shown, which are no requests.
    var shown = ShownRows()
    /// The number of rows that were shown.
    var shownCount = 0
    /// The times of the first and the last row, skipped and shown ones included; `nil` without rows or times.
    var span: (first: Int64, last: Int64)?
    var problem: RowProblem?
    /// The error that ended the source after the chunks before this one.
    var failure: TraceError?

    var count: Int { keys.numbers.count }

    /// Adds sizes, categories and users that are unknown, for columns that only other sources have.
    mutating func complete(to present: PresentColumns) {
        let unknown = NameColumn(numbers: Array(repeating: NameTable.none, count: count))
        if present.contains(.sizes), sizes.isEmpty { sizes = .narrow(Array(repeating: 0, count: count)) }
        if present.contains(.categories), categories.numbers.isEmpty { categories = unknown }
        if present.contains(.users), users.numbers.isEmpty { users = unknown }
    }

    /// Repeats each request, so that it is made the given number of times, which is at least 1. O(requests after).
    mutating func expand(_ repeats: ArraySlice<UInt32>) {
        guard repeats.contains(where: { $0 != 1 }) else { return }
        func expanded<Element>(_ elements: some Collection<Element>) -> [Element] {
            var result: [Element] = []
            for (element, count) in zip(elements, repeats) {
                result.append(contentsOf: repeatElement(element, count: Int(count)))
            }
            return result
        }
        func expanded(_ column: NameColumn) -> NameColumn {
            if column.numbers.isEmpty { return column }
            var start: UInt32 = 0
            var starts: [UInt32] = []
            for count in repeats {
                starts.append(start)
                start += count
            }
            return NameColumn(numbers: expanded(column.numbers), firsts: column.firsts.map { starts[Int($0)] })
        }
        keys = expanded(keys)
        categories = expanded(categories)
        users = expanded(users)
        hashes = expanded(hashes)
        lifetimes = expanded(lifetimes)
        if !times.isEmpty { times = expanded(times).withUnsafeBufferPointer { TimeColumn(coarse: $0) } }
        if !sizes.isEmpty {
            let all = expanded((0..<sizes.count).map { sizes[$0] })
            sizes = all.withUnsafeBufferPointer { SizeColumn($0) }
        }
    }

    /// Removes all other requests.
    mutating func keep(_ range: Range<Int>) {
        keys = keys.kept(range)
        categories = categories.kept(range)
        users = users.kept(range)
        if !lifetimes.isEmpty { lifetimes = Array(lifetimes[range]) }
        if !times.isEmpty { times = TimeColumn(times[range].map { $0 }) }
        if !sizes.isEmpty { sizes = sizes.kept(range) }
    }
}

/// The rows of one chunk that were shown, with the name numbers of the worker that parsed it.
struct ShownRows: Sendable {
    /// The number of requests of the chunk before each row.
    var before: [UInt32] = []
    var keys: [UInt32] = []
    /// Empty without categories.
    var categories: [UInt32] = []
    /// Empty without users.
    var users: [UInt32] = []
    /// The ids of lists; ``NameTable/none`` without one.
    var lists: [UInt32] = []
    /// The places in the lists; `UInt32.max` is unknown.
    var ranks: [UInt32] = []
    /// Empty without times.
    var times: [Int64] = []
    /// Empty without sizes.
    var sizes: [UInt64] = []

    /// Creates no rows.
    init() {}

    /// Numbers the names of parsed rows.
    init(_ rows: RowScratch, before: [UInt32], _ tables: inout NameTables, base: UnsafePointer<UInt8>) {
        self.before = before
        let all = 0..<rows.count
        keys = tables.keys.intern(rows.keys, all, base: base).numbers
        lists = tables.lists.intern(rows.lists, all, base: base).numbers
        ranks = all.map { rows.ranks[$0] }
        if rows.present.contains(.categories) {
            categories = tables.categories.intern(rows.categories, all, base: base).numbers
        }
        if rows.present.contains(.users) { users = tables.users.intern(rows.users, all, base: base).numbers }
        if rows.present.contains(.times) { times = all.map { rows.times[$0] } }
        if rows.present.contains(.sizes) { sizes = all.map { rows.sizes[$0] } }
    }
}

/// The tables of names of one worker.
struct NameTables: Sendable {
    var keys: NameTable
    var categories: NameTable
    var users: NameTable
    /// The ids of lists; empty for requests.
    var lists: NameTable

    /// Creates empty tables that each accept less than `tooMany` names.
    init(tooMany: Int = NameTable.tooMany) {
        keys = NameTable(tooMany: tooMany)
        categories = NameTable(tooMany: tooMany)
        users = NameTable(tooMany: tooMany)
        lists = NameTable(tooMany: tooMany)
    }

    /// Whether a table has too many names.
    var isOverfull: Bool { keys.isOverfull || categories.isOverfull || users.isOverfull || lists.isOverfull }

    /// Throws an error if a table has too many names.
    func verify(_ path: String) throws(TraceError) {
        if keys.isOverfull { throw keys.fault("keys", path: path) }
        if categories.isOverfull { throw categories.fault("category fields", path: path) }
        if users.isOverfull { throw users.fault("users", path: path) }
        if lists.isOverfull { throw lists.fault("lists", path: path) }
    }
}

/// The sizes of a chunk's requests in bytes, stored in 4 bytes a request if that suffices.
enum SizeColumn: Sendable {
    case narrow([UInt32])
    case wide([UInt64])

    /// No sizes.
    static let empty = SizeColumn.narrow([])

    /// Stores sizes in the narrowest form that is exact.
    init(_ sizes: UnsafeBufferPointer<UInt64>) {
        if sizes.allSatisfy({ $0 <= UInt64(UInt32.max) }) {
            self = .narrow(sizes.map { UInt32(truncatingIfNeeded: $0) })
        } else {
            self = .wide(Array(sizes))
        }
    }

    var isEmpty: Bool { count == 0 }

    var count: Int {
        switch self {
        case .narrow(let sizes): sizes.count
        case .wide(let sizes): sizes.count
        }
    }

    subscript(row: Int) -> UInt64 {
        switch self {
        case .narrow(let sizes): UInt64(sizes[row])
        case .wide(let sizes): sizes[row]
        }
    }

    /// Returns only these rows.
    func kept(_ rows: Range<Int>) -> SizeColumn {
        switch self {
        case .narrow(let sizes): .narrow(Array(sizes[rows]))
        case .wide(let sizes): .wide(Array(sizes[rows]))
        }
    }
}
