import Foundation

/// A trace that is read piece by piece, for traces larger than memory.
///
/// ```swift
/// var stream = try TraceStream("huge.oracleGeneral.zst")
/// var batch = StreamBatch()
/// while try stream.next(into: &batch) {
///     for index in batch.entries.indices { … }
/// }
/// ```
///
/// Numbers are those that ``Trace/load(_:_:)`` would give. Beside one piece, the stream holds at most 64 bytes a distinct
/// key, and the text of keys that are no numbers, because two keys are only the same if their bytes are.
///
/// What can only be known at the end is different from a loaded trace: where no size is known an object still sizes 1,
/// and ``LoadReport/noSizes`` is right once the last piece has been read.
public struct TraceStream {
    /// What was noticed so far.
    public private(set) var report = LoadReport()
    /// What the numbers of category sets mean, so far.
    public var categorySets: CategorySets { splitter.sets }
    /// What sizes count: bytes as soon as a size was met.
    public var sizeUnit: SizeUnit { sizes.unit }

    /// The names that ``LoadOptions/names`` asks for, so far.
    public var names: TraceNames {
        var names = TraceNames()
        let tables = worker.tables
        if kinds.contains(.keys) { names.keys = tables.keys.names((0..<UInt32(tables.keys.count)).map { $0 }) }
        if kinds.contains(.users) { names.users = tables.users.names((0..<UInt32(tables.users.count)).map { $0 }) }
        names.categories = splitter.names
        return names
    }

    private let kinds: NameKinds
    private var reader: ChunkReader
    private var worker: ChunkWorker
    private let place: RowPlace
    private let notes: SourceNotes
    private let present: PresentColumns
    private var buffer: [UInt8] = []
    private var sizes: StreamCosts
    private var splitter = CategorySplitter()
    private var sets: [UInt32] = []
    private var toSkip: Int
    private var toGive: Int
    private var given = 0
    private var lines = 0
    private var lastTime = Int64.min
    private var failure: TraceError?

    /// Opens a trace.
    ///
    /// - Throws: ``TraceError`` as ``Trace/load(_:_:)`` does, and if sorting is asked for, which needs the whole trace.
    public init(_ path: String, _ options: LoadOptions = LoadOptions()) throws(TraceError) {
        if options.sort {
            throw TraceError(
                file: path, message: "a trace that is streamed cannot be sorted; load it, or sort the file")
        }
        let opening = try TraceOpening(path, options)
        kinds = options.names
        place = RowPlace(opening)
        present = opening.parser.present
        notes = opening.notes
        reader = opening.reader
        worker = ChunkWorker(parser: opening.parser, index: 0, skipsBadLines: options.skipBadLines)
        sizes = StreamCosts(rule: options.sizes)
        worker.wantsHashes = sizes.needsHashes
        toSkip = max(options.skip, 0)
        toGive = max(options.limit ?? .max, 0)
        report.noTimes = !present.contains(.times)
    }

    /// Whether the trace at `path` can be streamed again from its beginning: whether it is a regular file. A pipe can be
    /// read only once. On Darwin a file under `/dev/fd` goes on where its last reader stopped, so it counts as a pipe.
    public static func canReadAgain(_ path: String) -> Bool {
        #if canImport(Darwin)
            if path.hasPrefix("/dev/") { return false }
        #endif
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }

    /// Puts the next requests into `batch`, whatever it held, and tells whether there are any.
    ///
    /// - Throws: ``TraceError`` where the source cannot be read further, whose requests before have then been given, and where
    ///   all requests so far ask for more than 2⁶² bytes.
    public mutating func next(into batch: inout StreamBatch) throws(TraceError) -> Bool {
        while toGive > 0 {
            if let failure { throw failure }
            guard let chunk = try reader.next(into: &buffer) else { break }
            var rows = worker.parse(&buffer, chunk, skip: toSkip, after: lastTime)
            toSkip -= rows.skipped
            if let problem = rows.problem { failure = place.error(problem, linesAbove: lines) }
            lines += rows.lines
            lastTime = rows.times.last ?? lastTime
            report.badLines += rows.badLines
            report.heldTimes = notes.heldTimes.load(ordering: .relaxed)
            report.unansweredReads += rows.unansweredReads
            if rows.count == 0 { continue }
            if rows.count > toGive { rows.keep(0..<toGive) }
            toGive -= rows.count
            fill(&batch, rows)
            if !sizes.sum.isAccepted { throw ByteSum.fault(place.path) }
            return true
        }
        report.noSizes = sizes.areNone
        return false
    }

    private mutating func fill(_ batch: inout StreamBatch, _ rows: ChunkRows) {
        batch.entries = rows.keys.numbers
        batch.times = Array(rows.times)
        if rows.times.isEmpty { batch.times = (given..<(given + rows.count)).map { Int64($0) * 1_000_000 } }
        given += rows.count
        sizes.add(rows, to: &batch.sizes)
        report.sizeDisagreements = sizes.disagreements
        report.unknownSizes = sizes.areNone ? 0 : sizes.unknown
        batch.users = rows.users.numbers
        let fields = worker.tables.categories
        if sets.count < fields.count {
            let names = fields.names((UInt32(sets.count)..<UInt32(fields.count)).map { $0 })
            for name in 0..<names.count { sets.append(splitter.set(of: names.utf8(UInt32(name)))) }
        }
        let sets = sets
        batch.categorySets = rows.categories.numbers.map { $0 == KeyTable.none ? 0 : sets[Int($0)] }
    }
}

/// Consecutive requests of a stream, in columns.
public struct StreamBatch: Sendable {
    /// The object of each request, numbered in order of first request.
    public internal(set) var entries: [UInt32] = []
    /// The time of each request, in microseconds.
    public internal(set) var times: [Int64] = []
    /// The size of each request, in the stream's ``TraceStream/sizeUnit``.
    public internal(set) var sizes: [UInt64] = []
    /// The user of each request, ``Trace/noUser`` where unknown; empty without users.
    public internal(set) var users: [UInt32] = []
    /// The category set of each request; empty without categories.
    public internal(set) var categorySets: [UInt32] = []

    /// No requests.
    public init() {}
}
