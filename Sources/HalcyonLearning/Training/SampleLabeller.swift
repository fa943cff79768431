import HalcyonEviction

/// Takes samples of the objects of one cache and labels each when the label window has passed: positive if its object was
/// requested meanwhile. Then the sample goes to the ``OnlineTrainer``.
///
/// The positive ones wait as long as the others. If they went at once, the first samples would all be positive.
///
/// Operations are amortised O(samples taken).
struct SampleLabeller: ~Copyable {
    /// The most samples that wait for their label.
    private static let pendingBound = 1 << 15
    /// The samples per request that fit in the bound, times the label window; a little less than the bound.
    private static let fittingSamples = 32_000.0

    private let learner: UnsafeMutablePointer<Learner>
    private let samplesPerRequest: Double
    private let learns: Bool
    private let usesUniformSizes: Bool

    private var pending = PendingSamples(bound: SampleLabeller.pendingBound)
    /// The label window in requests, as of the present request.
    private(set) var window = 0
    private var capacity: Double
    /// The objects that were inserted so far, and their size: the cache's residents are estimated from their mean size.
    private var insertions = 0.0
    private var insertedSize = 0.0
    /// The estimate of the residents; changes with an insertion and the capacity only.
    private var residents = 0.0
    /// The samples that are still to be taken, with a fraction.
    private var credit = 0.0
    /// The samples that the sampling rate asked for and the bound had no room for.
    private(set) var samplesNotTaken = 0.0

    init(learner: UnsafeMutablePointer<Learner>, parameters: LearnedParameters, context: PolicyContext) {
        self.learner = learner
        samplesPerRequest = parameters.sampling
        learns = parameters.learns
        capacity = Double(max(context.capacity, 0))
        usesUniformSizes = context.usesUniformSizes
    }

    var byteCount: Int { pending.byteCount }

    /// Whether samples are taken: not before the cache has filled a quarter of its capacity once.
    var isSampling: Bool { insertedSize >= capacity / 4 && learns }

    /// Starts request `now`: sets the label window, and hands over the samples whose window has passed.
    @inline(__always)
    mutating func begin(_ now: Int, missRatio: Double) {
        let learner = learner
        window = learner.pointee.labelWindow.requests(
            residents: residents, missRatio: missRatio, usesUniformSizes: usesUniformSizes)
        if pending.isDue(now: now, window: window) { handOver(now) }
    }

    /// Hands over the samples whose window has passed.
    @inline(never)
    private mutating func handOver(_ now: Int) {
        let learner = learner
        while let due = pending.popDue(now: now, window: window) {
            learner.pointee.trainer.add(due.row, isPositive: due.isPositive)
        }
    }

    /// Gives a positive label to the samples of an object that is requested now.
    @inline(__always)
    mutating func labelSamples(of record: UnsafeMutablePointer<ObjectRecord>) {
        var number = record.pointee.pending
        while let older = pending.label(number) { number = older }
        record.pointee.pending = ObjectRecord.none
    }

    /// Takes the samples of a request: two thirds of random residents and one third of the accessed object. Takes fewer once
    /// the network has settled, and where the window is too long to keep so many samples.
    ///
    /// - Parameters:
    ///   - includesAccessed: whether accessed objects are sampled at all. Caches that share a model sample residents only:
    ///     their network ranks residents better if it has seen nothing else.
    ///   - newObject: the record of the object that is not resident yet, or `none`.
    mutating func sample(
        accessed: UInt32, includesAccessed: Bool, newObject: UInt32, history: inout ObjectHistory,
        _ generator: inout SplitMix64, at instant: FeatureInstant
    ) {
        guard isSampling, learner.pointee.trainer.needsSamples else { return }
        let steps = learner.pointee.trainer.steps
        let isOffline = learner.pointee.trainer.offline != nil
        let settled =
            isOffline || steps < 2_000
            ? 1.0 : steps < 3_000 ? 0.5 : steps < 4_000 ? 0.25 : steps < 8_000 ? 0.1 : 0.03
        var share = samplesPerRequest * settled
        // A division takes long, and most windows are far shorter than the bound.
        if share * Double(window) > SampleLabeller.fittingSamples * 0.99 {
            let fitting = SampleLabeller.fittingSamples / Double(window)
            if share > fitting { samplesNotTaken += share - fitting }
            share = min(share, fitting)
        }
        credit += share
        while credit >= 1 {
            credit -= 1
            let takesAccessed = includesAccessed && generator.next(below: 3) == 0
            let slot = takesAccessed ? accessed : history.randomResident(&generator, excluding: newObject)
            if slot != ObjectRecord.none { take(slot, of: history.records.base, at: instant) }
        }
        if credit + share >= 1 {
            // The next request takes a sample: most likely of this resident.
            var generator = generator
            if !includesAccessed || generator.next(below: 3) != 0 {
                history.expectRandomResidents(&generator, count: 1)
            }
        }
    }

    /// Takes a sample of one object, unless too many samples wait for their label.
    mutating func take(
        _ slot: UInt32, of records: UnsafeMutablePointer<ObjectRecord>, at instant: FeatureInstant
    ) {
        if pending.isFull {
            samplesNotTaken += 1
            return
        }
        let learner = learner
        let record = records + Int(slot)
        let (number, row) = pending.push(now: instant.request, older: record.pointee.pending)
        learner.pointee.features.write(record, at: instant, into: row)
        record.pointee.pending = number
    }

    /// Counts an object that was inserted.
    @inline(__always)
    mutating func countInsertion(size: Int) {
        insertedSize += Double(max(size, 0))
        insertions += 1
        estimateResidents()
    }

    @inline(__always)
    private mutating func estimateResidents() {
        residents = insertions > 0 ? capacity * insertions / max(insertedSize, 1) : 0
    }

    /// Returns whether a sample waits for its label.
    func isWaiting(_ number: UInt32) -> Bool { pending.isWaiting(number) }

    /// Changes the capacity of the cache.
    mutating func resize(to capacity: Int) {
        self.capacity = Double(max(capacity, 0))
        estimateResidents()
    }
}
