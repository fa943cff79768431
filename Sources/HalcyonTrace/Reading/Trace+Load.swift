import Foundation

extension Trace {
    /// Reads a whole trace into memory, with all cores.
    ///
    /// Objects, users and categories are numbered in the order of their first request, whatever the number of threads.
    /// O(bytes) expected; beside the trace itself, its columns are held a second time while they are put together.
    ///
    /// - Throws: ``TraceError``, one sentence with file, line and column: for a file that is missing, a directory, empty,
    ///   truncated or damaged; for a missing column; for the first line that cannot be read, unless
    ///   ``LoadOptions/skipBadLines``; for a time before the one above it, unless ``LoadOptions/sort``; for requests that
    ///   ask for more than 2⁶² bytes together; and if no request is left.
    public static func load(_ path: String, _ options: LoadOptions = LoadOptions()) throws(TraceError) -> Trace {
        let opening = try TraceOpening(path, options)
        let place = RowPlace(opening)
        let present = opening.parser.present
        let notes = opening.notes
        let threads = max(1, options.threads ?? ProcessInfo.processInfo.activeProcessorCount)
        let end = options.limit.map { $0.addingReportingOverflow(options.skip) }.map {
            $0.overflow ? Int.max : $0.partialValue
        }
        let parsed = ParallelParser.run(
            opening, threads: threads, skipsBadLines: options.skipBadLines, wanted: options.sort ? nil : end)
        var assembler = TraceAssembler(parsed, present: present, options: options, place: place)
        assembler.report.heldTimes = notes.heldTimes.load(ordering: .relaxed)
        return try assembler.trace()
    }
}

/// Turns places in chunks into places in the file.
struct RowPlace: Sendable {
    let path: String
    let linesBefore: Int
    let isBinary: Bool
    let timeUnit: TimeUnit

    init(_ opening: TraceOpening) {
        path = opening.path
        linesBefore = opening.linesBefore
        isBinary = opening.isBinary
        timeUnit = opening.timeUnit
    }

    /// The error for a problem in a chunk before which there are so many lines.
    func error(_ problem: RowProblem, linesAbove: Int) -> TraceError {
        let number = linesBefore + linesAbove + problem.line + 1
        if isBinary {
            return TraceError(file: path, message: "record \(number): \(problem.message)")
        }
        return TraceError(file: path, line: number, column: problem.column, message: problem.message)
    }
}
