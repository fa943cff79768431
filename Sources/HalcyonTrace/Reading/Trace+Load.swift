import HalcyonAccessLogReading
import Dispatch
import Foundation
import Synchronization

extension Trace {
    /// Reads a whole trace into memory, on all cores.
    ///
    /// Objects, users and categories are numbered in the order of their first request, for any number of threads.
    /// Expected O(bytes) time. Peak memory is twice the size of the columns, because they are copied when they are
    /// joined.
    ///
    /// - Throws: ``TraceError`` with file, line and column:
    ///   - for a file that is missing, a directory, empty, truncated or damaged;
    ///   - for a missing column;
    ///   - for the first line that cannot be parsed, unless ``TraceLoadOptions/skipBadLines`` is set;
    ///   - for a time before the one above it, unless ``TraceLoadOptions/sort`` is set;
    ///   - for requests with more than 2⁶² bytes together;
    ///   - for 2³² − 1 or more distinct keys, category fields or users;
    ///   - if no request is left.
    public static func load(_ path: String, _ options: TraceLoadOptions = TraceLoadOptions()) throws(TraceError)
        -> Trace
    {
        let sources = try TraceSources(path, options)
        let places = sources.places
        let notes = sources.openings.map(\.notes)
        let present = PresentColumns(of: sources.parsers)
        let columns = sources.openings[0].columns
        let parts = sources.parts
        let (format, isRecognized) = (sources.openings[0].format, sources.openings[0].isFormatRecognized)
        let threads = max(1, options.threads ?? ProcessInfo.processInfo.activeProcessorCount)
        let end = options.limit.map { $0.addingReportingOverflow(options.skip) }.map {
            $0.overflow ? Int.max : $0.partialValue
        }
        let parsed = ParallelParser.run(
            sources, threads: threads, options, wanted: options.sort ? nil : end)
        var assembler = TraceAssembler(parsed, present: present, options: options, places: places)
        assembler.report.columns = columns
        assembler.report.parts = parts
        assembler.report.preset = options.preset
        assembler.report.setFormat(format, isRecognized, options)
        assembler.report.heldTimes = notes.reduce(0) { $0 + $1.heldTimes.load(ordering: .relaxed) }
        var trace = try assembler.trace()
        if options.recording, format == .accessLog, options.continuations.isEmpty, !options.sort, options.skip == 0 {
            do throws(AccessLogError) { trace.recording = try TraceRecording(ofLog: path, for: trace) } catch {
                throw TraceError(error)
            }
        }
        return trace
    }
}

/// A parser that reads whole sources, one after the other, with several threads.
///
/// Threads take chunks in turn. A thread reads and decompresses its chunk under a lock while the others parse. Chunks
/// are taken in order, so all chunks before one with a problem are parsed as well. The reported problem is therefore
/// the first in the file, for any order of the threads.
struct ParallelParser {
    /// The parsed chunks, in the order of the file.
    struct Result: Sendable {
        var chunks: [ChunkRows] = []
        var tables: [NameTables] = []
        /// The names in rows that were shown, by worker.
        var shownTables: [NameTables?] = []
    }

    private struct Feed {
        var readers: [ChunkReader]
        var source = 0
        var taken = 0
        var isDone = false
    }

    private struct Progress {
        var chunks: [ChunkRows?] = []
        var tables: [NameTables]
        var shownTables: [NameTables?]
        /// The number of chunks parsed without a gap from the first on, and of their requests.
        var complete = 0
        var requests = 0

        /// Stores a chunk and returns whether there are at least `wanted` requests without a gap.
        mutating func add(_ rows: ChunkRows, _ number: Int, _ wanted: Int?) -> Bool {
            while chunks.count <= number { chunks.append(nil) }
            chunks[number] = rows
            while complete < chunks.count, let next = chunks[complete] {
                requests += next.count
                complete += 1
            }
            return wanted.map { requests >= $0 } ?? false
        }
    }

    /// Parses until the end, the first problem, or `wanted` requests.
    static func run(
        _ sources: sending TraceSources, threads: Int, _ options: TraceLoadOptions, wanted: Int?
    ) -> Result {
        let parsers = sources.parsers
        let feed = Mutex(Feed(readers: sources.openings.map(\.reader)))
        let progress = Mutex(
            Progress(
                tables: Array(repeating: NameTables(), count: threads),
                shownTables: Array(repeating: nil, count: threads)))
        DispatchQueue.concurrentPerform(iterations: threads) { index in
            var worker = ChunkWorker(
                parsers: parsers, index: index, skipsBadLines: options.skipBadLines, tooManyNames: options.tooManyNames)
            var buffer: [UInt8] = []
            while let (number, source, chunk) = take(feed, &buffer) {
                let rows: ChunkRows
                switch chunk {
                case .success(let chunk): rows = worker.parse(&buffer, chunk, of: source)
                case .failure(let error): rows = ChunkRows(source: source, failure: error)
                }
                let isEnough = progress.withLock { $0.add(rows, number, wanted) }
                if rows.problem != nil || isEnough || worker.isOverfull { feed.withLock { $0.isDone = true } }
            }
            let (tables, shownTables) = (worker.tables, worker.shownTables)
            progress.withLock {
                $0.tables[index] = tables
                $0.shownTables[index] = shownTables
            }
        }
        return progress.withLock {
            Result(chunks: $0.chunks.compactMap { $0 }, tables: $0.tables, shownTables: $0.shownTables)
        }
    }

    private static func take(
        _ feed: borrowing Mutex<Feed>, _ buffer: inout [UInt8]
    ) -> (number: Int, source: Int, chunk: Swift.Result<ChunkReader.Chunk, TraceError>)? {
        feed.withLock { feed in
            if feed.isDone { return nil }
            do throws(TraceError) {
                while feed.source < feed.readers.count {
                    if let chunk = try feed.readers[feed.source].next(into: &buffer) {
                        defer { feed.taken += 1 }
                        return (feed.taken, feed.source, .success(chunk))
                    }
                    feed.source += 1
                }
                feed.isDone = true
                return nil
            } catch {
                feed.isDone = true
                return (feed.taken, feed.source, .failure(error))
            }
        }
    }
}
