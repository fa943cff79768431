/// The times of a trace's requests, in microseconds, stored in 4 bytes a request where that is exact.
///
/// Most traces count whole seconds or milliseconds and span less than 2³² of them. For these, the column stores an
/// offset in that unit. For others, it stores 64-bit microseconds.
///
/// Element access is O(1).
public struct TimeColumn: Sendable, RandomAccessCollection {
    enum Storage: Sendable {
        /// Request `i` is at `base + i * step`.
        case uniform(base: Int64, step: Int64, count: Int)
        /// Request `i` is at `base + offsets[i] * unit`.
        case compact(base: Int64, unit: Int64, offsets: [UInt32])
        case wide([Int64])
    }

    let storage: Storage

    /// Creates evenly spaced times, for a trace without times: request `i` is at `base + i * step` microseconds.
    public init(base: Int64 = 0, step: Int64 = 1_000_000, count: Int) {
        storage = .uniform(base: base, step: step, count: count)
    }

    /// Stores `times` (microseconds) in the narrowest form that is exact. O(n).
    public init(_ times: [Int64]) {
        guard let low = times.min(), let high = times.max() else {
            storage = .wide([])
            return
        }
        let span = high.subtractingReportingOverflow(low)
        if !span.overflow {
            for unit: Int64 in [1, 1_000, 1_000_000, 60_000_000]
            where span.partialValue / unit <= Int64(UInt32.max) {
                if unit == 1 || times.allSatisfy({ ($0 - low) % unit == 0 }) {
                    storage = .compact(base: low, unit: unit, offsets: times.map { UInt32(($0 - low) / unit) })
                    return
                }
            }
        }
        storage = .wide(times)
    }

    /// Stores offsets from `base` in units of `unit` microseconds.
    package init(base: Int64, unit: Int64, offsets: [UInt32]) {
        storage = .compact(base: base, unit: unit, offsets: offsets)
    }

    /// Stores 64-bit microseconds.
    init(wide times: [Int64]) {
        storage = .wide(times)
    }

    /// The position of the first time, always 0.
    public var startIndex: Int { 0 }

    /// The number of times.
    public var endIndex: Int {
        switch storage {
        case .uniform(_, _, let count): count
        case .compact(_, _, let offsets): offsets.count
        case .wide(let times): times.count
        }
    }

    /// The time of request `position`, in microseconds.
    public subscript(position: Int) -> Int64 {
        switch storage {
        case .uniform(let base, let step, _): base + Int64(position) * step
        case .compact(let base, let unit, let offsets): base + Int64(offsets[position]) * unit
        case .wide(let times): times[position]
        }
    }

    /// The number of heap bytes that the column holds.
    package var byteCount: Int {
        switch storage {
        case .uniform: 0
        case .compact(_, _, let offsets): offsets.count * 4
        case .wide(let times): times.count * 8
        }
    }
}

extension TimeColumn {
    /// The resolution of the times, in microseconds: the longest usual unit by which all times differ in whole
    /// multiples. O(n).
    ///
    /// The units are a day, an hour, a minute, a second and its decimal parts down to 1 µs. Two requests whose times
    /// differ by d came d ± this apart. Nil if all times are equal.
    public var resolution: Int64? {
        if case .uniform(_, let step, let count) = storage {
            return count > 1 && step != 0 ? step.magnitude.resolution : nil
        }
        var resolution = TimeResolution()
        for time in self { resolution.note(time) }
        return resolution.microseconds
    }

    /// The units of stored offsets, in microseconds; each divides the next.
    private static let units: [Int64] = [1, 1_000, 1_000_000, 60_000_000]

    /// Stores times in any order as offsets from the earliest, in the coarsest unit that is exact. O(n).
    init(coarse times: UnsafeBufferPointer<Int64>) {
        guard let low = times.min(), let high = times.max() else {
            self.init([])
            return
        }
        for unit in TimeColumn.units.reversed() {
            let (span, isTooLong) = high.subtractingReportingOverflow(low)
            guard !isTooLong, span / unit <= Int64(UInt32.max), TimeColumn.isGrid(unit, times, from: low) else {
                continue
            }
            let offsets = times.map { UInt32(truncatingIfNeeded: TimeColumn.quotient($0 &- low, unit)) }
            self.init(base: low, unit: unit, offsets: offsets)
            return
        }
        self.init(wide: Array(times))
    }

    /// Concatenates columns, in the coarsest unit that is exact. O(n).
    init(joining columns: [TimeColumn]) {
        var low = Int64.max
        var high = Int64.min
        var unit = TimeColumn.units.last
        for column in columns where !column.isEmpty {
            guard case .compact(let base, let own, let offsets) = column.storage, let top = offsets.max() else {
                unit = nil
                break
            }
            low = Swift.min(low, base)
            high = Swift.max(high, base + Int64(top) * own)
            if let common = unit { unit = Swift.min(common, own) }
        }
        let (span, isTooLong) = high.subtractingReportingOverflow(low)
        guard var unit, !isTooLong, span >= 0 else {
            self.init(wide: columns.flatMap { $0 })
            return
        }
        for column in columns {
            guard case .compact(let base, _, _) = column.storage else { continue }
            while (base - low) % unit != 0 { unit = TimeColumn.units.last { $0 < unit } ?? 1 }
        }
        guard span / unit <= Int64(UInt32.max) else {
            self.init(wide: columns.flatMap { $0 })
            return
        }
        var starts: [Int] = []
        var count = 0
        for column in columns {
            starts.append(count)
            count += column.count
        }
        let common = unit
        let start = low
        let joined = ConcurrentColumn.make(starts: starts, count: count) { piece, target in
            guard case .compact(let base, let own, let offsets) = columns[piece].storage else { return }
            let shift = UInt32(truncatingIfNeeded: (base - start) / common)
            let factor = UInt32(truncatingIfNeeded: own / common)
            offsets.withUnsafeBufferPointer { offsets in
                for row in offsets.indices { target[row] = offsets[row] &* factor &+ shift }
            }
        }
        self.init(base: low, unit: unit, offsets: joined)
    }

    /// Returns whether all times are multiples of `unit` from `low`. Constant divisors avoid division instructions.
    private static func isGrid(_ unit: Int64, _ times: UnsafeBufferPointer<Int64>, from low: Int64) -> Bool {
        switch unit {
        case 60_000_000: times.allSatisfy { ($0 &- low) % 60_000_000 == 0 }
        case 1_000_000: times.allSatisfy { ($0 &- low) % 1_000_000 == 0 }
        case 1_000: times.allSatisfy { ($0 &- low) % 1_000 == 0 }
        default: true
        }
    }

    @inline(__always)
    private static func quotient(_ value: Int64, _ unit: Int64) -> Int64 {
        switch unit {
        case 60_000_000: value / 60_000_000
        case 1_000_000: value / 1_000_000
        case 1_000: value / 1_000
        default: value
        }
    }
}

/// The resolution of times that come one by one; see ``TimeColumn/resolution``.
package struct TimeResolution: Sendable {
    private var first: Int64?
    private var divisor: UInt64 = 0

    package init() {}

    /// Adds a time, in microseconds.
    package mutating func note(_ time: Int64) {
        guard divisor != 1 else { return }
        guard let first else {
            first = time
            return
        }
        let (difference, isTooLong) = time.subtractingReportingOverflow(first)
        // The greatest common divisor, by Euclid.
        var rest = isTooLong ? 1 : difference.magnitude
        while rest > 0 { (divisor, rest) = (rest, divisor % rest) }
    }

    /// The resolution in microseconds; `nil` if all times are equal.
    package var microseconds: Int64? { divisor == 0 ? nil : divisor.resolution }
}

extension UInt64 {
    /// The longest usual unit of time, in microseconds, of which this number of microseconds is a multiple.
    fileprivate var resolution: Int64 {
        let units: [UInt64] = [
            86_400_000_000, 3_600_000_000, 60_000_000, 1_000_000, 100_000, 10_000, 1_000, 100, 10,
        ]
        return Int64(units.first { self % $0 == 0 } ?? 1)
    }
}
