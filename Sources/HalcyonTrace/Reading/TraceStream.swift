import Foundation

/// A reader that returns a trace in batches, for traces larger than memory.
///
/// ```swift
/// var stream = try TraceStream("huge.oracleGeneral.zst")
/// var batch = StreamBatch()
/// while try stream.next(into: &batch) {
///     for index in batch.entries.indices { … }
/// }
/// ```
///
/// Objects, users and categories have the same numbers as in ``Trace/load(_:_:)``. Beside one batch, the stream holds
/// at most 64 bytes a distinct key. It also holds the text of keys that are not numbers, because it compares keys by
/// their bytes.
///
/// A stream differs from a loaded trace in what only the end of the source shows. An object without a known size has
/// size 1, and ``LoadReport/noSizes`` is correct only after the last batch. A stream has no lists: it leaves out the rows
/// that were shown and counts them in ``LoadReport/unreadItems``, because an object that is only shown is numbered after
/// the last one that is requested.
public struct TraceStream {
    /// The observations so far.
    public private(set) var report = LoadReport()
    /// The categories of each numbered set so far.
    public var categorySets: CategorySets { splitter.sets }
    /// The unit of sizes: bytes once a size has been read.
    public var sizeUnit: SizeUnit { sizes.unit }

    /// The names that ``TraceLoadOptions/names`` asks for, so far.
    public var names: TraceNames {
        var names = TraceNames()
        let tables = worker.tables
        if kinds.contains(.keys) { names.keys = tables.keys.names((0..<UInt32(tables.keys.count)).map { $0 }) }
        if kinds.contains(.users) { names.users = tables.users.names((0..<UInt32(tables.users.count)).map { $0 }) }
        names.categories = splitter.names
        return names
    }

    private let kinds: NameKinds
    private var sources: TraceSources
    private var source = 0
    private var worker: ChunkWorker
    private let places: [RowPlace]
    private let present: PresentColumns
    private var buffer: [UInt8] = []
    private var sizes: StreamSizes
    private var splitter = CategorySplitter()
    private var sets: [UInt32] = []
    private var toSkip: Int
    private var toGive: Int
    private var given = 0
    private var lines = 0
    private var lastTime = Int64.min
    private var operations: [OperationTally]
    private var operationNames = OperationNames()
    private var failure: TraceError?
    /// Whether no request of the present source was read, and it continues another one.
    private var isAtSeam = false
    /// The number of requests of each source.
    private var requestsOf: [Int]

    /// Opens a trace.
    ///
    /// - Throws: ``TraceError`` as ``Trace/load(_:_:)`` does, and if ``TraceLoadOptions/sort`` or
    ///   ``TraceLoadOptions/lifetimes`` is set, which need the whole trace.
    public init(_ path: String, _ options: TraceLoadOptions = TraceLoadOptions()) throws(TraceError) {
        if options.sort {
            throw TraceError(
                file: path, message: "a streamed trace cannot be sorted; load it, or sort the file")
        }
        if options.lifetimes {
            throw TraceError(file: path, message: "is streamed, and lifetimes (--use-ttl) need a loaded trace")
        }
        sources = try TraceSources(path, options)
        kinds = options.names
        places = sources.places
        operations = places.map { _ in OperationTally() }
        requestsOf = places.map { _ in 0 }
        present = PresentColumns(of: sources.parsers)
        worker = ChunkWorker(
            parsers: sources.parsers, index: 0, skipsBadLines: options.skipBadLines, tooManyNames: options.tooManyNames)
        worker.dropsShown = true
        sizes = StreamSizes(rule: options.sizes)
        worker.wantsHashes = sizes.needsHashes
        toSkip = max(options.skip, 0)
        toGive = max(options.limit ?? .max, 0)
        report.noTimes = !present.contains(.times)
        report.columns = sources.openings[0].columns
        report.parts = sources.parts
        report.preset = options.preset
        report.setFormat(sources.openings[0].format, sources.openings[0].isFormatRecognized, options)
    }

    /// Returns whether the trace at `path` can be streamed again from its beginning: whether it is a regular file.
    ///
    /// A pipe can be read only once. On Darwin a file under `/dev/fd` resumes where its last reader stopped, so it
    /// counts as a pipe.
    package static func canReadAgain(_ path: String) -> Bool {
        #if canImport(Darwin)
            if path.hasPrefix("/dev/") { return false }
        #endif
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }

    /// Replaces the content of `batch` with the next requests; returns `false` at the end.
    ///
    /// - Throws: ``TraceError`` if the source cannot be read further, after all requests before the fault were
    ///   returned; or if all requests so far have more than 2⁶² bytes, or 2³² − 1 distinct keys, category fields or
    ///   users.
    public mutating func next(into batch: inout StreamBatch) throws(TraceError) -> Bool {
        while toGive > 0 {
            if let failure { throw failure }
            guard let chunk = try sources.openings[source].reader.next(into: &buffer) else {
                if source == places.count - 1 { break }
                source += 1
                lines = 0
                isAtSeam = true
                continue
            }
            // The first time of a file is compared below, because the error names the file before it.
            var rows = worker.parse(
                &buffer, chunk, of: source, skip: toSkip, after: isAtSeam ? .min : lastTime)
            let place = places[source]
            try worker.tables.verify(place.path)
            if isAtSeam, let first = rows.span?.first {
                if first < lastTime {
                    let before = places[(0..<source).last { requestsOf[$0] > 0 } ?? 0].path
                    throw place.error(
                        place.seam(rows.firstLine, column: rows.firstTimeColumn, first, lastTime, of: before),
                        linesAbove: lines)
                }
                isAtSeam = false
            }
            toSkip -= rows.skipped
            requestsOf[source] += rows.count + rows.skipped
            if !report.parts.isEmpty { report.parts[source].requests = requestsOf[source] }
            if let problem = rows.problem { failure = place.error(problem, linesAbove: lines) }
            lines += rows.lines
            lastTime = rows.span?.last ?? lastTime
            report.badLines += rows.badLines
            report.unreadItems += rows.shownCount
            report.heldTimes = sources.heldTimes
            report.unansweredReads += rows.unansweredReads
            report.repeatedHeaders += rows.repeatedHeaders
            operations[source].add(rows.operations)
            operationNames.add(rows.operationNames)
            report.operations = OperationCount.joined(
                zip(operations, places).flatMap { $0.counts(named: $1.operations) } + operationNames.counts)
            if rows.count == 0 { continue }
            if rows.count > toGive { rows.keep(0..<toGive) }
            toGive -= rows.count
            fill(&batch, rows)
            if !sizes.sum.isAccepted { throw ByteSum.fault(places[0].path) }
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
        batch.categorySets = rows.categories.numbers.map { $0 == NameTable.none ? 0 : sets[Int($0)] }
    }
}

/// A batch of consecutive requests of a stream, in columns.
public struct StreamBatch: Sendable {
    /// The object of each request, numbered in order of first request.
    public package(set) var entries: [UInt32] = []
    /// The time of each request, in microseconds.
    public package(set) var times: [Int64] = []
    /// The size of each request, in the stream's ``TraceStream/sizeUnit``.
    public package(set) var sizes: [UInt64] = []
    /// The user of each request, ``Trace/noUser`` where unknown; empty without users.
    public package(set) var users: [UInt32] = []
    /// The category set of each request; empty without categories.
    public package(set) var categorySets: [UInt32] = []

    /// Creates an empty batch.
    public init() {}
}

/// The sizes of a stream's requests under a size rule.
struct StreamSizes {
    private let rule: SizeRule
    /// The size of each object, by its first request.
    private var objects: [UInt64] = []
    private var known = 0
    private var hasAny = false
    private(set) var disagreements = 0
    /// The sum of the sizes of all requests so far.
    private(set) var sum = ByteSum()

    init(rule: SizeRule) { self.rule = rule }

    /// Whether sizes are drawn from the keys' hashes.
    var needsHashes: Bool {
        if case .lognormal = rule { true } else { false }
    }

    var unknown: Int { objects.count - known }

    /// Whether the rule uses recorded sizes and none has been read.
    var areNone: Bool { (rule == .firstRequest || rule == .perRequest) && !hasAny }

    var unit: SizeUnit { rule == .unit || areNone ? .objects : .bytes }

    /// Replaces the content of `sizes` with the sizes of a chunk's requests.
    mutating func add(_ rows: ChunkRows, to sizes: inout [UInt64]) {
        sizes.removeAll(keepingCapacity: true)
        sizes.reserveCapacity(rows.count)
        switch rule {
        case .unit: sizes.append(contentsOf: repeatElement(1, count: rows.count))
        case .lognormal(let median, let sigma):
            for (entry, hash) in zip(rows.keys.numbers, rows.hashes) {
                if Int(entry) == objects.count {
                    objects.append(SizeRule.drawLognormal(hash: hash, median: median, sigma: sigma))
                }
                sizes.append(objects[Int(entry)])
            }
        case .firstRequest, .perRequest:
            for row in 0..<rows.count {
                let entry = Int(rows.keys.numbers[row])
                let size = rows.sizes.isEmpty ? 0 : rows.sizes[row]
                if entry == objects.count {
                    objects.append(max(size, 1))
                    if size > 0 { known += 1 }
                }
                let first = objects[entry]
                if size != 0 { hasAny = true }
                if size != 0, size != first { disagreements += 1 }
                sizes.append(rule == .firstRequest || size == 0 ? first : size)
            }
        }
        if rule != .unit { sum.add(sizes) }
    }
}
