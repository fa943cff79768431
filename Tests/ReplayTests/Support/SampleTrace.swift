import HalcyonEviction

/// A small trace with all columns, and the hits of LRU on it, counted by the simplest code.
struct SampleTrace {
    struct Request {
        var time: Int
        var key: Int
        var category: String
        var user: Int?

        var size: Int { key * 37 % 500 + 1 }
    }

    let requests: [Request]

    /// Skewed over 120 objects, with 10 users and two categories an object; one in forty requests has no user.
    init(count: Int = 1_500, seed: UInt64 = 7) {
        var random = SplitMix64(seed: seed)
        var time = 0
        requests = (0..<count).map { _ in
            time += Int(random.next() % 3)
            let key = Int(min(random.next() % 120, random.next() % 120))
            let user = random.next() % 40 == 0 ? nil : Int(random.next() % 10)
            return Request(time: time, key: key, category: "c\(key % 7)|d\(key % 3)", user: user)
        }
    }

    var csv: String {
        requests.reduce(into: "time,key,size,category,user\n") {
            $0 += "\($1.time),k\($1.key),\($1.size),\($1.category),\($1.user.map { "u\($0)" } ?? "")\n"
        }
    }

    /// The bytes of all distinct objects.
    var distinctBytes: Int { Set(requests.map(\.key)).reduce(0) { $0 + $1 * 37 % 500 + 1 } }

    /// The hits of LRU among the requests from `warmup` on; the capacity is in bytes, or in objects if `costsAreOne`.
    static func lruHits(_ requests: some Sequence<Request>, capacity: Int, costsAreOne: Bool = false, warmup: Int = 0)
        -> Int
    {
        var residents: [Request] = []
        var hits = 0
        for (position, request) in requests.enumerated() {
            if let found = residents.firstIndex(where: { $0.key == request.key }) {
                residents.append(residents.remove(at: found))
                if position >= warmup { hits += 1 }
                continue
            }
            func cost(_ request: Request) -> Int { costsAreOne ? 1 : request.size }
            if cost(request) > capacity { continue }
            while residents.reduce(0, { $0 + cost($1) }) + cost(request) > capacity { residents.removeFirst() }
            residents.append(request)
        }
        return hits
    }

    /// The hits of LRU in per-user caches.
    func perUserHits(capacity: Int) -> Int {
        Dictionary(grouping: requests.filter { $0.user != nil }, by: \.user).values
            .reduce(0) { $0 + SampleTrace.lruHits($1, capacity: capacity) }
    }
}
