import HalcyonEviction

/// An online learner that evicts the object with the least expected saving per byte (`MissCost`).
///
/// A request passes through these parts, each of which owns its state:
///
/// - `ObjectHistory` has the records of residents and of objects that left lately.
/// - `SampleLabeller` takes samples and labels them: is the object requested again within the `LabelWindow`?
/// - `OnlineTrainer` trains the network (`Perceptron`) on labelled samples.
/// - `FeatureAssembler` computes the network's inputs from the object, its categories and its users (`Feature`).
/// - `CandidateSampler` samples the residents that are compared, and scores them by one of two experts: the network or
///   `GreedyDual`.
/// - `Referee` simulates other policies, and hands decisions to one that saves more.
///
/// Trainer and features belong to the ``LearnedModel``, which several caches may share.
///
/// The new object is compared with the candidates, too: it is refused if its score is the lowest. An untrained policy
/// decides as `GreedyDual`. The network takes over after `OnlineTrainer.fewestSteps` steps.
///
/// The policy follows LRB (Song, Berger, Li, Lloyd: Learning relaxed Belady for content distribution network caching,
/// 2020). It differs in the model, the label, the candidates and the policies that it may follow.
///
/// A request is O(1) in the number of residents with uniform sizes, and O(log residents) with variable sizes, for the heap
/// of priorities. It also takes some rows of features and a share of a training step, and an eviction the rows of some
/// candidates and a share of a product. Decisions are deterministic by the seed.
///
/// Bytes: 4 an object number, 64 a resident, and 24 a remembered object (1.5 a resident by default). Priorities or the
/// shadow of LRU take at most 16 a resident. If numbers are reused once forgotten, this is 126 for each of the most
/// residents so far, or 128 with the reserve of growing arrays. Even the smallest cache remembers 1,024 objects. Waiting
/// samples take at most 1.8 MB. The model takes at most 6 MB, 1.6 MB more where it receives lists, and 20 bytes a
/// category set and 4 a member for at most 4 million sets. Simulations of the policies that it may follow take at most
/// some 10 MB, and in a larger cache of uniform sizes up to 600 bytes a resident while one may be followed. All of it
/// grows with use.
public struct LearnedPolicy: ~Copyable, CataloguedPolicy {
    public static let info = PolicyInfo(
        name: "learned", summary: "an online learner over recency, frequency, size, categories and users",
        source: "Halcyon; after Song, Berger, Li, Lloyd: Learning relaxed Belady, 2020",
        traits: [.usesSizes, .usesCategories, .usesTime, .usesUsers, .isRandomised, .hasAdmission, .usesLists],
        admissionRule: "refuses an object that scores below every candidate for eviction")

    /// The most users whose statistics are kept at a time. Users are numbered from 0, and those whose numbers are equal
    /// modulo this bound replace each other.
    public static let userBound = Int(UserCategoryFeatures.Bounds.cache.users)
    /// The most categories with statistics of their own. Categories whose numbers are equal modulo this bound share them.
    public static let categoryBound = Int(UserCategoryFeatures.Bounds.cache.categories)
    /// The most samples that wait for their label in one cache.
    public static let waitingSampleBound = 32_000

    let parameters: LearnedParameters
    let usesUniformSizes: Bool
    private let usesWorkload: Bool
    private let usesShowings: Bool
    /// Whether a network is trained.
    private let learns: Bool
    let model: LearnedModel
    /// The model's state; alive as long as ``model`` is.
    ///
    /// Methods that change it copy the pointer first: for the thread sanitizer, Swift 6.3 emits invalid code where a
    /// noncopyable type is mutated through a stored pointer.
    private let learner: UnsafeMutablePointer<Learner>
    /// Whether the model serves this cache alone.
    var ownsModel: Bool
    /// Whether this cache counts the model's bytes: the first of the caches that share it does.
    private let countsModel: Bool

    var history: ObjectHistory
    private var labeller: SampleLabeller
    var sampler: CandidateSampler
    var greedyDual: GreedyDual
    private var referee = Referee()
    private var workload = WorkloadStatistics()
    /// Records why one victim was chosen, if that is to be explained.
    private let observer: VictimObserver?
    private var generator: SplitMix64

    /// The number of requests so far: the logical time.
    var now = 0
    /// The wall time of the present request in seconds, modulo 2³².
    private var second: UInt32 = 0
    /// The moving miss ratio.
    private(set) var missRatio = 0.5
    /// The record of a missed object between ``admit(_:)`` and ``insert(_:)``, or `none`, and its score if it has one.
    private(set) var newObject = ObjectRecord.none
    private(set) var newObjectScore: Float?
    /// Whether a victim leaves because the owner of the cache lowers a limit or frees memory.
    private var isTrimming = false
    /// The expert that decides.
    private(set) var expert = Expert.greedyDual
    private(set) var evictions = 0
    private(set) var evictionsByNetwork = 0

    public static func makeModel(_ parameters: LearnedParameters, context: PolicyContext) -> LearnedModel? {
        LearnedModel(parameters.resolved(for: context), seed: context.seed)
    }

    public init(_ parameters: LearnedParameters, context: PolicyContext) {
        self.init(
            parameters, context: context, model: LearnedModel(ofOneCache: parameters, context: context))
    }

    public init(_ given: LearnedParameters, context: PolicyContext, model: LearnedModel) {
        let parameters = given.resolved(for: context)
        let (learner, missCost) = (model.learner, parameters.missCost)
        self.parameters = parameters
        usesUniformSizes = context.usesUniformSizes
        usesWorkload = parameters.groups.contains(.workload)
        usesShowings = learner.pointee.features.usesShowings
        learns = parameters.learns
        self.model = model
        self.learner = learner
        ownsModel = model.servesOneCache
        countsModel = !learner.pointee.isCounted
        learner.pointee.isCounted = true
        history = ObjectHistory(entries: context.entries, ghostsPerResident: parameters.history)
        labeller = SampleLabeller(learner: learner, parameters: parameters, context: context)
        sampler = CandidateSampler(
            learner: learner, parameters: parameters, usesUniformSizes: context.usesUniformSizes)
        greedyDual = GreedyDual(missCost: missCost, usesUniformSizes: context.usesUniformSizes)
        observer = model.watch.map { VictimObserver($0) }
        generator = SplitMix64(seed: context.seed)
        // Several caches that share a model learn from what this one has not seen.
        guard ownsModel && parameters.decider == .contest else { return }
        // What is prefetched takes space here and not in a shadow, which S3-FIFO or W-TinyLFU would be followed for. With variable
        // sizes the shadow of LRU protects from a model that was trained elsewhere; it costs where there is none.
        let hasShadows = context.usesUniformSizes ? !context.prefetches : parameters.start != nil
        referee = Referee(context, missCost: missCost, shadows: hasShadows && parameters.shadows == .on)
    }

    // MARK: The verbs of a request: a hit, or a miss that is admitted, makes room and is inserted

    public mutating func hit(_ access: Access) {
        closeRefusedObject()
        let slot = history.resident(access.entry)
        begin(access, isMiss: false)
        count(access, slot: slot, isMiss: false)
        sampler.remove(slot, records: history.records.base)
        history.moveToNewest(slot)
        greedyDual.update(slot, priority: history.records[Int(slot)].priority, now: now)
        sample(accessed: slot)
    }

    public mutating func admit(_ access: Access) -> Bool {
        closeRefusedObject()
        begin(access, isMiss: true)
        let slot = history.open(access.entry)
        history.records[Int(slot)].residentAccesses = 0
        history.records[Int(slot)].logSize = FastMath.log2(Float(max(access.size, 1)))
        count(access, slot: slot, isMiss: true)
        newObject = slot
        newObjectScore = nil
        sample(accessed: slot)
        return true
    }

    public mutating func victim(for access: Access) -> EntryID {
        switch history.oldest == ObjectRecord.none ? .learner : referee.nextDecider() {
        case .leader: return evictFollowing(access)
        case .leastRecent: return evictLeastRecent()
        case .learner: return evictLowest(access)
        }
    }

    /// Evicts the resident with the lowest score, or refuses a new object whose score is lower.
    private mutating func evictLowest(_ access: Access) -> EntryID {
        if sampler.needsScoring(residents: history.count, missRatio: missRatio) { renewCandidates() }
        let victim = lowestResident()
        let score = newObjectScore ?? (newObject == ObjectRecord.none ? .infinity : self.score(newObject))
        newObjectScore = score
        if newObject != ObjectRecord.none && score < victim.score {
            greedyDual.age(to: history.records[Int(newObject)].priority, isOwnChoice: expert != .network)
            sampler.countRefusal()
            countDecision()
            return access.entry
        }
        sampler.countEviction()
        countDecision()
        if expert == .network { evictionsByNetwork += 1 }
        let priority = history.records[Int(victim.slot)].priority
        let entry = evict(victim, by: expert.name)
        greedyDual.age(to: priority, isOwnChoice: expert != .network)
        return entry
    }

    public mutating func leastWanted(at now: Access) -> EntryID {
        // An object that was refused before is no candidate now; the victim is a resident.
        closeRefusedObject()
        newObjectScore = nil
        // A prefetched entry takes the place that LRU without prefetching still has.
        isTrimming = !now.isPrefetch
        defer { isTrimming = false }
        return victim(for: now)
    }

    public mutating func insert(_ access: Access) {
        let slot = newObject
        history.link(slot)
        newObject = ObjectRecord.none
        greedyDual.insert(slot, priority: history.records[Int(slot)].priority, now: now)
        if let score = newObjectScore, score < .infinity, expert == .network,
            sampler.hasRoom(residents: history.count, missRatio: missRatio)
        {
            sampler.add(slot, score: score, records: history.records.base)
        }
        labeller.countInsertion(size: access.size)
    }

    public mutating func remove(_ entry: EntryID) {
        closeRefusedObject()
        let slot = history.resident(entry)
        referee.remove(entry, last: history.records[Int(slot)].lastRequest(asOf: now))
        _ = close(slot)
    }

    /// The simulated policies do not hold what a filter in front of this one refuses.
    public mutating func cancelAdmission(_ access: Access) {
        referee.remove(access.entry, last: now)
    }

    public func remembers(_ entry: EntryID) -> Bool {
        // A new object that was just refused gets a ghost with the next request.
        history.remembersGhost(entry) || (newObject != ObjectRecord.none && history.resident(entry) == newObject)
    }

    public static var expectationSteps: Int { ObjectHistory.expectationSteps }

    @inline(__always)
    public mutating func expect(_ access: Access, step: Int) { history.expect(access.entry, step: step) }

    public mutating func resize(to capacity: Int) {
        labeller.resize(to: capacity)
        referee.resize(to: capacity, history: history)
    }

    public mutating func define(categorySet: CategorySetID, members: [UInt32]) {
        let learner = learner
        learner.pointee.features.userCategory.sets.define(categorySet, members: members)
    }

    public mutating func shown(_ objects: [UInt32]) {
        guard usesShowings else { return }
        let learner = learner
        learner.pointee.features.shown.note(objects)
    }

    // MARK: The steps of every request

    /// Starts a request: advances the time, and labels the samples whose label window has passed.
    @inline(__always)
    private mutating func begin(_ access: Access, isMiss: Bool) {
        now &+= 1
        missRatio += ((isMiss ? 1 : 0) - missRatio) * (now < 900 ? 1 / Double(100 + now) : 0.001)
        second = UInt32(truncatingIfNeeded: access.time / 1_000_000)
        let learner = learner
        learner.pointee.features.userCategory.expect(access)
        labeller.begin(now, missRatio: missRatio)
        if WrappingClock.isSweepDue(now) { limitAges() }
    }

    /// Limits all ages in requests of this cache; see `WrappingClock`.
    @inline(never)
    private mutating func limitAges() {
        let now = UInt32(truncatingIfNeeded: now)
        history.limitAges(at: now) { labeller.isWaiting($0) }
    }

    /// Labels the samples of the accessed object, then counts the access in every part.
    private mutating func count(_ access: Access, slot: UInt32, isMiss: Bool) {
        let record = history.records.base + Int(slot)
        let learner = learner
        labeller.labelSamples(of: record)
        let isNew = record.pointee.accesses == 0
        if referee.count(isMiss: isMiss, now: now, record: record, residents: history.count) {
            referee.serve(access, isMiss: isMiss, record: record, history: history)
        }
        let gap = Int(record.pointee.age(at: now))
        if usesWorkload {
            workload.note(
                isMiss: isMiss, gap: isNew ? nil : gap, accesses: record.pointee.accesses, residents: history.count)
        }
        if !isNew {
            learner.pointee.labelWindow.countReturn(gap: gap, window: labeller.window, residents: history.count)
        }
        if usesShowings { learner.pointee.features.shown.noteRequest(of: access.object) }
        // A ghost has no user. The user of the next access is taken for the user of the one before.
        let isRepeat = !isNew && (record.pointee.user == access.user || record.pointee.user == .max)
        record.pointee.note(access, now: now, second: second)
        greedyDual.rate(&record.pointee)
        learner.pointee.features.userCategory.note(
            access, second: second, gap: isNew ? .max : record.pointee.gap1, isRepeat: isRepeat)
    }

    private mutating func sample(accessed slot: UInt32) {
        labeller.sample(
            accessed: slot, includesAccessed: ownsModel && !model.isOffline, newObject: newObject, history: &history,
            &generator,
            at: instant)
    }

    /// The instant of features that are computed now.
    var instant: FeatureInstant {
        FeatureInstant(request: now, second: second, greedyDualClock: greedyDual.clock, workload: workload)
    }

    /// Removes a resident from every part and turns its record into a ghost. Returns its entry.
    private mutating func close(_ slot: UInt32) -> EntryID {
        let entry = history.records[Int(slot)].entry
        let lastRequest = history.records[Int(slot)].lastRequest(asOf: now)
        sampler.remove(slot, records: history.records.base)
        greedyDual.remove(slot)
        history.unlink(slot)
        if isTrimming {
            referee.trim(entry, last: lastRequest, residents: history.count)
        }
        referee.forget(history.close(slot))
        return entry
    }

    /// Turns the record of a new object that was never inserted into a ghost: the object was refused.
    @inline(__always)
    private mutating func closeRefusedObject() {
        if newObject == ObjectRecord.none { return }
        referee.forget(history.close(newObject))
        newObject = ObjectRecord.none
    }

    // MARK: The steps of an eviction

    /// Selects the expert that decides and scores candidates by it.
    private mutating func renewCandidates() {
        sampler.beginScoring()
        newObjectScore = nil
        if greedyDual.clockIsLong { restartGreedyDual() }
        let last = expert
        expert = learner.pointee.trainer.isReady && learns ? .network : .greedyDual
        if expert == .network && last == .network && sampler.keepsScores(residents: history.count) {
            sampler.drawScored(&history, &generator, newObject: newObject, at: instant)
        } else {
            sampler.draw(&history, &generator, newObject: newObject, missRatio: missRatio)
            sampler.score(by: expert, of: history.records.base, at: instant)
        }
        if usesUniformSizes { sampleVictims() }
        observer?.scoredCandidates(by: self)
    }

    /// Starts the clock of ``GreedyDual`` again. The caller then scores all candidates again.
    @inline(never)
    private mutating func restartGreedyDual() {
        let amount = greedyDual.restart()
        var slot = history.oldest
        while slot != ObjectRecord.none {
            let record = history.records.base + Int(slot)
            record.pointee.priority -= amount
            greedyDual.update(slot, priority: record.pointee.priority, now: record.pointee.lastRequest(asOf: now))
            slot = record.pointee.newer
        }
        if newObject != ObjectRecord.none { history.records[Int(newObject)].priority -= amount }
    }

    /// Takes samples of the candidate that leaves next, and of the one that LRU would evict: of mistakes that are worth most. With
    /// variable sizes we measured that they cost.
    private mutating func sampleVictims() {
        guard labeller.isSampling, sampler.scoring % (learner.pointee.trainer.steps < 1_000 ? 1 : 4) == 0 else {
            return
        }
        labeller.take(lowestResident().slot, of: history.records.base, at: instant)
        guard expert == .network else { return }
        labeller.take(sampler.leastRecent(of: history.records.base, at: now), of: history.records.base, at: instant)
    }

    /// Returns the resident with the lowest score: among the candidates, or for ``GreedyDual`` with variable sizes among all
    /// residents.
    mutating func lowestResident() -> ScoredResident {
        if expert == .greedyDual, let lowest = greedyDual.lowest {
            return ScoredResident(slot: lowest.slot, score: lowest.priority)
        }
        var lowest = sampler.lowest()
        while !lowest.isUpToDate {
            sampler.rescoreLowest(score(lowest.resident.slot))
            lowest = sampler.lowest()
        }
        return lowest.resident
    }

    /// Returns the score of an object now.
    private func score(_ slot: UInt32) -> Float {
        observer?.scored(slot, by: self)
        let record = history.records.base + Int(slot)
        return expert == .network ? sampler.score(record, at: instant) : record.pointee.priority
    }

    /// Whether the expert that decides compares all residents, not only the candidates.
    var comparesAllResidents: Bool { expert == .greedyDual && !usesUniformSizes }

    /// Returns a resident with its recency as its score, or `none`.
    func byRecency(_ slot: UInt32) -> ScoredResident {
        ScoredResident(slot: slot, score: slot == ObjectRecord.none ? 0 : history.records[Int(slot)].recency(at: now))
    }

    private mutating func countDecision() {
        if referee.countDecision(residents: history.count) { referee.reviewLearner(history: history) }
    }

    /// Evicts a resident that the followed shadow does not hold, or refuses a new object that it does not hold.
    private mutating func evictFollowing(_ access: Access) -> EntryID {
        defer { countDecision() }
        if newObject != ObjectRecord.none, !referee.leaderHolds(access.entry) { return access.entry }
        while let entry = referee.nextSurplus() {
            let slot = history.resident(entry)
            if slot != ObjectRecord.none && slot != newObject {
                return evict(byRecency(slot), by: referee.leader?.name ?? "")
            }
        }
        return evict(byRecency(history.oldest), by: "lru")
    }

    private mutating func evictLeastRecent() -> EntryID {
        defer { if referee.isFollowing { countDecision() } }
        return evict(byRecency(history.oldest), by: "lru")
    }

    /// Evicts a resident that an expert, LRU or the followed shadow chose.
    private mutating func evict(_ victim: ScoredResident, by decider: String) -> EntryID {
        evictions += 1
        observer?.chose(victim, by: decider, in: self)
        return close(victim.slot)
    }

    // MARK: Figures

    /// The heap bytes held. The model counts in the first cache that it was made for. It is fixed, as are the waiting
    /// samples, which are bounded, and the candidates.
    public var metadataBytes: MetadataBytes {
        var fixed = labeller.byteCount + sampler.byteCount
        if countsModel { fixed += learner.pointee.byteCount }
        // The heap numbers residents by their records, not by their objects.
        return history.metadataBytes + referee.metadataBytes
            + MetadataBytes(fixed: fixed, perResident: greedyDual.byteCount)
    }

    public var metrics: [PolicyMetric] {
        let (steps, samples) = (learner.pointee.trainer.steps, learner.pointee.trainer.samples)
        return [
            PolicyMetric("training_steps", Double(steps)), PolicyMetric("training_samples", Double(samples)),
            PolicyMetric("samples_not_taken", labeller.samplesNotTaken.rounded()),
            PolicyMetric("window_multiplier", Double(learner.pointee.labelWindow.multiplier)),
            PolicyMetric("lru_overrides", Double(referee.overrides)),
            PolicyMetric("evictions_by_network", Double(evictionsByNetwork) / Double(max(evictions, 1))),
            PolicyMetric("shadow_follows", Double(referee.follows)),
            PolicyMetric("shadow_decisions", Double(referee.decisions)),
            PolicyMetric("shadow_following", referee.isFollowing ? 1 : 0),
        ]
    }
}
