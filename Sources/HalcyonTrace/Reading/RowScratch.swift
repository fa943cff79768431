/// The requests of one chunk while it is being parsed, in columns.
///
/// One thread owns it and uses it for all its chunks, so that parsing does not allocate.
final class RowScratch {
    /// The columns that the source has.
    let present: PresentColumns
    let capacity: Int
    let keys: TokenColumn
    let categories: TokenColumn
    let users: TokenColumn
    /// Microseconds.
    let times: UnsafeMutablePointer<Int64>
    /// Bytes; 0 is unknown.
    let sizes: UnsafeMutablePointer<UInt64>

    /// The requests parsed so far.
    var count = 0
    /// The lines, or records, gone through so far.
    var lines = 0
    /// The lines left out.
    var badLines = 0
    /// The requests that a Twitter trace's reader leaves out.
    var unansweredReads = 0
    /// The time of the last request, in microseconds.
    var lastTime = Int64.min
    /// Whether the row being read is none to count.
    var dropsRow = false
    /// The line in this chunk of the first request.
    var firstLine = 0
    /// The byte in its line at which the first request's time starts.
    var firstTimeColumn: Int?
    /// What stopped the parsing.
    var problem: RowProblem?

    init(capacity: Int, present: PresentColumns) {
        self.present = present
        self.capacity = capacity
        keys = TokenColumn(capacity: capacity)
        categories = TokenColumn(capacity: present.contains(.categories) ? capacity : 0)
        users = TokenColumn(capacity: present.contains(.users) ? capacity : 0)
        times = .allocate(capacity: present.contains(.times) ? capacity : 0)
        sizes = .allocate(capacity: present.contains(.sizes) ? capacity : 0)
    }

    deinit {
        times.deallocate()
        sizes.deallocate()
    }

    /// Counts the row that has just been filled.
    @inline(__always)
    func commit() {
        if dropsRow {
            dropsRow = false
            unansweredReads += 1
            return
        }
        if count == 0 { firstLine = lines }
        if present.contains(.times) { lastTime = times[count] }
        count += 1
    }

    /// Makes ready for another chunk.
    func reset() {
        count = 0
        lines = 0
        badLines = 0
        unansweredReads = 0
        lastTime = .min
        dropsRow = false
        firstLine = 0
        firstTimeColumn = nil
        problem = nil
    }
}

/// The columns that a source has beside keys.
struct PresentColumns: OptionSet, Sendable {
    let rawValue: Int
    static let times = PresentColumns(rawValue: 1)
    static let sizes = PresentColumns(rawValue: 2)
    static let categories = PresentColumns(rawValue: 4)
    static let users = PresentColumns(rawValue: 8)
}
