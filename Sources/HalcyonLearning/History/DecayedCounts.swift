/// A count of events at four time scales, each with its half-life in requests. 16 bytes.
struct DecayedCounts: BitwiseCopyable {
    /// The octaves that each count loses per request: the inverse of its half-life.
    private static var rates: (Float, Float, Float, Float) {
        @inline(__always) get { (0.01, 0.001, 0.000_1, 0.000_01) }
    }

    private(set) var c0: Float = 0
    private(set) var c1: Float = 0
    private(set) var c2: Float = 0
    private(set) var c3: Float = 0

    /// Decays the counts by a number of requests.
    @inline(__always)
    mutating func decay(by requests: UInt32) {
        let rates = Self.rates
        let octaves = -FastMath.float(requests) * SIMD4(rates.0, rates.1, rates.2, rates.3)
        let factors = FastMath.exp2(octaves)
        c0 *= factors[0]
        c1 *= factors[1]
        c2 *= factors[2]
        c3 *= factors[3]
    }

    /// Decays the counts of several objects: four rows of `count`, each with the counts of one time scale.
    ///
    /// - Parameter requests: the number of requests for each object.
    static func decay(
        _ counts: UnsafeMutablePointer<Float>, by requests: UnsafePointer<Float>, count: Int, _ vectors: VectorKernels
    ) {
        vectors.decay(counts, by: requests, rate: rates.0, count: count)
        vectors.decay(counts + count, by: requests, rate: rates.1, count: count)
        vectors.decay(counts + 2 * count, by: requests, rate: rates.2, count: count)
        vectors.decay(counts + 3 * count, by: requests, rate: rates.3, count: count)
    }

    /// Writes the four counts.
    @inline(__always)
    func write(to numbers: UnsafeMutablePointer<Float>) {
        (numbers[0], numbers[1], numbers[2], numbers[3]) = (c0, c1, c2, c3)
    }

    /// Counts one event.
    @inline(__always)
    mutating func increment() {
        c0 += 1
        c1 += 1
        c2 += 1
        c3 += 1
    }

    init() {}

    /// The counts in eight bytes, each a `Float` without its lower half: within 0.4 %. Above 512, one more event no longer
    /// changes a count, which affects no decision.
    struct Short: BitwiseCopyable {
        private var c0: UInt16 = 0
        private var c1: UInt16 = 0
        private var c2: UInt16 = 0
        private var c3: UInt16 = 0

        init() {}

        init(_ counts: DecayedCounts) {
            c0 = Short.upper(counts.c0)
            c1 = Short.upper(counts.c1)
            c2 = Short.upper(counts.c2)
            c3 = Short.upper(counts.c3)
        }

        var counts: DecayedCounts {
            @inline(__always) get {
                var counts = DecayedCounts()
                counts.c0 = Short.float(c0)
                counts.c1 = Short.float(c1)
                counts.c2 = Short.float(c2)
                counts.c3 = Short.float(c3)
                return counts
            }
        }

        @inline(__always)
        private static func upper(_ value: Float) -> UInt16 {
            UInt16(truncatingIfNeeded: (value.bitPattern &+ 0x8000) >> 16)
        }

        @inline(__always)
        private static func float(_ upper: UInt16) -> Float { Float(bitPattern: UInt32(upper) << 16) }
    }

    /// Creates the counts that ``packed`` holds, within 5 %.
    init(packed: UInt32) {
        c0 = DecayedCounts.unpack(packed & 0xFF)
        c1 = DecayedCounts.unpack(packed >> 8 & 0xFF)
        c2 = DecayedCounts.unpack(packed >> 16 & 0xFF)
        c3 = DecayedCounts.unpack(packed >> 24)
    }

    /// The counts in four bytes.
    var packed: UInt32 {
        let (low, high) = (DecayedCounts.pack(c0) | DecayedCounts.pack(c1) << 8, DecayedCounts.pack(c2))
        return low | high << 16 | DecayedCounts.pack(c3) << 24
    }

    private static func pack(_ count: Float) -> UInt32 {
        UInt32(min(FastMath.log2(count + 1) * 16 + 0.5, 255))
    }

    private static func unpack(_ octaves: UInt32) -> Float {
        octaves == 0 ? 0 : FastMath.exp2(Float(octaves) / 16) - 1
    }
}
