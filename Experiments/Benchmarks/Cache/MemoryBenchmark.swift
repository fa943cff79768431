import Foundation
import Halcyon
import HalcyonEviction

/// The memory storage, alone and beside NSCache.
struct MemoryBenchmark {
    let residents = keys(isShort ? 1_000 : 20_000)
    let config = MemoryStorage<Picture>.Config(
        totalCostLimit: 20_000_000, expiration: .seconds(300), cleanInterval: .zero)

    private func filled(_ policy: String, _ limit: Int = 20_000_000) throws -> MemoryStorage<Picture> {
        var config = config
        config.totalCostLimit = limit
        let memory = try MemoryStorage<Picture>(config: config, policyNamed: policy, in: .standard)
        let context = AccessContext(categories: ["shoes"], user: "u1")
        for key in residents { memory.store(value: Picture(cost: 100), forKey: key, context: context) }
        return memory
    }

    /// The nanoseconds of a hit, one thread, keys in a random order.
    func hits() throws {
        for policy in ["lru", "s3-fifo", "gdsf", "learned"] {
            let memory = try filled(policy)
            let order = shuffled(1)
            var best = Double.infinity
            for _ in 0..<5 { best = min(best, seconds { for key in order { _ = memory.value(forKey: key) } }) }
            report("memory hit, \(policy)", best / Double(order.count) * 1e9, "ns")
        }
    }

    /// So many rounds of one work over all keys: `hits` (under a policy by name, or of the type by default), `stores` and
    /// `evicting` (with room for all, and for a tenth), and `nscache-` before each for the same by NSCache.
    func count(_ work: String, rounds: Int, policy: String?) throws {
        let limit = work.hasSuffix("evicting") ? 200_000 : 20_000_000
        var config = config
        config.totalCostLimit = limit
        let pictures = residents.map { _ in Picture(cost: 100) }
        let names = residents.map { NSString(string: $0) }
        func storage() throws -> MemoryStorage<Picture> {
            guard let policy else { return MemoryStorage(config: config) }
            return try MemoryStorage(config: config, policyNamed: policy, in: .standard)
        }
        func system() -> NSCache<NSString, Picture> {
            let system = NSCache<NSString, Picture>()
            system.totalCostLimit = limit
            return system
        }
        switch work {
        case "hits":
            let memory = try storage()
            for (key, picture) in zip(residents, pictures) { memory.store(value: picture, forKey: key) }
            for _ in 0..<rounds { for key in residents { _ = memory.value(forKey: key) } }
        case "nscache-hits":
            let cache = system()
            for (key, picture) in zip(names, pictures) { cache.setObject(picture, forKey: key, cost: 100) }
            for _ in 0..<rounds { for key in names { _ = cache.object(forKey: key) } }
        case "nscache-stores", "nscache-evicting":
            for _ in 0..<rounds {
                let cache = system()
                for (key, picture) in zip(names, pictures) { cache.setObject(picture, forKey: key, cost: 100) }
            }
        default:
            for _ in 0..<rounds {
                let memory = try storage()
                for (key, picture) in zip(residents, pictures) { memory.store(value: picture, forKey: key) }
            }
        }
    }

    /// Hits a second of four threads together over those of one; of each the best of fifteen rounds.
    ///
    /// Once all threads ask with the same strings, the counts of whose references move from core to core as those of the values
    /// do, and once with strings of their own, as threads have that make the keys from addresses.
    func threads() throws {
        let shared = shuffled(2)
        let own = (0..<4).map { _ in shared.map { String(decoding: Array($0.utf8), as: UTF8.self) } }
        try threads("lru", "the same keys", Array(repeating: shared, count: 4))
        try threads("lru", "keys of their own", own)
        try threads("learned", "keys of their own", own)
    }

    private func threads(_ policy: String, _ label: String, _ orders: [[String]]) throws {
        let memory = try filled(policy)
        var (one, four) = (Double.infinity, Double.infinity)
        for _ in 0..<(isShort ? 2 : 15) {
            one = min(one, seconds { for key in orders[0] { _ = memory.value(forKey: key) } })
            four = min(
                four,
                seconds {
                    DispatchQueue.concurrentPerform(iterations: 4) { thread in
                        for key in orders[thread] { _ = memory.value(forKey: key) }
                    }
                })
        }
        report("hits/s, four threads over one, \(policy), \(label)", 4 * one / four, "x")
    }

    /// Stores and hits a second over those of NSCache, and the time of a store over that of a dictionary with a lock. There is
    /// room for all, or for a tenth. Of each the best of five rounds, every round with new caches.
    func beside() {
        let names = residents.map { NSString(string: $0) }
        let pictures = residents.map { _ in Picture(cost: 100) }
        for (label, limit) in [("room for all", 20_000_000), ("room for a tenth", 200_000)] {
            var config = config
            config.totalCostLimit = limit
            var (ourStore, theirStore) = (Double.infinity, Double.infinity)
            var (ourGet, theirGet) = (Double.infinity, Double.infinity)
            var plainStore = Double.infinity
            for _ in 0..<5 {
                let memory = MemoryStorage<Picture>(config: config)
                let system = NSCache<NSString, Picture>()
                system.totalCostLimit = limit
                ourStore = min(
                    ourStore,
                    seconds {
                        for (key, picture) in zip(residents, pictures) { memory.store(value: picture, forKey: key) }
                    })
                theirStore = min(
                    theirStore,
                    seconds {
                        for (key, picture) in zip(names, pictures) { system.setObject(picture, forKey: key, cost: 100) }
                    })
                let plain = MutexDictionary<Picture>(limit: limit)
                plainStore = min(
                    plainStore,
                    seconds {
                        for (key, picture) in zip(residents, pictures) { plain.store(picture, cost: 100, forKey: key) }
                    })
                ourGet = min(ourGet, seconds { for key in residents { _ = memory.value(forKey: key) } })
                theirGet = min(theirGet, seconds { for key in names { _ = system.object(forKey: key) } })
            }
            report("store over NSCache, \(label)", theirStore / ourStore, "x")
            report("store, time over that of a dictionary, \(label)", ourStore / plainStore, "x")
            report("store, \(label)", ourStore / Double(residents.count) * 1e9, "ns")
            if limit > 1_000_000 { report("get over NSCache", theirGet / ourGet, "x") }
        }
    }

    /// The bytes that the storage takes for an entry, beside key and value, by what the process has resident.
    func overhead() {
        #if os(Linux)
            let many = keys(isShort ? 20_000 : 400_000)
            let picture = Picture(cost: 100)
            var config = config
            config.totalCostLimit = 1 << 40
            let before = residentBytes()
            let memory = MemoryStorage<Picture>(config: config)
            for key in many { memory.store(value: picture, forKey: key) }
            let spent = residentBytes() - before
            report("bytes an entry beside key and value, lru", Double(spent) / Double(memory.count), "bytes")
        #endif
    }

    private func residentBytes() -> Int {
        let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
        let fields = text.split(separator: " ")
        return fields.count > 1 ? (Int(fields[1]) ?? 0) * 4_096 : 0
    }

    private func shuffled(_ seed: UInt64) -> [String] {
        var random = SplitMix64(seed: seed)
        return (0..<(isShort ? 5_000 : 200_000)).map { _ in residents[random.next(below: residents.count)] }
    }
}
