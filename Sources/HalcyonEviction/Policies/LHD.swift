/// LHD (least hit density) evicts, from a random sample of residents, the entry with the lowest hit density. That is
/// the number of expected hits for the space and time that the entry will still use. The model estimates it from the
/// past of entries of the same class and age.
///
/// The policy follows the authors' code. A class is given by the ages at the last two hits, and ages are counted in
/// coarse ticks. Entries above the largest age are evicted first. Recently inserted entries with low hit density are
/// candidates in addition to the sample. One access in 32 makes its entry an explorer, which is not evicted, so that
/// the model also observes large ages; explorers use at most 1 % of the capacity.
///
/// We update the model every 131,072 accesses and distinguish 512 ages. libCacheSim 0.3.5 uses 1,048,576 and 20,000
/// (61 MB of tables) and does not update its model on shorter traces. Over 80 runs on its traces, our misses are 1.2 %
/// lower.
///
/// A hit and an insertion are O(1) apart from updates of the model, an eviction is O(`sample`). Bytes: 98,304, 4 an
/// entry, and 20 a resident.
public struct LHD: ~Copyable, CataloguedPolicy {
    /// The parameters of the policy.
    public struct Parameters: PolicyParameters {
        /// The number of residents drawn for each eviction.
        public var sample = 32
        /// The number of accesses between updates of the model.
        public var interval = 131_072
        public static let table = [
            Parameter<Self>.integer("sample", \.sample, in: 1...65536, "residents drawn for each eviction"),
            .integer("interval", \.interval, in: 1...1_000_000_000, "accesses between updates of the model"),
        ]

        public init() {}
    }

    public static let info = PolicyInfo(
        name: "lhd",
        summary: "least hit density: evicts, of a sample, the entry with the fewest expected hits per space and time",
        source: "Beckmann, Chen, Cidon: LHD: improving cache hit rate by maximizing hit density, NSDI 2018",
        traits: [.isRandomised, .usesSizes])

    /// The state of a resident. Not private, because Swift 6.3 then emits invalid code for tests of this noncopyable type.
    struct Record: BitwiseCopyable {
        var since: UInt32
        var size: Float
        /// The ages at the last two hits, in ticks.
        var lastAge = UInt16(0)
        var ageBefore = UInt16(HitDensityModel.ages)
        var isExplorer = false

        var kind: Int { HitDensityModel.kind(ofAge: Int(lastAge) + Int(ageBefore)) }
    }

    private let parameters: Parameters
    private var model = HitDensityModel()
    private var pool: DensePool<Record>
    /// The most recently inserted entries with low hit density.
    private var poor = SlotArray(repeating: EntryID.none, capacity: 8)
    private var poorCount: UInt32 = 0
    private var victimDensity: Float = 0
    private var explorerBudget: Float
    private var capacity: Int
    /// The number of accesses, modulo 2³².
    var clock: UInt32 = 0
    private var untilLesson: Int
    private var lessons = 0
    private var generator: SplitMix64

    public init(_ parameters: Parameters, context: PolicyContext) {
        self.parameters = parameters
        pool = DensePool(capacity: context.entries)
        capacity = context.capacity
        explorerBudget = Float(capacity / 100)
        untilLesson = parameters.interval
        generator = SplitMix64(seed: context.seed)
    }

    public mutating func resize(to capacity: Int) {
        let spent = Float(self.capacity / 100) - explorerBudget
        explorerBudget = Float(capacity / 100) - spent
        self.capacity = capacity
    }

    public mutating func hit(_ access: Access) {
        var record = pool[access.entry]
        let age = model.age(after: clock &- record.since)
        model.recordHit(kind: record.kind, age: age)
        if record.isExplorer { explorerBudget += record.size }
        (record.ageBefore, record.lastAge) = (record.lastAge, UInt16(truncatingIfNeeded: age))
        record.since = clock
        record.isExplorer = drawExplorer(size: record.size)
        pool[access.entry] = record
        tick()
    }

    public mutating func victim(for access: Access) -> EntryID {
        let looksAtAll = pool.count <= parameters.sample
        var (victim, least) = (EntryID.none, Float.infinity)
        for turn in 0..<min(parameters.sample, pool.count) {
            let member = pool[looksAtAll ? turn : pool.draw(with: &generator)]
            let density = density(of: member.payload)
            if density < least { (victim, least) = (member.entry, density) }
        }
        for place in UInt32(0)..<8 where poor[place] != .none {
            let density = density(of: pool[poor[place]])
            if density < least { (victim, least) = (poor[place], density) }
        }
        victimDensity = 0.9 * victimDensity + 0.1 * least
        let record = pool[victim]
        model.recordEviction(kind: record.kind, age: model.age(after: clock &- record.since))
        remove(victim)
        return victim
    }

    public mutating func insert(_ access: Access) {
        var record = Record(since: clock, size: Float(max(access.size, 1)))
        record.isExplorer = drawExplorer(size: record.size)
        pool.insert(access.entry, record)
        if !record.isExplorer && density(of: record) < victimDensity {
            poor[poorCount % 8] = access.entry
            poorCount &+= 1
        }
        tick()
    }

    public mutating func remove(_ entry: EntryID) {
        let record = pool[entry]
        if record.isExplorer { explorerBudget += record.size }
        for place in UInt32(0)..<8 where poor[place] == entry { poor[place] = .none }
        pool.remove(entry)
    }

    public var metadataBytes: MetadataBytes {
        pool.metadataBytes + MetadataBytes(fixed: model.byteCount + poor.byteCount)
    }
    public var metrics: [PolicyMetric] { [PolicyMetric("lessons", Double(lessons))] }

    @inline(__always)
    private func density(of record: Record) -> Float {
        let age = model.age(after: clock &- record.since)
        if age == HitDensityModel.oldest { return -.greatestFiniteMagnitude }
        let density = model.density(kind: record.kind, age: age) / record.size
        return record.isExplorer ? density + 1 : density
    }

    @inline(__always)
    private mutating func drawExplorer(size: Float) -> Bool {
        guard generator.next(below: 32) == 0, explorerBudget > 0, lessons < 50 else { return false }
        explorerBudget -= size
        return true
    }

    /// See ``WrappingClock``.
    @inline(never)
    private mutating func limitAges() {
        let now = clock
        pool.updateAll { $0.since = WrappingClock.limited($0.since, now: now) }
    }

    @inline(__always)
    private mutating func tick() {
        clock &+= 1
        if WrappingClock.isSweepDue(clock) { limitAges() }
        untilLesson -= 1
        if untilLesson > 0 { return }
        if lessons == 1 || lessons == 5 || lessons == 25 { model.setTick(residents: pool.count) }
        model.learn()
        lessons += 1
        untilLesson = parameters.interval
    }
}
