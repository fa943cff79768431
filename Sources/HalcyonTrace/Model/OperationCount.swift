import HalcyonSupport

/// The number of rows of a trace with one operation.
public struct OperationCount: Sendable, Equatable, Codable {
    /// The operation, such as `GET`; `request` in a trace without operations.
    public let name: String
    /// The number of rows.
    public let rows: Int
    /// The number of rows that are no requests, such as deletions, or reads whose object has no known size.
    public let leftOut: Int
    /// The number of requests. A row of a preset with repetitions can be several.
    public let requests: Int

    /// Returns the counts with those of one name added up, in the order of their first one.
    static func joined(_ counts: [OperationCount]) -> [OperationCount] {
        var joined: [OperationCount] = []
        for count in counts {
            if let index = joined.firstIndex(where: { $0.name == count.name }) {
                let other = joined[index]
                joined[index] = OperationCount(
                    name: count.name, rows: other.rows + count.rows, leftOut: other.leftOut + count.leftOut,
                    requests: other.requests + count.requests)
            } else {
                joined.append(count)
            }
        }
        return joined
    }
}

/// The number of rows by operation while a trace is being read.
struct OperationTally: Sendable {
    // By operation.
    private var rows: [Int] = []
    private var leftOut: [Int] = []
    private var requests: [Int] = []

    /// Makes room for this number of operations.
    mutating func prepare(_ count: Int) {
        if rows.count >= count { return }
        let more = repeatElement(0, count: count - rows.count)
        rows += more
        leftOut += more
        requests += more
    }

    /// Counts a row; one that is no request is left out.
    @inline(__always)
    mutating func count(_ operation: Int, requests number: Int) {
        rows[operation] += 1
        requests[operation] += number
        if number == 0 { leftOut[operation] += 1 }
    }

    /// Sets all counts to 0.
    mutating func reset() {
        for index in rows.indices { (rows[index], leftOut[index], requests[index]) = (0, 0, 0) }
    }

    /// Adds the counts of another piece.
    mutating func add(_ other: OperationTally) {
        prepare(other.rows.count)
        for index in other.rows.indices {
            rows[index] += other.rows[index]
            leftOut[index] += other.leftOut[index]
            requests[index] += other.requests[index]
        }
    }

    /// Returns the counts of operations that occur.
    func counts(named names: [String]) -> [OperationCount] {
        rows.indices.filter { rows[$0] > 0 }.map { index in
            OperationCount(
                name: index < names.count ? names[index] : "\(index)", rows: rows[index], leftOut: leftOut[index],
                requests: requests[index])
        }
    }
}

/// The number of rows by the text of an operation, for a CSV with a column of operations that no role uses.
///
/// At most 64 operations are counted, which no list of operations exceeds. A column with more holds something else,
/// and is not counted.
struct OperationNames: Sendable, Equatable {
    private static let most = 64

    private var names: [[UInt8]] = []
    private var rows: [Int] = []
    private var last = 0
    private var isOverfull = false

    /// Counts a row.
    mutating func count(_ name: UnsafeBufferPointer<UInt8>) { add(name, rows: 1) }

    /// Adds the counts of another piece.
    mutating func add(_ other: OperationNames) {
        isOverfull = isOverfull || other.isOverfull
        for (name, rows) in zip(other.names, other.rows) { name.withUnsafeBufferPointer { add($0, rows: rows) } }
    }

    private mutating func add(_ name: UnsafeBufferPointer<UInt8>, rows more: Int) {
        if last >= names.count || !name.elementsEqual(names[last]) {
            guard let found = names.firstIndex(where: { name.elementsEqual($0) }) else {
                if names.count == OperationNames.most {
                    isOverfull = true
                } else {
                    last = names.count
                    names.append(Array(name))
                    rows.append(more)
                }
                return
            }
            last = found
        }
        rows[last] += more
    }

    /// Returns the counts in order of first occurrence; none if there are too many operations. Every row is a request.
    var counts: [OperationCount] {
        if isOverfull { return [] }
        return zip(names, rows).map { name, rows in
            OperationCount(
                name: name.isEmpty ? "(none)" : String(decoding: name, as: UTF8.self).shortened(), rows: rows,
                leftOut: 0,
                requests: rows)
        }
    }
}
