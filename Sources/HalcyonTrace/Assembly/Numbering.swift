/// The numbers that each worker's names have in the table of all.
struct NameMaps: Sendable {
    /// By a worker's number; empty where they are the same.
    var keys: [UInt32] = []
    var categories: [UInt32] = []
    var users: [UInt32] = []
}

/// Names numbered in the order of their first request.
struct Numbering {
    /// The number of each request's name; ``KeyTable/none`` where it has none.
    let numbers: [UInt32]
    /// The number in the table of all names, by new number.
    private(set) var order: [UInt32] = []
    /// The first request of each name.
    private(set) var firstRequests: [Int] = []

    /// O(requests), in the order of the requests.
    init(
        _ chunks: [ChunkRows], _ column: (ChunkRows) -> [UInt32], _ maps: [[UInt32]], known: Int, count: Int
    ) {
        var final = [UInt32](repeating: KeyTable.none, count: known)
        var order: [UInt32] = []
        var firstRequests: [Int] = []
        numbers = [UInt32](unsafeUninitializedCapacity: count) { numbers, initialized in
            var request = 0
            final.withUnsafeMutableBufferPointer { final in
                for chunk in chunks {
                    let map = maps[chunk.worker]
                    let isMapped = !map.isEmpty
                    column(chunk).withUnsafeBufferPointer { column in
                        map.withUnsafeBufferPointer { map in
                            for raw in column {
                                var number = KeyTable.none
                                if raw != KeyTable.none {
                                    let known = Int(isMapped ? map[Int(raw)] : raw)
                                    number = final[known]
                                    if number == KeyTable.none {
                                        number = UInt32(truncatingIfNeeded: order.count)
                                        final[known] = number
                                        order.append(UInt32(truncatingIfNeeded: known))
                                        firstRequests.append(request)
                                    }
                                }
                                numbers[request] = number
                                request += 1
                            }
                        }
                    }
                }
            }
            initialized = request
        }
        self.order = order
        self.firstRequests = firstRequests
    }
}
