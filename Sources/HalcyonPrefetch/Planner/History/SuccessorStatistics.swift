import HalcyonEviction
import HalcyonLearning

/// Which objects come after which, over all users, and how wrong the network is about it.
///
/// Every pair of objects that came one after the other is counted, ever and as of late; the best successors of an object are
/// listed besides, to be candidates, and of each pair what came after both (``Pair/follower``). A pair also has a ``Pair/bias``: what the network says too little or too much of it.
/// The network sees what pairs have in common, and few of them have samples enough to be learnt by; this is what is left.
/// O(1) an access. Bytes: 28 an object and 224 for its lists; 28 a place of ``PairRows``, of which there are at most
/// ``pairBound``.
struct SuccessorStatistics: ~Copyable {
    static let pairBound = 3 << 20
    /// Successors that are listed of each object.
    static let width = 16
    /// Those that are listed as of late, and the half-life of all counts as of late, in requests.
    static let lateWidth = 12
    static let halfLife: Float = 2_000

    struct Record: BitwiseCopyable {
        /// How often anything came after the object.
        var followed: Float = 0
        /// The same, decayed with ``halfLife`` as of the request ``last``.
        var late: Float = 0
        var last: UInt32 = 0
    }

    struct Pair: BitwiseCopyable {
        /// What is kept of both sums when another sample is added, and the information that is taken for known before any.
        private static let keep: Float = 0.99
        private static let prior: Float = 4

        /// How often the one came after the other: 1 at once, a half with one request between.
        var count: Float = 0
        /// The same, decayed with ``halfLife`` as of the request ``last``.
        var late: Float = 0
        var last: UInt32 = 0
        /// Over samples of the pair: labels less what the network said, and how much such a sample tells.
        private var error: Float = 0
        private var information: Float = 0
        /// What came after both.
        var successor = MajoritySuccessor()

        /// By how much the logit of the pair is greater than the network says: one step of Newton's method towards the
        /// likeliest, from samples that the network alone is asked about.
        var bias: Float { error / (information + Self.prior) }

        /// Takes a sample into account.
        ///
        /// - Parameter probability: what the network alone says of it among all samples that are learnt from.
        mutating func note(probability: Float, isPositive: Bool) {
            error = error * Self.keep + ((isPositive ? 1 : 0) - probability)
            information = information * Self.keep + probability * (1 - probability)
        }
    }

    private var records = HeapArray(repeating: Record(), count: 0)
    private(set) var pairs = PairRows(repeating: Pair(), bound: pairBound)
    /// The successors of each object, the most frequent first; ever, and as of late.
    private(set) var ever = RankedLists(width: width)
    private(set) var late = RankedLists(width: lateWidth)

    var byteCount: Int { records.byteCount + pairs.byteCount + ever.byteCount + late.byteCount }

    subscript(object: UInt32) -> Record {
        @inline(__always) get { Int(object) < records.count ? records[Int(object)] : Record() }
    }

    /// A user asked for `next` with request `now`, after `object`, and before that for `earlier`, where there were any.
    mutating func note(_ next: UInt32, after object: UInt32, and earlier: UInt32, now: UInt32) {
        note(next, after: object, distance: 1, now: now)
        note(next, after: earlier, distance: 2, now: now)
        if earlier < PlannerObjects.bound { pairs.updateKnown(earlier, object) { $0.successor.note(next) } }
    }

    /// `next` came after `object`, `distance` steps of the user later (1: at once).
    mutating func note(_ next: UInt32, after object: UInt32, distance: Int, now: UInt32) {
        guard object < PlannerObjects.bound, next != object else { return }
        let (place, weight) = (Int(object), distance == 1 ? 1 : Float(0.5))
        if place >= records.count { records.grow(to: max(place + 1, records.count * 3 / 2, 64), filling: Record()) }
        let rest = Self.rest(since: records[place].last, now: now)
        records[place].late *= rest
        records[place].last = now
        if distance == 1 {
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

    /// Takes a sample of `next` after `object` into account of which the label has become known, if it ever came after it.
    ///
    /// - Parameter probability: what the network alone says of it among all samples that are learnt from.
    mutating func note(_ next: UInt32, after object: UInt32, probability: Float, isPositive: Bool) {
        guard object < PlannerObjects.bound else { return }
        pairs.updateKnown(object, next) { $0.note(probability: probability, isPositive: isPositive) }
    }

    /// Has what comes after an object on its way from memory.
    func prefetchIntoCPUCache(_ object: UInt32) {
        pairs.expect(object)
        ever.prefetchIntoCPUCache(Int(object))
        late.prefetchIntoCPUCache(Int(object))
    }

    /// What is left by now of a count as of late.
    @inline(__always)
    static func rest(since last: UInt32, now: UInt32) -> Float {
        FastMath.exp2(-FastMath.float(now &- last) / halfLife)
    }
}

/// What comes after something, as far as four bytes can tell: one object, and how much more often it came than others.
///
/// The object is that of a majority, if there is one (Boyer and Moore: MJRTY, a fast majority vote algorithm, 1981); what came
/// after it most often in a long time is found again after as many steps as it is ahead. O(1).
struct MajoritySuccessor: BitwiseCopyable {
    private static let objectBits: UInt32 = 22
    private static let unknown: UInt32 = 1 << objectBits - 1
    private static let most: UInt32 = .max >> objectBits

    private var bits = unknown

    /// The object; `UInt32.max` as long as none is known.
    var object: UInt32 {
        @inline(__always) get {
            let object = bits & Self.unknown
            return object == Self.unknown ? .max : object
        }
    }

    /// How many more times it came than others, less one; at most 1,023.
    var lead: UInt32 {
        @inline(__always) get { bits >> Self.objectBits }
    }

    /// An object with a number below ``PlannerObjects/bound`` came.
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
