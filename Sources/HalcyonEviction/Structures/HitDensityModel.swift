/// What ``LHD`` has learnt: for each class of entries and each age, how many hits an entry of that age still gives for the
/// time that it still stays.
///
/// Ages are counted in ticks of 2^n accesses; the tick is set so that the ages reach far beyond the time that an entry
/// stays, and older ones count as the last. Counts fade by 0.9 with every lesson. Recording and reading are O(1), a lesson
/// is O(classes · ages). 12 bytes for each class and age.
struct HitDensityModel: ~Copyable {
    /// The number of classes.
    static let classes = 16
    /// The number of ages that are told apart.
    static let ages = 512
    /// The age of what is older than can be told.
    static let oldest = ages - 1
    /// Ticks in as many accesses as there are residents; the ages reach 128 times as far.
    private static let ticksPerTurnover = 4
    private static let fading: Float = 0.9

    private var shift: UInt32 = 10
    private var hits = SlotArray<Float>(repeating: 0, capacity: classes * ages)
    private var evictions = SlotArray<Float>(repeating: 0, capacity: classes * ages)
    private var densities = SlotArray<Float>(repeating: 0, capacity: classes * ages)

    /// A model that has seen nothing: the younger an entry and the sooner it came back, the better.
    init() {
        for kind in 0..<HitDensityModel.classes {
            for age in 0..<HitDensityModel.ages { densities[slot(kind, age)] = Float(kind + 17) / Float(age + 1) }
        }
    }

    /// The heap bytes held.
    var byteCount: Int { hits.byteCount + evictions.byteCount + densities.byteCount }

    /// The age of what was last asked for `time` accesses ago.
    @inline(__always)
    func age(after time: UInt32) -> Int { min(Int(time >> shift), HitDensityModel.oldest) }

    /// The class of entries whose ages at their last two hits sum to `age`: 0 for all that can be told and more, one more
    /// each time that this halves.
    @inline(__always)
    static func kind(ofAge age: Int) -> Int {
        if age == 0 { return classes - 1 }
        let halvings = age.leadingZeroBitCount - (ages - 1).leadingZeroBitCount
        return min(max(halvings + 1, 0), classes - 1)
    }

    /// What an entry of this class and age is worth.
    @inline(__always)
    func density(kind: Int, age: Int) -> Float { densities[slot(kind, age)] }

    /// An entry of this class was hit at this age.
    @inline(__always)
    mutating func recordHit(kind: Int, age: Int) { hits[slot(kind, age)] += 1 }

    /// An entry of this class was evicted at this age.
    @inline(__always)
    mutating func recordEviction(kind: Int, age: Int) { evictions[slot(kind, age)] += 1 }

    /// Computes the densities from what was recorded; older records count for less.
    mutating func learn() {
        for kind in 0..<HitDensityModel.classes {
            // From the oldest age down: the hits and the time of all that reach an age are sums over the later ones.
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

    /// Sets the tick for a cache of so many residents; what was recorded moves to its new age.
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

    /// Spreads what was recorded at an age evenly over `width` ages from `target` on.
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
