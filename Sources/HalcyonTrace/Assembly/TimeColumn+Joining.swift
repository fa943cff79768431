extension TimeColumn {
    /// Units in which times may be kept, in microseconds; each divides the next.
    private static let units: [Int64] = [1, 1_000, 1_000_000, 60_000_000]

    /// Keeps times, never decreasing or not, as offsets from the first in the coarsest unit that is exact. O(n).
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

    /// Puts columns one behind the other, in the coarsest unit that is exact. O(n).
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

    /// Whether all times lie at multiples of `unit` from `low`; the divisors are constants, so that no division is made.
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
