import Dispatch
import Synchronization

/// The sizes of objects and requests under a rule.
struct ObjectSizes: Sendable {
    var objects: [UInt64] = []
    /// Empty unless sizes change and the rule is ``SizeRule/perRequest``.
    var requests: [UInt32] = []
    var unit = SizeUnit.bytes
    var disagreements = 0
    /// The number of objects without a size, if others have one.
    var unknown = 0
    /// Whether the source has no sizes.
    var areNone = false

    /// Computes the sizes. Throws an error if a size under ``SizeRule/perRequest`` does not fit 32 bits, or if the sum
    /// is too large.
    init(
        _ chunks: [ChunkRows], keys: Numbering, _ table: NameTable, rule: SizeRule, hasColumn: Bool, path: String
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

    /// Returns the sizes of objects that are only shown: by the same rule, 1 where unknown.
    ///
    /// - Parameters:
    ///   - recorded: the recorded size of each at its first showing.
    ///   - keys: the key of each in `table`.
    func ofShown(_ recorded: [UInt64], keys: [UInt32], _ table: NameTable, _ rule: SizeRule) -> [UInt64] {
        if unit == .objects { return recorded.map { _ in 1 } }
        if case .lognormal(let median, let sigma) = rule {
            return table.hashes(keys).map { SizeRule.drawLognormal(hash: $0, median: median, sigma: sigma) }
        }
        return recorded.map { max($0, 1) }
    }

    /// Returns whether the sum of all requests is accepted. O(objects), and O(requests) if the largest size does not
    /// decide.
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

    /// Sets each object's size to that of its first request.
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

    /// Counts the requests whose size is known and differs from their object's.
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

    /// Sets each request's size to the recorded one, or to its object's if none is recorded.
    private mutating func takeEach(_ chunks: [ChunkRows], _ keys: Numbering, _ path: String) throws(TraceError) {
        requests.reserveCapacity(keys.numbers.count)
        for chunk in chunks {
            for row in 0..<chunk.sizes.count {
                let size = chunk.sizes[row]
                let known = size == 0 ? objects[Int(keys.numbers[requests.count])] : size
                guard let short = UInt32(exactly: known) else {
                    throw TraceError(
                        file: path,
                        message: "a request of \(known) bytes is too large for --sizes per-request, which "
                            + "accepts sizes up to \(UInt32.max) bytes")
                }
                requests.append(short)
            }
        }
    }
}

/// The sum of the sizes of all requests, which a replay must be able to count in 64 bits.
struct ByteSum: Sendable {
    /// The limit: 2⁶² bytes, so that no sum of requested, hit or missed bytes overflows.
    static let largest: UInt64 = 1 << 62

    private var sum: UInt64 = 0

    /// Whether the sum is at most ``largest``.
    private(set) var isAccepted = true

    /// Adds sizes. O(number).
    mutating func add(_ sizes: some Sequence<UInt64>) {
        for size in sizes {
            guard isAccepted, size <= ByteSum.largest - sum else {
                isAccepted = false
                return
            }
            sum += size
        }
    }

    /// Returns whether the sum of `count` sizes of at most `size` is accepted in any case.
    static func accepts(_ count: Int, upTo size: UInt64) -> Bool {
        let (product, isTooLarge) = size.multipliedReportingOverflow(by: UInt64(count))
        return !isTooLarge && product <= largest
    }

    /// Returns the error for a trace whose sum is above the limit.
    static func fault(_ path: String) -> TraceError {
        TraceError(
            file: path,
            message:
                "all requests together have more than \(largest) bytes, the limit; skip some requests, or give every "
                + "object size 1 (--sizes unit)")
    }
}
