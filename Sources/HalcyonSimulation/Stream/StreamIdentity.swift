import HalcyonEviction
import HalcyonTrace

/// What tells a stream apart, and what is in the requests of it that are replayed, found request by request. A byte for each object, user
/// and set of categories that was read.
struct StreamIdentity {
    private var hash: UInt64 = 0x9e37_79b9_7f4a_7c15
    private(set) var objects = SeenNumbers()
    private(set) var users = SeenNumbers()
    private(set) var categorySets = SeenNumbers()
    private(set) var distinctSize = 0

    mutating func add(_ batch: StreamBatch) {
        for index in batch.entries.indices {
            let entry = batch.entries[index]
            let size = index < batch.sizes.count ? batch.sizes[index] : 1
            if objects.insert(entry) { distinctSize &+= Int(clamping: size) }
            add(UInt64(entry))
            add(size)
            add(UInt64(bitPattern: batch.times[index]))
            let user = index < batch.users.count ? batch.users[index] : Trace.noUser
            if user != Trace.noUser { users.insert(user) }
            add(UInt64(user))
            let categories = index < batch.categorySets.count ? batch.categorySets[index] : 0
            if categories != 0 { categorySets.insert(categories) }
            add(UInt64(categories))
        }
    }

    /// How many categories these sets have.
    func categoryCount(_ sets: CategorySets) -> Int {
        var categories = SeenNumbers()
        for set in 0..<UInt32(sets.count) where categorySets.contains(set) {
            for category in sets[set] { categories.insert(category) }
        }
        return categories.count
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
