import HalcyonTrace

/// A stack of sampled objects and the scaled distances of their accesses.
struct SampledStack {
    private let unit: SizeUnit
    private var objects = ObjectStackDistances(slotCount: 64)
    private var bytes = ByteStackDistances(slotCount: 64)
    private(set) var histogram = LogLinearHistogram()
    /// The requests that the recorded ones stand for, misses at every capacity included.
    private(set) var weight = 0.0

    init(unit: SizeUnit) {
        self.unit = unit
    }

    /// The number of objects on the stack.
    var count: Int { unit == .objects ? objects.count : bytes.count }

    /// Counts an access of an object that was sampled at `rate`: it stands for 1 / `rate` accesses, and what lies above it
    /// on the stack for 1 / `rate` times as much.
    mutating func record(_ id: UInt32, cost: UInt64, rate: Double) {
        weight += 1 / rate
        let distance: Double
        switch unit {
        case .objects:
            guard let measured = objects.record(id) else { return }
            distance = Double(measured - 1) / rate + 1
        case .bytes:
            guard let measured = bytes.record(id, size: cost) else { return }
            distance = Double(measured - cost) / rate + Double(cost)
        }
        histogram.add(1 / rate, at: UInt64(min(distance.rounded(), 0x1p62)))
    }

    /// Forgets an object that is no longer sampled; what was recorded stays.
    mutating func remove(_ id: UInt32) {
        switch unit {
        case .objects: objects.remove(id)
        case .bytes: bytes.remove(id)
        }
    }
}
