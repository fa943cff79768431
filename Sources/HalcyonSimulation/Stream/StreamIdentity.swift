import HalcyonEviction
import HalcyonTrace

/// What tells a stream apart and what its distinct objects cost, found request by request.
struct StreamIdentity {
    private var hash: UInt64 = 0x9e37_79b9_7f4a_7c15
    private var objects = 0
    private(set) var distinctCost = 0

    mutating func add(_ batch: StreamBatch) {
        for index in batch.entries.indices {
            let entry = batch.entries[index]
            let cost = index < batch.costs.count ? batch.costs[index] : 1
            if Int(entry) == objects {
                objects += 1
                distinctCost &+= Int(clamping: cost)
            }
            add(UInt64(entry))
            add(cost)
            add(UInt64(bitPattern: batch.times[index]))
            add(UInt64(index < batch.users.count ? batch.users[index] : Trace.noUser))
            add(UInt64(index < batch.categorySets.count ? batch.categorySets[index] : 0))
        }
    }

    /// 17 characters: an `s`, because a loaded trace is hashed column by column and has another, and 16 digits.
    var fingerprint: String {
        let digits = String(hash, radix: 16)
        return "s" + String(repeating: "0", count: 16 - digits.count) + digits
    }

    @inline(__always)
    private mutating func add(_ value: UInt64) {
        let product = (hash ^ value).multipliedFullWidth(by: 0xa076_1d64_78bd_642f)
        hash = product.high ^ product.low &+ 0x2d35_8dcc_aa6c_78a5
    }
}
