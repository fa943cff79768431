import HalcyonEviction
import HalcyonTrace

/// The columns of a piece of a stream in the form that caches take.
struct StreamColumns {
    private(set) var entries: [UInt32] = []
    private var sizes: [Int] = []
    private var times: [Int64] = []
    private var users: [UInt32] = []
    private var sets: [UInt32] = []

    /// Takes over a piece, in place of whatever was there; without sizes where sizes are uniform.
    mutating func fill(_ batch: StreamBatch, unit: CacheUnit) {
        entries = batch.entries
        sizes = unit.usesUniformSizes ? [] : batch.sizes.map { Int(clamping: $0) }
        times = batch.times
        users = batch.users
        sets = batch.categorySets
    }

    /// Calls `body` with the columns as one batch.
    func withBatch(firstRequest: Int, _ body: (RequestBatch) -> Void) {
        entries.withUnsafeBufferPointer { entries in
            sizes.withUnsafeBufferPointer { sizes in
                times.withUnsafeBufferPointer { times in
                    users.withUnsafeBufferPointer { users in
                        sets.withUnsafeBufferPointer { sets in
                            body(
                                RequestBatch(
                                    firstRequest: firstRequest, entries: entries,
                                    sizes: sizes.isEmpty ? nil : sizes.baseAddress,
                                    times: times.isEmpty ? nil : times.baseAddress,
                                    categories: sets.isEmpty ? nil : sets.baseAddress,
                                    users: users.isEmpty ? nil : users.baseAddress))
                        }
                    }
                }
            }
        }
    }
}
