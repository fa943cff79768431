/// A count of events at four time scales, each with its half-life in requests. 16 bytes.
struct DecayedCounts: BitwiseCopyable {
    /// The octaves that each count loses per request: the inverse of its half-life.
    private static var rates: SIMD4<Float> {
        @inline(__always) get { SIMD4(0.01, 0.001, 0.000_1, 0.000_01) }
    }

    /// The counts, that of the shortest half-life first.
    private(set) var values = SIMD4<Float>()

    init() {}

    /// Decays the counts by a number of requests.
    @inline(__always)
    mutating func decay(by requests: UInt32) {
        values *= FastMath.exp2(-FastMath.float(requests) * Self.rates)
    }

    /// Decays the counts of several objects: four rows of `count`, each with the counts of one time scale.
    ///
    /// - Parameter requests: the number of requests for each object.
    static func decay(
        _ counts: UnsafeMutablePointer<Float>, by requests: UnsafePointer<Float>, count: Int, _ vectors: VectorKernels
    ) {
        for scale in 0..<4 {
            vectors.decay(counts + scale * count, by: requests, rate: rates[scale], count: count)
        }
    }

    /// Writes the four counts, `stride` apart.
    @inline(__always)
    func write(to numbers: UnsafeMutablePointer<Float>, stride: Int = 1) {
        numbers[0] = values[0]
        numbers[stride] = values[1]
        numbers[2 * stride] = values[2]
        numbers[3 * stride] = values[3]
    }

    /// Counts one event.
    @inline(__always)
    mutating func increment() { values += 1 }

    /// The counts in eight bytes, each a `Float` without its lower half: within 0.4 %. Above 512, one more event no longer
    /// changes a count, which affects no decision.
    struct Short: BitwiseCopyable {
        private var upper = SIMD4<UInt16>()

        init() {}

        @inline(__always)
        init(_ counts: DecayedCounts) {
            let bits = unsafeBitCast(counts.values, to: SIMD4<UInt32>.self)
            upper = SIMD4(truncatingIfNeeded: (bits &+ 0x8000) &>> 16)
        }

        var counts: DecayedCounts {
            @inline(__always) get {
                var counts = DecayedCounts()
                let bits = SIMD4<UInt32>(truncatingIfNeeded: upper) &<< 16
                counts.values = unsafeBitCast(bits, to: SIMD4<Float>.self)
                return counts
            }
        }
    }

    /// Creates the counts that ``packed`` holds, within 5 %.
    init(packed: UInt32) {
        for scale in 0..<4 {
            let octaves = packed >> (8 * UInt32(scale)) & 0xFF
            values[scale] = octaves == 0 ? 0 : FastMath.exp2(Float(octaves) / 16) - 1
        }
    }

    /// The counts in four bytes, each in sixteenths of an octave.
    var packed: UInt32 {
        (0..<4).reduce(0) { packed, scale in
            packed | UInt32(min(FastMath.log2(values[scale] + 1) * 16 + 0.5, 255)) << (8 * UInt32(scale))
        }
    }
}
