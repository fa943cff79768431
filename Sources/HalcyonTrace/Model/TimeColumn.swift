/// The times of a trace's requests, in microseconds, in 4 bytes a request wherever that loses nothing.
///
/// Most traces count whole seconds or milliseconds and span less than 2³² of them; those keep an offset in
/// that unit. The others keep full 64-bit microseconds.
///
/// Element access is O(1).
public struct TimeColumn: Sendable, RandomAccessCollection {
    enum Storage: Sendable {
        /// Request `i` happens at `base + i * step`.
        case uniform(base: Int64, step: Int64, count: Int)
        /// Request `i` happens at `base + offsets[i] * unit`.
        case compact(base: Int64, unit: Int64, offsets: [UInt32])
        case wide([Int64])
    }

    let storage: Storage

    /// Evenly spaced times, for a trace that records none: request `i` happens at `base + i * step` microseconds.
    public init(base: Int64 = 0, step: Int64 = 1_000_000, count: Int) {
        storage = .uniform(base: base, step: step, count: count)
    }

    /// Keeps `times` (microseconds) in the narrowest form that is exact. O(n).
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

    /// Offsets from `base` in `unit` microseconds, as a reader has already made them.
    public init(base: Int64, unit: Int64, offsets: [UInt32]) {
        storage = .compact(base: base, unit: unit, offsets: offsets)
    }

    /// Full 64-bit microseconds.
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

    /// The heap bytes the column holds.
    public var byteCount: Int {
        switch storage {
        case .uniform: 0
        case .compact(_, _, let offsets): offsets.count * 4
        case .wide(let times): times.count * 8
        }
    }
}
