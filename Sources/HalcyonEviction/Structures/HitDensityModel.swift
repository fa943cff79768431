/// The model of ``LHD``: for each class of entries and each age, the expected hits of an entry of that age for the
/// time that it will still be resident.
///
/// Ages are counted in ticks of 2^n accesses. The tick is chosen so that the largest age is far above the typical time
/// in the cache; larger ages count as the largest. Each update multiplies counts by 0.9. Recording and reading are
/// O(1), an update is O(classes · ages). 12 bytes for each class and age.
struct HitDensityModel: ~Copyable {
    /// The number of classes.
    static let classes = 16
    /// The number of distinct ages.
    static let ages = 512
    /// The largest age, which includes all larger ones.
    static let oldest = ages - 1
    /// The number of ticks in as many accesses as there are residents; the largest age is 128 times as many accesses.
    private static let ticksPerTurnover = 4
    private static let fading: Float = 0.9

    private var shift: UInt32 = 10
    private var hits = SlotArray<Float>(repeating: 0, capacity: classes * ages)
    private var evictions = SlotArray<Float>(repeating: 0, capacity: classes * ages)
    private var densities = SlotArray<Float>(repeating: 0, capacity: classes * ages)

    /// Creates a model without observations: densities are highest for young entries and for short times between hits.
    init() {
        for kind in 0..<HitDensityModel.classes {
            for age in 0..<HitDensityModel.ages { densities[slot(kind, age)] = Float(kind + 17) / Float(age + 1) }
        }
    }

    /// The number of heap bytes in use.
    var byteCount: Int { hits.byteCount + evictions.byteCount + densities.byteCount }

    /// Returns the age of an entry whose last request was `time` accesses ago.
    @inline(__always)
    func age(after time: UInt32) -> Int { min(Int(time >> shift), HitDensityModel.oldest) }

    /// Returns the class of entries whose ages at their last two hits have the sum `age`: 0 from the largest age on,
    /// and 1 more each time the sum halves.
    @inline(__always)
    static func kind(ofAge age: Int) -> Int {
        if age == 0 { return classes - 1 }
        let halvings = age.leadingZeroBitCount - (ages - 1).leadingZeroBitCount
        return min(max(halvings + 1, 0), classes - 1)
    }

    /// Returns the hit density of an entry of this class and age.
    @inline(__always)
    func density(kind: Int, age: Int) -> Float { densities[slot(kind, age)] }

    /// Records a hit on an entry of this class at this age.
    @inline(__always)
    mutating func recordHit(kind: Int, age: Int) { hits[slot(kind, age)] += 1 }

    /// Records the eviction of an entry of this class at this age.
    @inline(__always)
    mutating func recordEviction(kind: Int, age: Int) { evictions[slot(kind, age)] += 1 }

    /// Updates the densities from the recorded counts, with less weight for older counts.
    mutating func learn() {
        for kind in 0..<HitDensityModel.classes {
            // From the largest age down: the hits and the time after an age are sums over the larger ages.
            var (laterHits, laterEvents, time) = (Float(0), Float(0), Float(0))
            for age in stride(from: HitDensityModel.oldest, through: 0, by: -1) {
                let place = slot(kind, age)
                hits[place] *= HitDensityModel.fading
                evictions[place] *= HitDensityModel.fading
                laterHits += hits[place]
                laterEvents += hits[place] + evictions[place]
                time += laterEvents
                densities[place] = laterEvents > 1e-5 ? laterHits / time : 0
            }
        }
    }

    /// Sets the tick for a cache of `residents` entries and moves recorded counts to their new age.
    mutating func setTick(residents: Int) {
        let accesses = UInt32(truncatingIfNeeded: max(residents / HitDensityModel.ticksPerTurnover, 1))
        let old = shift
        shift = UInt32(accesses.bitWidth - (accesses - 1).leadingZeroBitCount)
        for kind in 0..<HitDensityModel.classes {
            if shift > old {
                for age in 1..<HitDensityModel.ages { move(kind, from: age, to: age >> Int(shift - old), width: 1) }
            } else if shift < old {
                let width = 1 << Int(old - shift)
                for age in stride(from: HitDensityModel.oldest, through: 0, by: -1) {
                    move(kind, from: age, to: age * width, width: width)
                }
            }
        }
    }

    /// Moves the counts of an age evenly to `width` ages from `target` on.
    private mutating func move(_ kind: Int, from age: Int, to target: Int, width: Int) {
        let source = slot(kind, age)
        let (hit, evicted) = (hits[source] / Float(width), evictions[source] / Float(width))
        (hits[source], evictions[source]) = (0, 0)
        for step in 0..<width {
            let place = slot(kind, min(target + step, HitDensityModel.oldest))
            hits[place] += hit
            evictions[place] += evicted
        }
    }

    @inline(__always)
    private func slot(_ kind: Int, _ age: Int) -> UInt32 {
        UInt32(truncatingIfNeeded: kind &* HitDensityModel.ages &+ age)
    }
}
