import HalcyonEviction

/// The past of objects with at least two requests, as LRB's features see it.
///
/// - The distances (deltas) between consecutive requests, at most the last 31, in requests.
/// - Ten exponentially decayed counters: counter i is multiplied by 2^(-⌊distance / 2^(10 + i)⌋) and increased by 1 at
///   each request. The paper divides by 2^(9 + i) with i from 1 and does not round; we follow the authors' code.
///
/// Every operation is O(1). Bytes a history: 166, and 4 a history that was released.
struct RequestHistories: ~Copyable {
    /// The most distances of a history.
    static let distances = 31
    /// The number of decayed counters.
    static let counters = 10
    /// The number of features of an object; see ``fill(_:of:age:size:window:)``.
    static let features = distances + counters + 3

    /// A ring for each history: ``distances`` places each.
    private var rings: SlotArray<UInt32>
    /// The number of distances, and the place of the newest.
    private var lengths: SlotArray<UInt8>
    private var newest: SlotArray<UInt8>
    private var decayed: SlotArray<Float>
    private var released: [UInt32] = []
    private var used: UInt32 = 0

    init() {
        rings = SlotArray(repeating: 0)
        lengths = SlotArray(repeating: 0)
        newest = SlotArray(repeating: 0)
        decayed = SlotArray(repeating: 0)
    }

    /// The heap bytes in use.
    var byteCount: Int {
        rings.byteCount + lengths.byteCount + newest.byteCount + decayed.byteCount
            + released.capacity * MemoryLayout<UInt32>.stride
    }

    /// Begins the history of an object at its second request.
    mutating func begin(distance: UInt32) -> UInt32 {
        let history: UInt32
        if let free = released.popLast() { history = free } else { (history, used) = (used, used + 1) }
        lengths[history] = 1
        newest[history] = 0
        rings[wide: Int(history) * Self.distances] = distance
        for counter in 0..<Self.counters {
            decayed[wide: Int(history) * Self.counters + counter] = Float(Self.decay(distance, counter) + 1)
        }
        return history
    }

    /// Adds the distance of a further request.
    mutating func append(distance: UInt32, to history: UInt32) {
        let place = (Int(newest[history]) + 1) % Self.distances
        newest[history] = UInt8(place)
        lengths[history] = min(lengths[history] + 1, UInt8(Self.distances))
        rings[wide: Int(history) * Self.distances + place] = distance
        for counter in 0..<Self.counters {
            let index = Int(history) * Self.counters + counter
            decayed[wide: index] = Float(Double(decayed[wide: index]) * Self.decay(distance, counter) + 1)
        }
    }

    /// Ends a history. Another object may take its place.
    mutating func release(_ history: UInt32) { released.append(history) }

    /// Writes the features of an object.
    ///
    /// They are its age, and the distances from the newest to the oldest, 0 where there is none. Its size, the number of
    /// distances within the window, and the counters decayed by the age follow.
    ///
    /// - Parameters:
    ///   - row: ``features`` values.
    ///   - history: `UInt32.max` for an object with one request.
    ///   - age: the requests since the last one of the object.
    ///   - window: the memory window in requests.
    func fill(
        _ row: UnsafeMutablePointer<Double>, of history: UInt32, age: UInt32, size: Int, window: Int
    ) {
        row[0] = Double(age)
        let length = history == .max ? 0 : Int(lengths[history])
        var (past, within) = (0, 0)
        var place = Int(newest[history])
        for index in 0..<length {
            let distance = rings[wide: Int(history) * Self.distances + place]
            row[1 + index] = Double(distance)
            past += Int(distance)
            if past < window { within += 1 }
            place = place == 0 ? Self.distances - 1 : place - 1
        }
        for index in length..<Self.distances { row[1 + index] = 0 }
        row[Self.distances + 1] = Double(size)
        row[Self.distances + 2] = Double(within)
        for counter in 0..<Self.counters {
            let count = history == .max ? 1 : Double(decayed[wide: Int(history) * Self.counters + counter])
            row[Self.distances + 3 + counter] = count * Self.decay(age, counter)
        }
    }

    /// Returns 2^(-⌊distance / 2^(10 + counter)⌋).
    @inline(__always)
    private static func decay(_ distance: UInt32, _ counter: Int) -> Double {
        powers[min(Int(distance >> UInt32(10 + counter)), powers.count - 1)]
    }

    /// 2^(-n) for each n, down to 0.
    private static let powers: [Double] = (0...1_075).map { exponent in
        exponent < 1_075 ? Double(sign: .plus, exponent: -exponent, significand: 1) : 0
    }
}
