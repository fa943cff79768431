import Dispatch
import Synchronization

/// Reads a whole source with several threads.
///
/// Threads take chunks in turn; whoever takes one reads, and if need be unpacks, its bytes under a lock while the others
/// parse. Chunks are handed out in order, so when one has a problem all chunks before it get parsed too, and the first
/// problem in the file is the one that is found, whatever the threads' order.
struct ParallelParser {
    /// What has been parsed, in the order of the file.
    struct Result: Sendable {
        var chunks: [ChunkRows] = []
        var tables: [NameTables] = []
    }

    private struct Feed {
        var reader: ChunkReader
        var taken = 0
        var isDone = false
    }

    fileprivate struct Progress {
        var chunks: [ChunkRows?] = []
        var tables: [NameTables]
        /// The chunks parsed without a gap from the first on, and their requests.
        var complete = 0
        var requests = 0
    }

    /// Parses until the end, the first problem, or until `wanted` requests are there.
    static func run(_ opening: sending TraceOpening, threads: Int, skipsBadLines: Bool, wanted: Int?) -> Result {
        let parser = opening.parser
        let feed = Mutex(Feed(reader: opening.reader))
        let progress = Mutex(Progress(tables: Array(repeating: NameTables(), count: threads)))
        DispatchQueue.concurrentPerform(iterations: threads) { index in
            var worker = ChunkWorker(parser: parser, index: index, skipsBadLines: skipsBadLines)
            var buffer: [UInt8] = []
            while let (number, chunk) = take(feed, &buffer) {
                let rows: ChunkRows
                switch chunk {
                case .success(let chunk): rows = worker.parse(&buffer, chunk)
                case .failure(let error): rows = ChunkRows(failure: error)
                }
                let isEnough = progress.withLock { $0.add(rows, number, wanted) }
                if rows.problem != nil || isEnough { feed.withLock { $0.isDone = true } }
            }
            let tables = worker.tables
            progress.withLock { $0.tables[index] = tables }
        }
        return progress.withLock { Result(chunks: $0.chunks.compactMap { $0 }, tables: $0.tables) }
    }

    private static func take(
        _ feed: borrowing Mutex<Feed>, _ buffer: inout [UInt8]
    ) -> (Int, Swift.Result<ChunkReader.Chunk, TraceError>)? {
        feed.withLock { feed in
            if feed.isDone { return nil }
            defer { feed.taken += 1 }
            do throws(TraceError) {
                guard let chunk = try feed.reader.next(into: &buffer) else {
                    feed.isDone = true
                    return nil
                }
                return (feed.taken, .success(chunk))
            } catch {
                feed.isDone = true
                return (feed.taken, .failure(error))
            }
        }
    }
}

extension ParallelParser.Progress {
    /// Puts a chunk in its place and tells whether the requests without a gap suffice.
    fileprivate mutating func add(_ rows: ChunkRows, _ number: Int, _ wanted: Int?) -> Bool {
        while chunks.count <= number { chunks.append(nil) }
        chunks[number] = rows
        while complete < chunks.count, let next = chunks[complete] {
            requests += next.count
            complete += 1
        }
        return wanted.map { requests >= $0 } ?? false
    }
}
