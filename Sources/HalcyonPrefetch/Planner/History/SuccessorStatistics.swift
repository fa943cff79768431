import HalcyonEviction
import HalcyonLearning

/// The statistics of pairs of successive objects over all users, and the network's error for each pair.
///
/// Every pair is counted, over all time and recently. The best successors of each object are listed as candidates.
/// Each pair also has its likely successor (``Pair/successor``) and a bias (``Pair/bias``): the part of the pair's log
/// odds that the network does not predict. The network learns what pairs have in common; most pairs have too few
/// samples for more.
///
/// O(1) an access. Bytes: 28 an object and 224 for its lists; 28 a place of ``PairRows``, of which there are at most
/// ``pairBound``.
struct SuccessorStatistics: ~Copyable {
    static let pairBound = 3 << 20
    /// The number of listed successors of each object.
    static let width = 16
    /// The number of listed recent successors, and the half-life of all recent counts, in requests.
    static let lateWidth = 12
    static let halfLife: Float = 2_000

    /// The number of successors at which all counts of an object are halved: a `Float` counts single ones up to 2²⁴.
    var mostFollowed: Float = 0x1p23

    struct Record: BitwiseCopyable {
        /// The number of successors of the object.
        var followed: Float = 0
        /// The same, decayed with ``halfLife`` as of the request ``last``.
        var late: Float = 0
        var last: UInt32 = 0
    }

    struct Pair: BitwiseCopyable {
        /// The decay of both sums a sample, and the prior information.
        private static let keep: Float = 0.99
        private static let prior: Float = 4

        /// The number of times that the second object followed: 1 for the next request, a half for the one after it.
        var count: Float = 0
        /// The same, decayed with ``halfLife`` as of the request ``last``.
        var late: Float = 0
        var last: UInt32 = 0
        /// The sum over samples of the label minus the network's probability, and the sum of their Fisher information.
        private var error: Float = 0
        private var information: Float = 0
        /// The likely successor of both objects.
        var successor = MajoritySuccessor()

        /// The correction of the pair's logit: one step of Newton's method towards the maximum likelihood, from
        /// samples of the network alone.
        var bias: Float { error / (information + Self.prior) }

        /// Records a sample.
        ///
        /// - Parameter probability: the network's probability among all training samples.
        mutating func note(probability: Float, isPositive: Bool) {
            error = error * Self.keep + ((isPositive ? 1 : 0) - probability)
            information = information * Self.keep + probability * (1 - probability)
        }
    }

    private var records = HeapArray(repeating: Record(), count: 0)
    private(set) var pairs = PairRows(repeating: Pair(), bound: pairBound)
    /// The successors of each object, most frequent first: over all time, and recent.
    private(set) var ever = RankedLists(width: width)
    private(set) var late = RankedLists(width: lateWidth)

    var byteCount: Int { records.byteCount + pairs.byteCount + ever.byteCount + late.byteCount }

    subscript(object: UInt32) -> Record {
        @inline(__always) get { Int(object) < records.count ? records[Int(object)] : Record() }
    }

    /// Records that a user requested `next` with request `now`, after `object`, and before that `earlier`, if there
    /// were any.
    mutating func note(_ next: UInt32, after object: UInt32, and earlier: UInt32, now: UInt32) {
        note(next, after: object, distance: 1, now: now)
        note(next, after: earlier, distance: 2, now: now)
        if earlier < PlannerObjects.bound { pairs.updateKnown(earlier, object) { $0.successor.note(next) } }
    }

    /// Records that `next` followed `object` at a distance of `distance` steps of the user (1: the next one).
    mutating func note(_ next: UInt32, after object: UInt32, distance: Int, now: UInt32) {
        guard object < PlannerObjects.bound, next != object else { return }
        let (place, weight) = (Int(object), distance == 1 ? 1 : Float(0.5))
        if place >= records.count { records.grow(to: max(place + 1, records.count * 3 / 2, 64), filling: Record()) }
        let rest = Self.rest(since: records[place].last, now: now)
        records[place].late *= rest
        records[place].last = now
        if distance == 1 {
            if records[place].followed >= mostFollowed { halve(object) }
            records[place].followed += 1
            records[place].late += 1
        }
        pairs.update(object, next) { pair in
            pair.count += weight
            pair.late = pair.late * Self.rest(since: pair.last, now: now) + weight
            pair.last = now
        }
        ever.add(weight, to: next, fade: 2 / Float(Self.width), in: place)
        late.scale(by: rest, in: place)
        late.add(weight, to: next, fade: 2 / Float(Self.lateWidth), in: place)
    }

    /// Halves all counts of an object, which keeps their ratios.
    @inline(never)
    private mutating func halve(_ object: UInt32) {
        records[Int(object)].followed /= 2
        pairs.updateAll(of: object) { $0.count /= 2 }
        ever.scale(by: 0.5, in: Int(object))
    }

    /// Records a labelled sample of `next` after `object`, if that pair was ever counted.
    ///
    /// - Parameter probability: the network's probability among all training samples.
    mutating func note(_ next: UInt32, after object: UInt32, probability: Float, isPositive: Bool) {
        guard object < PlannerObjects.bound else { return }
        pairs.updateKnown(object, next) { $0.note(probability: probability, isPositive: isPositive) }
    }

    /// Limits the time since the last request of each object and each pair; see `WrappingClock`. O(objects + pairs).
    mutating func limitAges(at now: UInt32) {
        for place in 0..<records.count { records[place].last = WrappingClock.limited(records[place].last, now: now) }
        pairs.updateAll { $0.last = WrappingClock.limited($0.last, now: now) }
    }

    /// Loads the successors of an object into the CPU's cache.
    func prefetchIntoCPUCache(_ object: UInt32) {
        pairs.expect(object)
        ever.prefetchIntoCPUCache(Int(object))
        late.prefetchIntoCPUCache(Int(object))
    }

    /// Returns the factor by which a recent count has decayed.
    @inline(__always)
    static func rest(since last: UInt32, now: UInt32) -> Float {
        FastMath.exp2(-FastMath.float(now &- last) / halfLife)
    }
}

/// The likely successor of something in four bytes: one object and its lead over the others.
///
/// The object is that of a majority, if there is one (Boyer and Moore: MJRTY, a fast majority vote algorithm, 1981).
/// An object that was the most frequent for long is replaced after as many other steps as its lead. O(1).
struct MajoritySuccessor: BitwiseCopyable {
    private static let objectBits: UInt32 = 22
    private static let unknown: UInt32 = 1 << objectBits - 1
    private static let most: UInt32 = .max >> objectBits

    private var bits = unknown

    /// The object; `UInt32.max` while none is known.
    var object: UInt32 {
        @inline(__always) get {
            let object = bits & Self.unknown
            return object == Self.unknown ? .max : object
        }
    }

    /// The number of its votes over those of others, less one; at most 1,023.
    var lead: UInt32 {
        @inline(__always) get { bits >> Self.objectBits }
    }

    /// Records an object with a number below ``PlannerObjects/bound``.
    @inline(__always)
    mutating func note(_ object: UInt32) {
        if object == self.object {
            if lead < Self.most { bits &+= 1 << Self.objectBits }
        } else if lead > 0 {
            bits &-= 1 << Self.objectBits
        } else {
            bits = object
        }
    }
}
