import Dispatch
import Synchronization

/// The numbers of one worker's names in the common table.
struct NameMaps: Sendable {
    /// The numbers in the common table, by the worker's number; empty if they are equal.
    var keys: [UInt32] = []
    var categories: [UInt32] = []
    var users: [UInt32] = []
    /// The ids of lists; empty for requests.
    var lists: [UInt32] = []
}

/// Numbers of names in the order of their first request.
struct Numbering: Sendable {
    /// The number of each request's name; ``NameTable/none`` for no name.
    let numbers: [UInt32]
    /// The number in the common table, by new number.
    let order: [UInt32]
    /// The first request of each name.
    let firstRequests: [Int]

    /// Numbers the names of all chunks. O(requests); only the rows with names new to a worker are processed
    /// sequentially.
    init(_ chunks: [ChunkRows], _ column: KeyPath<ChunkRows, NameColumn>, _ maps: [[UInt32]], known: Int) {
        var final = [UInt32](repeating: NameTable.none, count: known)
        var order: [UInt32] = []
        var firstRequests: [Int] = []
        var starts: [Int] = []
        var request = 0
        for chunk in chunks {
            let map = maps[chunk.worker]
            let column = chunk[keyPath: column]
            for row in column.firsts {
                let raw = column.numbers[Int(row)]
                if raw == NameTable.none { continue }
                let known = Int(map.isEmpty ? raw : map[Int(raw)])
                guard final[known] == NameTable.none else { continue }
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
                    target[row] = raw == NameTable.none ? raw : numbers[Int(raw)]
                }
            }
        }
    }
}

/// An array that several threads fill, each in separate parts.
///
/// The buffer's address is passed between threads as a number; it is valid only while the array is initialized.
struct ConcurrentColumn: Sendable {
    private let address: UInt

    /// Returns an array of `count` numbers whose pieces `fill` initializes concurrently. Piece `i` starts at
    /// `starts[i]` and must be initialized up to the start of the next.
    static func make(
        starts: [Int], count: Int, fill: @Sendable (_ piece: Int, _ target: UnsafeMutablePointer<UInt32>) -> Void
    ) -> [UInt32] {
        [UInt32](unsafeUninitializedCapacity: count) { numbers, initialized in
            guard count > 0, let base = numbers.baseAddress else { return }
            let column = ConcurrentColumn(address: UInt(bitPattern: base))
            DispatchQueue.concurrentPerform(iterations: starts.count) { piece in
                guard let base = UnsafeMutablePointer<UInt32>(bitPattern: column.address) else { return }
                fill(piece, base + starts[piece])
            }
            initialized = count
        }
    }
}

/// Runs two computations concurrently and waits for both.
func concurrently<First: Sendable, Second: Sendable>(
    _ first: @Sendable () -> First, _ second: @Sendable () -> Second
) -> (First, Second) {
    let firstResult = Mutex<First?>(nil)
    let secondResult = Mutex<Second?>(nil)
    DispatchQueue.concurrentPerform(iterations: 2) { index in
        if index == 0 {
            let result = first()
            firstResult.withLock { $0 = result }
        } else {
            let result = second()
            secondResult.withLock { $0 = result }
        }
    }
    guard let first = firstResult.withLock({ $0 }), let second = secondResult.withLock({ $0 }) else {
        preconditionFailure("both computations have run")
    }
    return (first, second)
}
