import Synchronization

/// An opened source whose header has been read, with the reader of its chunks and their parser.
struct TraceOpening {
    var reader: ChunkReader
    let parser: any RowParser
    /// The number of lines before the first chunk.
    let linesBefore: Int
    /// Whether messages name a record instead of a line.
    let isBinary: Bool
    let path: String
    /// The unit of the source's times.
    let timeUnit: TimeUnit
    /// The observations of the source while it is read.
    let notes = SourceNotes()
    /// The columns of a CSV; empty for other formats.
    private(set) var columns = ColumnUse()
    /// The names of the source's operations; empty if it has none.
    private(set) var operations: [String] = []
    /// The format; `nil` with a preset.
    private(set) var format: TraceFormat?
    /// Whether the first lines showed the format.
    private(set) var isFormatRecognized = false

    /// Opens a trace. Throws an error if the file cannot be read, is empty, or has no valid header.
    init(_ path: String, _ options: TraceLoadOptions) throws(TraceError) {
        if options.header != .auto, options.preset != nil || (options.format ?? TraceFormat(path: path) ?? .csv) != .csv
        {
            let reader = options.preset.map { "the preset \($0.rawValue)" } ?? "this format"
            throw TraceError(
                file: path, message: "\(reader) decides whether there is a header: leave out --header, which is for CSV"
            )
        }
        if let preset = options.preset {
            try self.init(published: preset, path, options)
        } else {
            try self.init(formatted: path, options)
        }
        guard !options.lifetimes || parser.present.contains(.lifetimes) else {
            throw TraceError(
                file: path,
                message:
                    "has no lifetimes, which --use-ttl needs; a CSV with a column ttl, Twitter's text, lcs from version 3 and the "
                    + "presets meta-kv and twitter have them")
        }
    }

    /// Opens a trace of any format.
    private init(formatted path: String, _ options: TraceLoadOptions) throws(TraceError) {
        self.path = path
        let named = options.format ?? TraceFormat(path: path)
        let log = named == .accessLog ? try AccessLogSource(path: path, options, notes) : nil
        let source: any ByteSource =
            if let log { log } else { try openSource(path, format: named, compression: options.compression) }
        // A line can request many blocks: small chunks keep what one of them requests small.
        let target = named?.hasBlocks ?? true ? max(options.chunkBytes / 16, 1) : options.chunkBytes
        reader = ChunkReader(source: source, path: path, target: target)
        if try reader.peek(1).isEmpty, named != .accessLog {
            throw TraceError(file: path, message: "is empty; a trace has at least one request")
        }
        var shown: TraceFormat?
        let isPlain = options.columns == ColumnNames() && options.header == .auto && options.delimiter == nil
        if options.format == nil, isPlain, named == nil || named == .csv {
            shown = FormatRecognition.format(ofFirst: try reader.peek(FormatRecognition.bytes))
        }
        // Only a CSV can have a header.
        guard let format = shown ?? named ?? (options.header == .auto ? nil : .csv) else {
            let known = TraceFormat.allCases.map(\.rawValue).joined(separator: ", ")
            throw TraceError(
                file: path,
                message: "neither the name nor the first lines show the format; give one of \(known)")
        }
        self.format = format
        isFormatRecognized = shown != nil
        try TraceOpening.verify(options, for: format, path)
        isBinary = format.isBinary
        switch format {
        case .csv, .twitter, .lrb: timeUnit = options.timeUnit
        case .oracleGeneral, .accessLog, .lcs, .arc, .lirs, .spc, .msr, .address: timeUnit = .seconds
        case .int32, .int32be, .int64, .int64be: timeUnit = .seconds
        case .objectStore: timeUnit = .milliseconds
        case .vscsi: timeUnit = .microseconds
        }
        if !isBinary, try reader.peek(3).elementsEqual([0xef, 0xbb, 0xbf]) { reader.drop(3) }
        switch format {
        case .csv:
            let delimiter = try TraceOpening.delimiter(options, path)
            let line: [UInt8]
            if options.header == .no {
                let first = try reader.peekLine()
                line = first.line
                linesBefore = first.emptyLines
                if line.isEmpty { throw TraceError(file: path, message: "holds no request") }
            } else {
                line = try reader.takeLine() ?? []
                linesBefore = 1
            }
            let lineNumber = options.header == .no ? linesBefore + 1 : 1
            if let byte = line.first(where: { $0 < 32 && $0 != 9 }) {
                throw TraceError(
                    file: path, line: lineNumber,
                    message: "\(quoted(line)) contains the control byte \(byte); this is not a CSV")
            }
            let header = CSVHeader(
                line: line, delimiter: delimiter, path: path, rule: options.header, lineNumber: lineNumber)
            let roles = try header.roles(options.columns, wantsLifetimes: options.lifetimes)
            columns = header.use(of: roles)
            parser = CSVRowParser(
                roles: roles, delimiter: delimiter, options: options, timeUnit: options.timeUnit,
                hasHeader: options.header != .no)
        case .twitter:
            // timestamp, anonymized key, key size, value size, client, operation, time to live
            parser = CSVRowParser(
                roles: [
                    .time, .key, .size, .valueSize, .user, .operation, options.lifetimes ? .lifetime : .ignored,
                ],
                delimiter: try TraceOpening.delimiter(options, path), options: options, timeUnit: options.timeUnit)
            operations = TracePreset.twitter.operations.map(\.name)
            linesBefore = 0
        case .accessLog:
            parser = CSVRowParser(
                roles: log?.roles ?? [], delimiter: UInt8(ascii: ","), options: options, timeUnit: timeUnit)
            linesBefore = 0
        case .oracleGeneral:
            if options.format == nil {
                let head = try reader.peek(OracleGeneralParser.checkedRecords * OracleGeneralParser.recordBytes)
                try OracleGeneralParser.verify(head, path: path)
            }
            parser = OracleGeneralParser(sorts: options.sort)
            reader.framing = .records(OracleGeneralParser.recordBytes)
            linesBefore = 0
        case .vscsi:
            guard let vscsi = VSCSIParser(head: Array(try reader.peek(VSCSIParser.headBytes)), sorts: options.sort)
            else {
                throw TraceError(
                    file: path, message: "the first records are of neither version 1 nor 2 of vSCSI traces")
            }
            parser = vscsi
            operations = VSCSIParser.operations
            reader.framing = .records(vscsi.recordBytes)
            linesBefore = 0
        case .lcs:
            let header = try LCSHeader(try reader.peek(LCSHeader.bytes), path: path)
            let lcs = try LCSParser(header, options, path: path)
            parser = lcs
            columns = lcs.use
            operations = header.version >= 2 ? LCSParser.operations : []
            reader.drop(LCSHeader.bytes)
            reader.framing = .records(header.recordBytes)
            reader.extent = ChunkReader.RecordExtent(start: LCSHeader.bytes, count: header.requests)
            linesBefore = 0
        case .lrb:
            parser = LineParser(LRBLayout(timeUnit: options.timeUnit, sorts: options.sort), options)
            linesBefore = 0
        case .arc:
            parser = LineParser(ARCLayout(options), options)
            linesBefore = 0
        case .lirs:
            parser = LineParser(LIRSLayout(), options)
            linesBefore = 0
        case .spc:
            parser = LineParser(SPCLayout(options), options)
            operations = BlockRequests.operations
            linesBefore = 0
        case .msr:
            parser = LineParser(MSRLayout(options), options)
            operations = BlockRequests.operations
            linesBefore = 0
        case .objectStore:
            parser = LineParser(
                ObjectStoreLayout(countsWrites: options.countsWrites, sorts: options.sort), options)
            operations = ObjectStoreLayout.operations
            linesBefore = 0
        case .address:
            parser = LineParser(AddressLayout(), options)
            linesBefore = 0
        case .int32, .int32be, .int64, .int64be:
            let integers = IntegerParser(
                recordBytes: format == .int32 || format == .int32be ? 4 : 8,
                isBigEndian: format == .int32be || format == .int64be)
            parser = integers
            reader.framing = .records(integers.recordBytes)
            linesBefore = 0
        }
    }

    /// Throws an error if an option does not apply to the format.
    private static func verify(_ options: TraceLoadOptions, for format: TraceFormat?, _ path: String) throws(TraceError)
    {
        func names(_ applies: (TraceFormat) -> Bool) -> String {
            TraceFormat.allCases.filter(applies).map(\.rawValue).joined(separator: ", ")
        }
        if let format, format.rule(options) != nil, options.columns != ColumnNames() || options.delimiter != nil {
            throw TraceError(
                file: path,
                message:
                    "the fields of \(format.rawValue) are fixed; leave out --columns and --delimiter, or read it as csv"
            )
        }
        let what = format.map { "the format is \($0.rawValue)" } ?? "a preset is used"
        if options.blocks != nil, format?.hasBlocks != true {
            throw TraceError(
                file: path,
                message: "\(what), but blocks can be chosen for \(names(\.hasBlocks)); leave out --block-size")
        }
        if options.countsWrites, format?.leavesWritesOut != true {
            throw TraceError(
                file: path,
                message:
                    "\(what), but writes are left out of \(names(\.leavesWritesOut)) only; leave out --count-writes")
        }
    }

    /// Opens a published trace.
    private init(published preset: TracePreset, _ path: String, _ options: TraceLoadOptions) throws(TraceError) {
        self.path = path
        let format = options.format ?? TraceFormat(path: path) ?? .csv
        guard format == .csv || format == .twitter else {
            throw TraceError(
                file: path,
                message:
                    "the format is \(format.rawValue), but the preset \(preset.rawValue) reads text; leave out the "
                    + "preset")
        }
        try TraceOpening.verify(options, for: nil, path)
        isBinary = false
        timeUnit = .seconds
        let source = try openSource(path, format: .csv, compression: options.compression)
        reader = ChunkReader(source: source, path: path, target: options.chunkBytes)
        if try reader.peek(1).isEmpty {
            throw TraceError(file: path, message: "is empty; a trace has at least one request")
        }
        if try reader.peek(4).elementsEqual("PAR1".utf8) {
            throw TraceError(
                file: path, message: "is parquet, which is not read; export it as CSV with the same column names first")
        }
        if try reader.peek(3).elementsEqual([0xef, 0xbb, 0xbf]) { reader.drop(3) }
        var line: [UInt8] = []
        let names: [String]
        let delimiter: UInt8
        if let known = preset.fieldNames {
            names = known
            let head = try reader.peek(1 << 12)
            delimiter = try TraceOpening.delimiter(options, path, preset.delimiter(head.prefix { $0 != 10 }))
            linesBefore = 0
        } else {
            line = try reader.takeLine() ?? []
            delimiter = try TraceOpening.delimiter(options, path, preset.delimiter(line))
            names = CSVHeader(line: line, delimiter: delimiter, path: path).names
            linesBefore = 1
        }
        let places = try PresetFields(preset, names: names, wanted: options.columns, path: path)
        columns = places.use
        operations = preset.operations.map(\.name)
        let lifetime = options.lifetimes ? names.firstIndex(of: "ttl") : nil
        parser = PresetRowParser(
            places, header: line, delimiter: delimiter, options: options, lifetime: lifetime)
    }

    private static func delimiter(
        _ options: TraceLoadOptions, _ path: String, _ usual: UInt8? = nil
    ) throws(TraceError) -> UInt8 {
        let delimiter = options.delimiter ?? usual ?? (FileName.parts(of: path).contains("tsv") ? 9 : UInt8(ascii: ","))
        guard delimiter != 10, delimiter != 13, delimiter != UInt8(ascii: "\""), delimiter != 0 else {
            throw TraceError(file: path, message: "a line break, a quote or NUL cannot be the delimiter")
        }
        return delimiter
    }
}

/// The observations of a byte source, which threads read in turn.
final class SourceNotes: Sendable {
    /// The number of accesses for ``LoadReport/heldTimes``.
    let heldTimes = Atomic<Int>(0)
}

/// The opened sources of a trace, in order.
struct TraceSources {
    var openings: [TraceOpening] = []

    /// Opens the files of a trace.
    ///
    /// - Throws: ``TraceError`` as the initializer of ``TraceOpening`` does, and if only some of the files have times.
    init(_ path: String, _ options: TraceLoadOptions) throws(TraceError) {
        for path in [path] + options.continuations { openings.append(try TraceOpening(path, options)) }
        let hasTimes = openings.map { $0.parser.present.contains(.times) }
        if let other = hasTimes.firstIndex(of: !hasTimes[0]) {
            throw TraceError(
                file: openings[other].path,
                message: "has \(hasTimes[other] ? "times" : "no times"), and \(path), which it continues, has "
                    + "\(hasTimes[0] ? "some" : "none"); either all files of a trace have times or none")
        }
    }

    /// The parser of each source.
    var parsers: [any RowParser] { openings.map(\.parser) }

    /// The places of each source.
    var places: [RowPlace] { openings.map(RowPlace.init) }

    /// The number of accesses for ``LoadReport/heldTimes``, so far.
    var heldTimes: Int { openings.reduce(0) { $0 + $1.notes.heldTimes.load(ordering: .relaxed) } }

    /// The files with their columns, if there are several.
    var parts: [TracePart] {
        openings.count == 1 ? [] : openings.map { TracePart(path: $0.path, requests: 0, columns: $0.columns) }
    }
}

/// A converter from places in chunks to places in the file.
struct RowPlace: Sendable {
    let path: String
    let linesBefore: Int
    let isBinary: Bool
    let timeUnit: TimeUnit
    /// The names of the source's operations.
    let operations: [String]

    init(_ opening: TraceOpening) {
        path = opening.path
        linesBefore = opening.linesBefore
        isBinary = opening.isBinary
        timeUnit = opening.timeUnit
        operations = opening.operations
    }

    /// Returns the problem of the first request of a file whose time is before the last one of the file that it
    /// continues.
    func seam(_ line: Int, column: Int?, _ time: Int64, _ last: Int64, of path: String) -> RowProblem {
        .backwards(line, column: column, time, last, timeUnit, before: "the last request of \(path)")
    }

    /// Returns the error for a problem in a chunk that starts after `linesAbove` lines.
    func error(_ problem: RowProblem, linesAbove: Int) -> TraceError {
        let number = linesBefore + linesAbove + problem.line + 1
        if isBinary {
            return TraceError(file: path, message: "record \(number): \(problem.message)")
        }
        return TraceError(file: path, line: number, column: problem.column, message: problem.message)
    }
}
