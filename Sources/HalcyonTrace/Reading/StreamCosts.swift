/// The sizes of a stream's requests under a size rule.
struct StreamCosts {
    private let rule: SizeRule
    /// The size of each object, by its first request.
    private var objects: [UInt64] = []
    private var known = 0
    private(set) var disagreements = 0
    /// What was asked for so far.
    private(set) var sum = ByteSum()

    init(rule: SizeRule) { self.rule = rule }

    /// Whether sizes come from the keys' hashes.
    var needsHashes: Bool {
        if case .lognormal = rule { true } else { false }
    }

    var unknown: Int { objects.count - known }

    /// Whether sizes are asked for and none was met.
    var areNone: Bool { (rule == .firstRequest || rule == .perRequest) && known == 0 && disagreements == 0 }

    var unit: SizeUnit { rule == .unit || areNone ? .objects : .bytes }

    /// Puts the sizes of a chunk's requests into `sizes`.
    mutating func add(_ rows: ChunkRows, to sizes: inout [UInt64]) {
        sizes.removeAll(keepingCapacity: true)
        sizes.reserveCapacity(rows.count)
        switch rule {
        case .unit: sizes.append(contentsOf: repeatElement(1, count: rows.count))
        case .lognormal(let median, let sigma):
            for (entry, hash) in zip(rows.keys.numbers, rows.hashes) {
                if Int(entry) == objects.count {
                    objects.append(SizeRule.drawLognormal(hash: hash, median: median, sigma: sigma))
                }
                sizes.append(objects[Int(entry)])
            }
        case .firstRequest, .perRequest:
            for row in 0..<rows.count {
                let entry = Int(rows.keys.numbers[row])
                let size = rows.sizes.isEmpty ? 0 : rows.sizes[row]
                if entry == objects.count {
                    objects.append(max(size, 1))
                    if size > 0 { known += 1 }
                }
                let first = objects[entry]
                if size != 0, size != first { disagreements += 1 }
                sizes.append(rule == .firstRequest || size == 0 ? first : size)
            }
        }
        if rule != .unit { sum.add(sizes) }
    }
}
