import HalcyonEviction

/// What 3L-Cache knows of an object: its size, frequency and last request, and the distances between its last requests.
struct ThreeLRecord: BitwiseCopyable {
    /// The number of features; see ``fill(_:at:)``.
    static let features = 6
    /// The most requests that are counted.
    static let largestFrequency = UInt16.max

    var size: Int
    var lastRequest: UInt32
    /// The time of the first request, which tells objects apart that had the same number one after the other.
    let firstRequest: UInt32
    var frequency: UInt16 = 1
    /// The distances between the last four requests, the newest first; 0 where there is none.
    var distances: (UInt32, UInt32, UInt32) = (0, 0, 0)
    /// The time of the sample that waits for a label, or 0.
    var sample: UInt32 = 0
    /// The place in the ring of evicted entries; undefined for residents.
    var place: UInt32 = 0

    init(size: Int, firstRequest: UInt32) {
        self.size = size
        self.firstRequest = firstRequest
        lastRequest = firstRequest
    }

    /// Adds a request.
    mutating func request(at now: UInt32) {
        distances = (now &- lastRequest, distances.0, distances.1)
        lastRequest = now
        if frequency < Self.largestFrequency { frequency += 1 }
    }

    /// Writes the features at a time: the age, three distances, the size and the frequency.
    func fill(_ row: UnsafeMutablePointer<Double>, at time: UInt32) {
        row[0] = Double(time &- lastRequest)
        row[1] = Double(distances.0)
        row[2] = Double(distances.1)
        row[3] = Double(distances.2)
        row[4] = Double(size)
        row[5] = Double(frequency)
    }
}
