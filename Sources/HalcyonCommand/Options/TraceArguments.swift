import ArgumentParser
import HalcyonSimulation
import HalcyonTrace

extension TraceFormat: ExpressibleByArgument {}
extension Compression: ExpressibleByArgument {}
extension TimeUnit: ExpressibleByArgument {}
extension TracePreset: ExpressibleByArgument {}
extension HeaderRule: ExpressibleByArgument {}

/// The trace and the options for reading it.
struct TraceArguments: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "The trace: CSV with a header, oracleGeneral, lcs, vSCSI, Twitter's text, or a form of --trace-format, plain, gzip, "
                + "zstd or xz; or an access log; - is standard input."))
    var trace: String

    @OptionGroup(title: "Reading") var reading: ReadingArguments

    /// The file to read.
    var path: String { ReadingArguments.path(of: trace) }

    /// The files to read, for ``CommandFiles``.
    var files: [(what: String, path: String?)] { reading.files(of: trace) }

    /// Returns the reader's options.
    func options(names: NameKinds) throws -> TraceLoadOptions { try reading.options(of: trace, names: names) }

    /// Runs `body`, and adds the name of the trace to errors in its data.
    func naming<Result>(_ body: () async throws -> Result) async throws -> Result {
        do { return try await body() } catch ReplayError.data(let sentence) {
            throw ReplayError.data("\(trace): \(sentence)")
        }
    }
}

/// The options for reading a trace.
struct ReadingArguments: ParsableArguments {
    /// Returns the file to read for a trace as the user named it: `-` is standard input.
    static func path(of trace: String) -> String { trace == "-" ? "/dev/stdin" : trace }

    /// Returns the reader's options for a trace as the user named it. Standard input is CSV by default.
    func options(of trace: String, names: NameKinds) throws -> TraceLoadOptions {
        var options = try options(names: names)
        if trace == "-", options.format == nil { options.format = .csv }
        if !then.isEmpty, trace == "-" || then.contains("-") {
            throw ReplayError.usage("--then joins files, and standard input is none: save it as a file.")
        }
        options.continuations = then
        return options
    }

    /// The files of a trace as the user named it, for ``CommandFiles``.
    func files(of trace: String) -> [(what: String, path: String?)] {
        ([Self.path(of: trace)] + then).map { ("trace", $0) }
    }

    @Option(
        help: "The format of a published trace: sets its columns, units, delimiter, categories and counted rows.")
    var preset: TracePreset?

    @Option(help: "The format of the trace; by default that of the file extension, or one that its first lines show.")
    var traceFormat: TraceFormat?

    @Option(help: "The compression of the trace; by default what the first bytes show.")
    var compression: Compression?

    @Option(
        help: "The character between the fields of a CSV; 'tab' for a tab. A run of spaces is one delimiter with ' '.")
    var delimiter: String?

    @Option(
        help: ArgumentHelp(
            "Names of columns that differ from the usual ones: key=item,time=ts,category=brand. With --header no, numbers from 1: "
                + "time=1,key=2,size=3.",
            valueName: "role=name,…"))
    var columns: String?

    @Option(
        help:
            "Whether the first line of a CSV is a header. 'auto' is yes, and refuses a header that looks like a request."
    )
    var header: HeaderRule = .auto

    @Option(help: "The unit of times in a CSV; by default s.")
    var timeUnit: TimeUnit?

    @Option(
        help: ArgumentHelp(
            "The size of the blocks that a line of arc, spc or msr requests: \(BlockRule.accepted); by default 512.",
            valueName: "bytes"))
    var blockSize: String?

    @Flag(help: "Count writes of spc, msr and objectStore as requests, too, instead of leaving them out.")
    var countWrites = false

    @Option(
        help: ArgumentHelp(
            "The rule for the sizes of objects: \(SizeRule.accepted).", valueName: "rule"))
    var sizes: String = "first"

    @Option(
        parsing: .upToNextOption,
        help: ArgumentHelp(
            "More files of the trace, in this order: one trace with one numbering of keys and users. Times go on from file to file.",
            valueName: "file"))
    var then: [String] = []

    @Flag(help: "Skip lines that cannot be read, and report their number.")
    var skipBadLines = false

    @Flag(help: "Sort requests by time instead of stopping at a decreasing time.")
    var sort = false

    /// Returns the reader's options.
    func options(names: NameKinds) throws -> TraceLoadOptions {
        var options = TraceLoadOptions()
        options.format = traceFormat
        options.compression = compression
        if let preset {
            if timeUnit != nil {
                throw ReplayError.usage("--preset \(preset.rawValue) gives the unit of times: leave out --time-unit.")
            }
            if let traceFormat, traceFormat != .csv, traceFormat != .twitter {
                throw ReplayError.usage(
                    "--preset \(preset.rawValue) reads text, not \(traceFormat.rawValue): leave out --trace-format.")
            }
        }
        options.preset = preset
        options.timeUnit = timeUnit ?? .seconds
        options.header = header
        options.skipBadLines = skipBadLines
        options.countsWrites = countWrites
        if let blockSize {
            guard let rule = BlockRule(argument: blockSize) else {
                throw ReplayError.usage("'\(blockSize)' is not a size of blocks: write \(BlockRule.accepted).")
            }
            options.blocks = rule
        }
        options.sort = sort
        options.names = names
        guard let rule = SizeRule(argument: sizes) else {
            throw ReplayError.usage("'\(sizes)' is not a rule for sizes: write \(SizeRule.accepted).")
        }
        options.sizes = rule
        if let delimiter {
            guard let byte = TraceLoadOptions.delimiter(named: delimiter) else {
                throw ReplayError.usage("'\(delimiter)' is not a delimiter: write one ASCII character, or tab.")
            }
            options.delimiter = byte
        }
        if let columns {
            do { options.columns = try ColumnNames(parsing: columns) } catch {
                throw ReplayError.usage(error.description)
            }
        }
        return options
    }
}
