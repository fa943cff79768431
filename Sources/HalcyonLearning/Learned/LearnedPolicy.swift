import HalcyonEviction

/// Keeps what will be asked for again, as an online learner sees it: of a few candidates the one goes that is to be asked for least
/// often for the room that it takes (``MissCost``).
///
/// - A small network (``Perceptron``) gives the chance that an object is asked for within a part of a turnover of the cache, or within more
///   where little comes back so soon (``Horizon``), from what is known of it, its categories and its users (``Feature``). It learns from samples of residents and of accessed objects, labelled when the object is asked for
///   again or when the horizon passes (``PendingSamples``, ``OnlineTrainer``).
/// - Candidates are the least recent residents, random ones, and those that scored low before. They are scored in one
///   product and serve several evictions; in larger caches where costs differ only new ones are, and the least is scored anew before it
///   goes. The newcomer is a candidate too: it may be refused.
/// - From nothing it decides as ``GreedyDual``; the network takes over after ``OnlineTrainer/fewestSteps`` steps and
///   hands back while it loses so much more than a heuristic would that chance does not explain it (``Contest``). Where every object takes the same
///   room, LRU has its turns while it alone is right (``RecencyGuard``).
///
/// In the manner of LRB (Song, Berger, Li, Lloyd: Learning relaxed Belady for content distribution network caching, 2020),
/// from which it differs in the model, the label, the candidates and the contest.
///
/// A verb is O(1) in the number of residents where every object costs the same, and O(log residents) where costs differ,
/// for the heap of their worths; what it learns from takes some rows of features (``FeatureAssembler``) and a share of a
/// step of training beside, and an eviction some candidates' rows and a share of a product. Deterministic by the seed.
/// Bytes: 4 an object number, 64 a resident and at most 16 for its worth or for what LRU would hold, 24 for each object that
/// left and is remembered (1.5 a resident by default): where numbers are given anew once forgotten 126 in all for each of the residents there
/// were at most, 128 with what arrays have in reserve to grow.
/// Beside that even the smallest cache remembers 1,024 objects, samples wait in at most 1.8 MB, and the model takes at most
/// 6 MB and, for each set of categories, 20 bytes and 4 a member, at most 4 million sets; all of it grows with use.
public struct LearnedPolicy: ~Copyable, CataloguedPolicy {
    public static let info = PolicyInfo(
        name: "learned", summary: "an online learner over recency, frequency, size, categories and users",
        source: "Halcyon; in the manner of Song, Berger, Li, Lloyd: Learning relaxed Belady, 2020",
        traits: [.usesSizes, .usesCategories, .usesTime, .usesUsers, .isRandomised, .hasAdmission])

    let parameters: LearnedParameters
    let missCost: MissCost
    var capacity: Double
    let model: LearnedModel
    /// The model's state; alive as long as ``model`` is.
    ///
    /// Methods that change it make a copy of the pointer first: for the thread sanitizer, Swift 6.3 emits invalid code where
    /// a noncopyable type is mutated through a stored pointer.
    let learner: UnsafeMutablePointer<Learner>
    /// The number of this cache's correction to a model that it shares; see ``UserCorrections``.
    let correction: UInt32
    var history: ObjectHistory
    var pending: PendingSamples
    var candidates: CandidateSet
    var heuristic = GreedyDual()
    /// Where costs differ: the residents' records by ``GreedyDual``'s worth. Otherwise the candidates' worths do.
    var worths = IndexedHeap<Worth>()
    let costsDiffer: Bool
    /// Used only if ``isGuarded``.
    var recencyGuard: RecencyGuard
    var generator: SplitMix64

    /// Whether the model serves this cache alone.
    var ownsModel = false
    /// Whether the model's bytes count here: in the first of the caches that share it.
    let countsModel: Bool
    /// Whether LRU may take over: not in a fleet, whose model has learnt from other caches what this one has not met.
    var isGuarded: Bool { ownsModel && !costsDiffer && parameters.decider == .contest }
    var now: UInt32 = 0
    var second: UInt32 = 0
    var newcomer = ObjectRecord.none
    var newcomerScore: Float?
    var hand = ObjectRecord.none
    var handSteps = 0
    var judge = Contest.Judge.greedyDual
    /// Whether those that the network scored together last have not all got the same chance. One that is told nothing, or only what is
    /// the same of all, has nothing to decide by; then the better heuristic does.
    var networkTellsApart = true
    /// Logits within so little of one another are the same but for rounding.
    static let leastSpread: Float = 0.000_01
    /// What was decided since the candidates were scored: sixteen for each eviction, one for each newcomer
    /// refused.
    var served = 0
    /// An eviction counts as many of them as this, a refusal as one.
    static let evictionShares = 16
    /// The number of the latest scoring.
    var scoring: UInt32 = 0
    var filled = 0.0
    var missRatio = 0.5
    /// The requests within which a sample must be asked for again to count as such; as of this request.
    var horizon: UInt32 = 0
    var inserted = 0.0
    var credit = 0.0
    /// What was known of the candidates and the newcomer when they were scored, by their records; empty unless an eviction is
    /// waited for, to be explained.
    var scored: [UInt32: VictimRecord.Scored] = [:]
    var evictionsByNetwork = 0
    var evictions = 0

    public static func makeModel(_ parameters: LearnedParameters, context: PolicyContext) -> LearnedModel? {
        LearnedModel(parameters, seed: context.seed)
    }

    public init(_ parameters: LearnedParameters, context: PolicyContext) {
        self.init(parameters, context: context, model: LearnedModel(parameters, seed: context.seed))
        ownsModel = true
    }

    public init(_ parameters: LearnedParameters, context: PolicyContext, model: LearnedModel) {
        self.model = model
        let learner = model.learner
        self.learner = learner
        countsModel = !learner.pointee.isCounted
        learner.pointee.isCounted = true
        correction = context.adaptsModel ? learner.pointee.trainer.corrections.open() : UserCorrections.none
        self.parameters = parameters
        missCost = parameters.missCost
        capacity = Double(max(context.capacity, 0))
        history = ObjectHistory(entries: context.entries, ghostsPerResident: parameters.history)
        pending = PendingSamples(bound: 1 << 15)
        candidates = CandidateSet(limit: min(parameters.candidates * 2, CandidateSet.bound))
        costsDiffer = !context.usesUniformSizes
        recencyGuard = RecencyGuard(capacity: context.capacity)
        generator = SplitMix64(seed: context.seed)
    }

    public mutating func hit(_ access: Access) {
        abandonNewcomer()
        let slot = history.resident(access.entry)
        begin(access, isMiss: false)
        note(access, slot: slot, isMiss: false)
        let candidate = history.records[Int(slot)].candidate
        if candidate != ObjectRecord.notCandidate {
            candidates.remove(at: Int(candidate), records: history.records.base)
        }
        if hand == slot { hand = history.records[Int(slot)].newer }
        history.moveToNewest(slot)
        if costsDiffer { worths.update(slot, key: worth(of: slot)) }
        sample(slot)
    }

    public mutating func admit(_ access: Access) -> Bool {
        abandonNewcomer()
        begin(access, isMiss: true)
        let slot = history.open(access.entry)
        history.records[Int(slot)].residentAccesses = 0
        history.records[Int(slot)].logCost = FastMath.log2(Float(max(access.size, 1)))
        note(access, slot: slot, isMiss: true)
        newcomer = slot
        newcomerScore = nil
        sample(slot)
        return true
    }

    public mutating func victim(for access: Access) -> EntryID {
        if history.oldest != ObjectRecord.none && recencyGuard.decides() { return leastRecent() }
        if served >= Self.evictionShares * evictionsAScoring || candidates.count == 0 { refill() }
        let (slot, least) = weakest(by: judge)
        let score = newcomerScore ?? scoreOfNewcomer(by: judge)
        newcomerScore = score
        if newcomer != ObjectRecord.none && score < least {
            age(by: history.records[Int(newcomer)].priority)
            served += 1
            return access.entry
        }
        served += Self.evictionShares
        evictions += 1
        if judge == .network { evictionsByNetwork += 1 }
        let learner = learner
        if learner.pointee.watch.isDue() {
            observe(
                slot, among: looksAtAll(judge) ? history.count : candidates.count, by: judge, score: least,
                runnerUp: runnerUp(to: slot, by: judge, newcomerScore: score), isScoredNow: looksAtAll(judge))
        }
        age(by: history.records[Int(slot)].priority)
        return leave(slot)
    }

    public mutating func leastWanted(at now: Access) -> EntryID {
        // A newcomer that was refused before stands for nobody's place now; a resident is to go.
        abandonNewcomer()
        newcomerScore = nil
        return victim(for: now)
    }

    public mutating func insert(_ access: Access) {
        let slot = newcomer
        history.link(slot)
        newcomer = ObjectRecord.none
        if costsDiffer { worths.insert(slot, key: worth(of: slot)) }
        if let score = newcomerScore, hasRoomForNewcomer, score < .infinity, judge == .network {
            candidates.add(slot, score: score, scoring: scoring, records: history.records.base)
        }
        filled += Double(max(access.size, 0))
        inserted += 1
    }

    public mutating func remove(_ entry: EntryID) {
        abandonNewcomer()
        let slot = history.resident(entry)
        if isGuarded { recencyGuard.forget(history.records[Int(slot)].last) }
        _ = leave(slot)
    }

    public func remembers(_ entry: EntryID) -> Bool {
        // A newcomer that was just refused becomes a ghost with the next request.
        history.remembersGhost(entry) || (newcomer != ObjectRecord.none && history.resident(entry) == newcomer)
    }

    public mutating func resize(to capacity: Int) {
        self.capacity = Double(max(capacity, 0))
        recencyGuard.resize(to: capacity)
    }

    public mutating func define(categorySet: CategorySetID, members: [UInt32]) {
        let learner = learner
        learner.pointee.features.habits.sets.define(categorySet, members: members)
    }

    /// The model counts in the first cache that it was made for, each cache's correction in that cache. Both are fixed, as
    /// are the samples that wait, which are bounded, and the candidates.
    public var metadataBytes: MetadataBytes {
        var fixed = pending.byteCount + candidates.byteCount
        if countsModel { fixed += learner.pointee.byteCount - learner.pointee.trainer.corrections.byteCount }
        if correction != UserCorrections.none { fixed += UserCorrections.bytesEach }
        // Worths are numbered by the residents' records, not by objects.
        return history.metadataBytes
            + MetadataBytes(fixed: fixed, perResident: worths.metadataBytes.total + recencyGuard.byteCount)
    }

    public var metrics: [PolicyMetric] {
        let (steps, samples) = (learner.pointee.trainer.steps, learner.pointee.trainer.samples)
        let contest = learner.pointee.trainer.contest
        var adaptation: [PolicyMetric] = []
        if correction != UserCorrections.none {
            let surprise = learner.pointee.trainer.corrections.surprise(correction)
            adaptation = [
                PolicyMetric("surprise_shared", Double(surprise.shared)),
                PolicyMetric("surprise_adapted", Double(surprise.adapted)),
            ]
        }
        return [
            PolicyMetric("training_steps", Double(steps)), PolicyMetric("training_samples", Double(samples)),
            PolicyMetric("concordance_network", Double(contest.concordance(.network))),
            PolicyMetric("concordance_gdsf", Double(contest.concordance(.greedyDual))),
            PolicyMetric("concordance_lru", Double(contest.concordance(.recency))),
            PolicyMetric("loss_network", Double(contest.loss(.network))),
            PolicyMetric("loss_gdsf", Double(contest.loss(.greedyDual))),
            PolicyMetric("loss_lru", Double(contest.loss(.recency))),
            PolicyMetric("horizon_stretch", Double(learner.pointee.horizon.stretch)),
            PolicyMetric("turns_of_lru", Double(recencyGuard.turns)),
            PolicyMetric("evictions_by_network", Double(evictionsByNetwork) / Double(max(evictions, 1))),
        ] + adaptation
    }
}
