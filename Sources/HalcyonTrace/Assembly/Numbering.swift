/// The numbers that each worker's names have in the table of all.
struct NameMaps: Sendable {
    /// By a worker's number; empty where they are the same.
    var keys: [UInt32] = []
    var categories: [UInt32] = []
    var users: [UInt32] = []
}

/// Names numbered in the order of their first request.
struct Numbering: Sendable {
    /// The number of each request's name; ``KeyTable/none`` where it has none.
    let numbers: [UInt32]
    /// The number in the table of all names, by new number.
    let order: [UInt32]
    /// The first request of each name.
    let firstRequests: [Int]

    /// O(requests), of which only the rows of names new to a worker are gone through one after the other.
    init(_ chunks: [ChunkRows], _ column: KeyPath<ChunkRows, NameColumn>, _ maps: [[UInt32]], known: Int) {
        var final = [UInt32](repeating: KeyTable.none, count: known)
        var order: [UInt32] = []
        var firstRequests: [Int] = []
        var starts: [Int] = []
        var request = 0
        for chunk in chunks {
            let map = maps[chunk.worker]
            let column = chunk[keyPath: column]
            for row in column.firsts {
                let raw = column.numbers[Int(row)]
                if raw == KeyTable.none { continue }
                let known = Int(map.isEmpty ? raw : map[Int(raw)])
                guard final[known] == KeyTable.none else { continue }
                final[known] = UInt32(order.count)
                order.append(UInt32(known))
                firstRequests.append(request + Int(row))
            }
            starts.append(request)
            request += chunk.count
        }
        self.order = order
        self.firstRequests = firstRequests
        let toFinal = maps.map { map in map.isEmpty ? final : map.map { final[Int($0)] } }
        let columns = chunks.map { $0[keyPath: column].numbers }
        numbers = ConcurrentColumn.make(starts: starts, count: request) { piece, target in
            Numbering.renumber(columns[piece], by: toFinal[chunks[piece].worker], into: target)
        }
    }

    private static func renumber(_ column: [UInt32], by numbers: [UInt32], into target: UnsafeMutablePointer<UInt32>) {
        numbers.withUnsafeBufferPointer { numbers in
            column.withUnsafeBufferPointer { column in
                for row in column.indices {
                    let raw = column[row]
                    target[row] = raw == KeyTable.none ? raw : numbers[Int(raw)]
                }
            }
        }
    }
}
