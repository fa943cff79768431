import Dispatch
import Synchronization

/// The sizes of objects and requests under a rule.
struct ObjectSizes: Sendable {
    var objects: [UInt64] = []
    /// Empty unless requests differ from their objects and that is honoured.
    var requests: [UInt32] = []
    var unit = SizeUnit.bytes
    var disagreements = 0
    /// Objects without a size among others that have one.
    var unknown = 0
    /// Whether the source has no size at all.
    var areNone = false

    /// Throws if a request's size under ``SizeRule/perRequest`` does not fit 32 bits, and if all are too much together.
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
            guard hasColumn, chunks.contains(where: { ObjectSizes.hasAny($0.sizes) }) else {
                areNone = true
                unit = .objects
                objects = Array(repeating: 1, count: keys.order.count)
                return
            }
            takeFirst(chunks, keys)
            countDisagreements(chunks, keys)
            if rule == .perRequest, disagreements > 0 { try takeEach(chunks, keys, path) }
        }
        if unit == .bytes, !isSumAccepted(keys.numbers) { throw ByteSum.fault(path) }
    }

    /// Whether all requests together can be counted. O(objects), and O(requests) where the largest says nothing yet.
    private func isSumAccepted(_ entries: [UInt32]) -> Bool {
        let largest = requests.isEmpty ? objects.max() ?? 0 : UInt64(UInt32.max)
        if ByteSum.accepts(entries.count, upTo: largest) { return true }
        var sum = ByteSum()
        if requests.isEmpty {
            sum.add(entries.lazy.map { objects[Int($0)] })
        } else {
            sum.add(requests.lazy.map { UInt64($0) })
        }
        return sum.isAccepted
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
        var starts = [0]
        for chunk in chunks { starts.append(starts[starts.count - 1] + chunk.count) }
        let total = Atomic(0)
        let objects = objects
        let bounds = starts
        DispatchQueue.concurrentPerform(iterations: chunks.count) { index in
            let entries = keys.numbers[bounds[index]..<bounds[index + 1]]
            let differing =
                switch chunks[index].sizes {
                case .narrow(let sizes): ObjectSizes.differing(sizes, entries, objects)
                case .wide(let sizes): ObjectSizes.differing(sizes, entries, objects)
                }
            total.wrappingAdd(differing, ordering: .relaxed)
        }
        disagreements = total.load(ordering: .relaxed)
    }

    @inline(__always)
    private static func differing(
        _ sizes: [some UnsignedInteger & FixedWidthInteger], _ entries: ArraySlice<UInt32>, _ objects: [UInt64]
    ) -> Int {
        var count = 0
        for (size, entry) in zip(sizes, entries) where size != 0 && UInt64(size) != objects[Int(entry)] { count += 1 }
        return count
    }

    private static func hasAny(_ sizes: SizeColumn) -> Bool {
        switch sizes {
        case .narrow(let sizes): sizes.contains { $0 > 0 }
        case .wide(let sizes): sizes.contains { $0 > 0 }
        }
    }

    /// Each request's own size, its object's where it states none.
    private mutating func takeEach(_ chunks: [ChunkRows], _ keys: Numbering, _ path: String) throws(TraceError) {
        requests.reserveCapacity(keys.numbers.count)
        for chunk in chunks {
            for row in 0..<chunk.sizes.count {
                let size = chunk.sizes[row]
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
