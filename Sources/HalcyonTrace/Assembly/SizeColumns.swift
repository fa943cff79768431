/// The sizes of objects and requests under a rule.
struct SizeColumns {
    var objects: [UInt64] = []
    /// Empty unless requests differ from their objects and that is honoured.
    var requests: [UInt32] = []
    var unit = CostUnit.bytes
    var disagreements = 0
    /// Objects without a size among others that have one.
    var unknown = 0
    /// Whether the source has no size at all.
    var areNone = false

    /// Throws if a request's size under ``SizeRule/perRequest`` does not fit 32 bits.
    init(
        _ chunks: [ChunkRows], keys: Numbering, _ table: KeyTable, rule: SizeRule, hasColumn: Bool, path: String
    ) throws(TraceError) {
        switch rule {
        case .unit:
            unit = .objects
            objects = Array(repeating: 1, count: keys.order.count)
        case .lognormal(let median, let sigma):
            objects = table.hashes(keys.order).map { SizeRule.drawLognormal(hash: $0, median: median, sigma: sigma) }
        case .firstRequest, .perRequest:
            let sizes = chunks.lazy.map(\.sizes)
            guard hasColumn, sizes.contains(where: { $0.contains { $0 > 0 } }) else {
                areNone = true
                unit = .objects
                objects = Array(repeating: 1, count: keys.order.count)
                return
            }
            takeFirst(chunks, keys)
            countDisagreements(chunks, keys)
            if rule == .perRequest, disagreements > 0 { try takeEach(chunks, keys, path) }
        }
    }

    /// Each object's size by its first request.
    private mutating func takeFirst(_ chunks: [ChunkRows], _ keys: Numbering) {
        objects.reserveCapacity(keys.order.count)
        var next = keys.firstRequests[...]
        var before = 0
        for chunk in chunks {
            while let request = next.first, request < before + chunk.count {
                let size = chunk.sizes[request - before]
                if size == 0 { unknown += 1 }
                objects.append(max(size, 1))
                next.removeFirst()
            }
            before += chunk.count
        }
    }

    /// Requests that state another size than their object's; one that states none agrees.
    private mutating func countDisagreements(_ chunks: [ChunkRows], _ keys: Numbering) {
        var request = 0
        var differing = 0
        keys.numbers.withUnsafeBufferPointer { numbers in
            objects.withUnsafeBufferPointer { objects in
                for chunk in chunks {
                    chunk.sizes.withUnsafeBufferPointer { sizes in
                        for size in sizes {
                            if size != 0, size != objects[Int(numbers[request])] { differing += 1 }
                            request += 1
                        }
                    }
                }
            }
        }
        disagreements = differing
    }

    /// Each request's own size, its object's where it states none.
    private mutating func takeEach(_ chunks: [ChunkRows], _ keys: Numbering, _ path: String) throws(TraceError) {
        requests.reserveCapacity(keys.numbers.count)
        for chunk in chunks {
            for size in chunk.sizes {
                let honoured = size == 0 ? objects[Int(keys.numbers[requests.count])] : size
                guard let short = UInt32(exactly: honoured) else {
                    throw TraceError(
                        file: path,
                        message: "a request of \(honoured) bytes is too large for --sizes per-request, which "
                            + "takes sizes up to \(UInt32.max) bytes")
                }
                requests.append(short)
            }
        }
    }
}
