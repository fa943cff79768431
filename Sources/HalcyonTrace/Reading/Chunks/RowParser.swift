/// A parser of the chunks of one source.
protocol RowParser: Sendable {
    /// The columns of the source beside keys.
    var present: PresentColumns { get }
    /// The number of bytes of the shortest request.
    var shortestRow: Int { get }
    /// Parses `count` bytes up to the first problem, and may overwrite them.
    func parse(_ bytes: UnsafeMutablePointer<UInt8>, count: Int, into rows: RowScratch)
}

/// The requests of one chunk while it is being parsed, in columns.
///
/// One thread owns it and reuses it for all its chunks, so parsing does not allocate.
final class RowScratch {
    /// The columns of the source.
    let present: PresentColumns
    let capacity: Int
    let keys: TokenColumn
    let categories: TokenColumn
    let users: TokenColumn
    /// The times in microseconds.
    let times: UnsafeMutablePointer<Int64>
    /// The sizes in bytes; 0 is unknown.
    let sizes: UnsafeMutablePointer<UInt64>
    /// The lifetimes in seconds; 0 is none.
    let lifetimes: UnsafeMutablePointer<UInt32>
    /// Whether each row was shown and is no request.
    let isShown: UnsafeMutablePointer<Bool>
    /// The place in its list of each row that was shown; `UInt32.max` is unknown.
    let ranks: UnsafeMutablePointer<UInt32>
    /// The ids of lists.
    let lists: TokenColumn

    /// The number of requests parsed so far, and of rows that were shown until ``takeShown()``.
    var count = 0
    /// The number of those rows that were shown.
    var shownCount = 0
    /// The number of lines or records parsed so far.
    var lines = 0
    /// The number of skipped lines.
    var badLines = 0
    /// The number of skipped requests of a Twitter trace.
    var unansweredReads = 0
    /// The number of skipped lines that repeat the header.
    var repeatedHeaders = 0
    /// The rows by operation, of a source with operations.
    var operations = OperationTally()
    /// The rows by the text of their operation, of a CSV that has a column of them.
    var operationNames = OperationNames()
    /// The number of times that each request is made; empty if each is made once.
    var repeats: [UInt32] = []
    /// The number of requests for consecutive keys that each row stands for; empty if each is one.
    var spans: [UInt32] = []
    /// The time of the last request, in microseconds.
    var lastTime = Int64.min
    /// Whether to skip this row.
    var dropsRow = false
    /// The line of the first request in this chunk.
    var firstLine = 0
    /// The position in its line of the first request's time.
    var firstTimeColumn: Int?
    /// The problem that ended the parsing.
    var problem: RowProblem?

    init(capacity: Int, present: PresentColumns) {
        self.present = present
        self.capacity = capacity
        keys = TokenColumn(capacity: capacity)
        categories = TokenColumn(capacity: present.contains(.categories) ? capacity : 0)
        users = TokenColumn(capacity: present.contains(.users) ? capacity : 0)
        times = .allocate(capacity: present.contains(.times) ? capacity : 0)
        sizes = .allocate(capacity: present.contains(.sizes) ? capacity : 0)
        lifetimes = .allocate(capacity: present.contains(.lifetimes) ? capacity : 0)
        let shown = present.contains(.lists) ? capacity : 0
        isShown = .allocate(capacity: shown)
        ranks = .allocate(capacity: shown)
        lists = TokenColumn(capacity: shown)
    }

    deinit {
        times.deallocate()
        sizes.deallocate()
        lifetimes.deallocate()
        isShown.deallocate()
        ranks.deallocate()
    }

    /// Counts the row that was just filled, unless it is to be skipped.
    @inline(__always)
    func commit() {
        if dropsRow {
            dropsRow = false
            return
        }
        if count == 0 { firstLine = lines }
        if present.contains(.times) { lastTime = times[count] }
        if present.contains(.lists), isShown[count] { shownCount += 1 }
        count += 1
    }

    /// Moves the rows that were shown out of the requests. O(rows).
    ///
    /// - Returns: these rows, and the number of requests before each of them; `nil` if there is none.
    func takeShown() -> (rows: RowScratch, before: [UInt32])? {
        guard shownCount > 0 else { return nil }
        let shown = RowScratch(capacity: shownCount, present: present)
        var before: [UInt32] = []
        var requests = 0
        for row in 0..<count {
            if isShown[row] {
                copy(row, to: shown, at: before.count)
                before.append(UInt32(requests))
            } else {
                if requests < row { copy(row, to: self, at: requests) }
                requests += 1
            }
        }
        shown.count = shownCount
        count = requests
        shownCount = 0
        return (shown, before)
    }

    private func copy(_ row: Int, to target: RowScratch, at place: Int) {
        target.keys.set(place, to: keys, row)
        if present.contains(.categories) { target.categories.set(place, to: categories, row) }
        if present.contains(.users) { target.users.set(place, to: users, row) }
        if present.contains(.times) { target.times[place] = times[row] }
        if present.contains(.sizes) { target.sizes[place] = sizes[row] }
        if present.contains(.lifetimes) { target.lifetimes[place] = lifetimes[row] }
        target.ranks[place] = ranks[row]
        target.lists.set(place, to: lists, row)
    }

    /// Resets the counts for another chunk.
    func reset() {
        count = 0
        shownCount = 0
        lines = 0
        badLines = 0
        unansweredReads = 0
        repeatedHeaders = 0
        operations.reset()
        operationNames = OperationNames()
        repeats.removeAll(keepingCapacity: true)
        spans.removeAll(keepingCapacity: true)
        lastTime = .min
        dropsRow = false
        firstLine = 0
        firstTimeColumn = nil
        problem = nil
    }
}

/// A set of columns beside keys.
struct PresentColumns: OptionSet, Sendable {
    /// Creates the set of the columns that any parser has.
    init(of parsers: [any RowParser]) { self = parsers.reduce([]) { $0.union($1.present) } }

    init(rawValue: Int) { self.rawValue = rawValue }

    let rawValue: Int
    static let times = PresentColumns(rawValue: 1)
    static let sizes = PresentColumns(rawValue: 2)
    static let categories = PresentColumns(rawValue: 4)
    static let users = PresentColumns(rawValue: 8)
    static let lifetimes = PresentColumns(rawValue: 16)
    /// The events of rows: some were shown.
    static let lists = PresentColumns(rawValue: 32)
}

/// A fault in a line or record.
struct RowProblem: Error, Sendable, Equatable {
    /// The line or record, counted from 0 in the chunk.
    var line: Int
    /// The byte in the line, counted from 1; `nil` for the whole line.
    var column: Int?
    /// The sentence that states what was found and what is accepted.
    var message: String

    /// Returns the problem of a request whose time is before that of the request above it, both in microseconds.
    ///
    /// - Parameter before: the request above it.
    static func backwards(
        _ line: Int, column: Int?, _ time: Int64, _ last: Int64, _ unit: TimeUnit,
        before: String = "the request above it"
    ) -> RowProblem {
        RowProblem(
            line: line, column: column,
            message:
                "time \(unit.text(time)) is before \(unit.text(last)), the time of \(before); times must "
                + "not decrease unless sorting is enabled (--sort)")
    }
}

extension TimeUnit {
    /// Returns microseconds written in this unit.
    fileprivate func text(_ microseconds: Int64) -> String {
        let scale = decimals == 6 ? 1_000_000 : decimals == 3 ? 1_000 : 1
        if self == .nanoseconds { return "\(microseconds)000 ns" }
        let (whole, part) = microseconds.magnitude.quotientAndRemainder(dividingBy: UInt64(scale))
        let sign = microseconds < 0 ? "-" : ""
        if part == 0 { return "\(sign)\(whole) \(rawValue)" }
        var fraction = String(String(scale + Int(part)).dropFirst())
        while fraction.last == "0" { fraction.removeLast() }
        return "\(sign)\(whole).\(fraction) \(rawValue)"
    }
}
