import HalcyonEviction

/// Keeps what will be asked for again, as an online learner sees it: of a few candidates the one goes whose chance to be
/// asked for within a few turnovers of the cache is the least for the room that it takes.
///
/// - A small network (``Perceptron``) gives the chance from what is known of the object, its categories and its users
///   (``Feature``). It learns from samples of residents and of accessed objects, labelled when the object is asked for
///   again or when the horizon passes (``PendingSamples``, ``OnlineTrainer``).
/// - Candidates are the least recent residents, random ones, and those that scored low before. They are scored in one
///   product and serve several evictions. The newcomer is a candidate too: it may be refused.
/// - From nothing it decides as ``GreedyDual``; the network takes over after ``OnlineTrainer/fewestSteps`` steps and
///   hands back while it makes more mistakes than a heuristic would (``Contest``).
///
/// In the manner of LRB (Song, Berger, Li, Lloyd: Learning relaxed Belady for content distribution network caching, 2020),
/// from which it differs in the model, the label, the candidates and the contest.
///
/// Every verb is O(1); an eviction costs some candidates' features and a share of a product. Deterministic by the seed.
/// Bytes: 4 an object number, 72 a resident, 28 for each object that left and is remembered (2 a resident by default),
/// and the learner's own, at most 5 MB, which grow with use.
public struct LearnedPolicy: ~Copyable, ModelSharingPolicy {
    public static let card = PolicyCard(
        name: "learned", summary: "an online learner over recency, frequency, size, categories and users",
        source: "Halcyon; in the manner of Song, Berger, Li, Lloyd: Learning relaxed Belady, 2020",
        traits: [.honoursCost, .usesCategories, .usesTime, .usesUsers, .isRandomised, .hasAdmission])

    private let parameters: LearnedParameters
    private let capacity: Double
    private let model: LearnedModel
    /// The model's state; alive as long as ``model`` is.
    private let learner: UnsafeMutablePointer<Learner>
    private var history: ObjectHistory
    private var pending: PendingSamples
    private var candidates: CandidateSet
    private var heuristic = GreedyDual()
    /// Where costs differ: the residents by ``GreedyDual``'s worth. Otherwise the candidates' worths do.
    private var worths: IndexedHeap<Rank>
    private let costsDiffer: Bool
    private var generator: SplitMix64
    private var rows: HeapArray<UInt8>

    /// Whether the model serves this cache alone and its bytes count here.
    private var ownsModel = false
    private var now: UInt32 = 0
    private var second: UInt32 = 0
    private var newcomer = ObjectRecord.none
    private var newcomerScore: Float?
    private var hand = ObjectRecord.none
    private var handSteps = 0
    private var judge = Contest.Judge.greedyDual
    private var served = 0
    private var refills = 0
    private var filled = 0.0
    private var missRatio = 0.5
    private var inserted = 0.0
    private var credit = 0.0
    private var evictionsByNetwork = 0
    private var evictions = 0

    public static func makeModel(_ parameters: LearnedParameters, context: PolicyContext) -> LearnedModel {
        LearnedModel(parameters, seed: context.seed)
    }

    public init(_ parameters: LearnedParameters, context: PolicyContext) {
        self.init(parameters, context: context, model: Self.makeModel(parameters, context: context))
        ownsModel = true
    }

    public init(_ parameters: LearnedParameters, context: PolicyContext, model: LearnedModel) {
        self.model = model
        learner = model.learner
        self.parameters = parameters
        capacity = Double(max(context.capacity, 0))
        history = ObjectHistory(entries: context.entries, ghostsPerResident: parameters.history)
        pending = PendingSamples(bound: 1 << 15)
        candidates = CandidateSet(limit: parameters.candidates)
        costsDiffer = !context.everyCostIsOne
        worths = IndexedHeap(capacity: costsDiffer ? context.entries : 0)
        generator = SplitMix64(seed: context.seed)
        rows = HeapArray(repeating: 0, count: parameters.candidates * Sample.width)
    }

    public mutating func hit(_ access: Access) {
        abandonNewcomer()
        let slot = history.resident(access.entry)
        begin(access, isMiss: false)
        note(access, slot: slot)
        let candidate = history.records[Int(slot)].candidate
        if candidate != ObjectRecord.notCandidate {
            candidates.remove(at: Int(candidate), records: history.records.base)
        }
        if hand == slot { hand = history.records[Int(slot)].newer }
        history.moveToNewest(slot)
        if costsDiffer { worths.update(access.entry, key: rank(slot)) }
        sample(slot)
    }

    public mutating func admit(_ access: Access) -> Bool {
        abandonNewcomer()
        begin(access, isMiss: true)
        let slot = history.open(access.entry)
        history.records[Int(slot)].residentAccesses = 0
        history.records[Int(slot)].logCost = FastMath.log2(Float(max(access.cost, 1)))
        note(access, slot: slot)
        newcomer = slot
        newcomerScore = nil
        sample(slot)
        return true
    }

    public mutating func victim(for access: Access) -> EntryID {
        let isSmall = history.count <= candidates.limit
        if isSmall || served >= parameters.evictions || candidates.count == 0 { refill() }
        let (slot, least) = weakest(by: judge)
        let score = newcomerScore ?? scoreOfNewcomer(by: judge)
        newcomerScore = score
        if newcomer != ObjectRecord.none && score < least {
            age(by: history.records[Int(newcomer)].priority)
            return access.entry
        }
        served += 1
        evictions += 1
        if judge == .network { evictionsByNetwork += 1 }
        if learner.pointee.watch.isDue() { observe(slot, score: least, newcomerScore: score) }
        age(by: history.records[Int(slot)].priority)
        return leave(slot)
    }

    public mutating func insert(_ access: Access) {
        let slot = newcomer
        history.link(slot)
        newcomer = ObjectRecord.none
        if costsDiffer { worths.insert(access.entry, key: rank(slot)) }
        if let score = newcomerScore, !candidates.isFull, score < .infinity, judge == .network {
            candidates.add(slot, score: score, records: history.records.base)
        }
        filled += Double(max(access.cost, 0))
        inserted += 1
    }

    public mutating func remove(_ entry: EntryID) {
        abandonNewcomer()
        _ = leave(history.resident(entry))
    }

    public func remembers(_ entry: EntryID) -> Bool {
        // A newcomer that was just refused becomes a ghost with the next request.
        history.remembersGhost(entry) || (newcomer != ObjectRecord.none && history.resident(entry) == newcomer)
    }

    public mutating func define(categorySet: CategorySetID, members: [UInt32]) {
        learner.pointee.features.sets.define(categorySet, members: members)
    }

    public var metadataBytes: Int {
        history.byteCount + pending.byteCount + candidates.byteCount + rows.byteCount + worths.byteCount
            + (ownsModel ? learner.pointee.byteCount : 0)
    }

    public var metrics: [PolicyMetric] {
        let (steps, samples) = (learner.pointee.trainer.steps, learner.pointee.trainer.samples)
        let contest = learner.pointee.trainer.contest
        return [
            PolicyMetric("training_steps", Double(steps)), PolicyMetric("training_samples", Double(samples)),
            PolicyMetric("concordance_network", Double(contest.concordance(.network))),
            PolicyMetric("concordance_gdsf", Double(contest.concordance(.greedyDual))),
            PolicyMetric("concordance_lru", Double(contest.concordance(.recency))),
            PolicyMetric("loss_network", Double(contest.loss(.network))),
            PolicyMetric("loss_gdsf", Double(contest.loss(.greedyDual))),
            PolicyMetric("loss_lru", Double(contest.loss(.recency))),
            PolicyMetric("evictions_by_network", Double(evictionsByNetwork) / Double(max(evictions, 1))),
        ]
    }
}

extension LearnedPolicy {
    /// The requests within which a sample must be asked for again to count as such.
    private var horizon: UInt32 {
        let residents = inserted > 0 ? capacity * inserted / max(filled, 1) : 0
        return UInt32(min(max(residents / max(missRatio, 0.001) * parameters.horizon, 64), 1e9))
    }

    /// Moves the heuristic's clock to what the one that goes was worth; slowly where the heuristic did not choose it.
    private mutating func age(by priority: Float) {
        let step: Float = judge == .network ? 0.1 : 1
        heuristic.advance(to: heuristic.clock + (priority - heuristic.clock) * step)
    }

    /// Starts a request: time moves on, and samples that waited long enough count as not asked for again.
    private mutating func begin(_ access: Access, isMiss: Bool) {
        now &+= 1
        missRatio += ((isMiss ? 1 : 0) - missRatio) * 0.000_25
        second = UInt32(truncatingIfNeeded: access.time / 1_000_000)
        let horizon = horizon
        while let due = pending.popDue(now: now, horizon: horizon) {
            if !due.isSettled { learner.pointee.trainer.add(due.row, isPositive: false) }
        }
    }

    /// Settles what waited for this object, then takes the access into account.
    private mutating func note(_ access: Access, slot: UInt32) {
        let record = history.records.base + Int(slot)
        var number = record.pointee.pending
        while let sample = pending.settle(number) {
            learner.pointee.trainer.add(sample.row, isPositive: true)
            number = sample.older
        }
        record.pointee.pending = ObjectRecord.none
        let isNew = record.pointee.accesses == 0
        record.pointee.note(access, now: now, second: second)
        heuristic.rate(&record.pointee)
        learner.pointee.features.note(access, second: second, gap: isNew ? .max : record.pointee.gap1)
    }

    private var isSampling: Bool { filled >= capacity / 4 && parameters.decider != .heuristic }

    /// The place of a resident among all others by ``GreedyDual``.
    private func rank(_ slot: UInt32) -> Rank {
        Rank(Double(history.records[Int(slot)].priority), index: Int(now))
    }

    /// Takes samples: one of a random resident for every request, one of the accessed object for every other, and fewer
    /// once the network has settled or where the horizon is too long to keep so many waiting.
    private mutating func sample(_ accessed: UInt32) {
        guard isSampling, learner.pointee.trainer.needsSamples else { return }
        let fitting = 32_000 / Double(horizon)
        let settled = learner.pointee.trainer.steps < 2_000 ? 1.0 : learner.pointee.trainer.steps < 4_000 ? 0.5 : 0.25
        credit += min(parameters.sampling * settled, fitting)
        while credit >= 1 {
            credit -= 1
            let slot = generator.next(below: 3) == 0 ? accessed : randomResident()
            if slot != ObjectRecord.none { take(slot) }
        }
    }

    private mutating func take(_ slot: UInt32, choices: UInt8 = 0) {
        if pending.isFull { return }
        let record = history.records[Int(slot)]
        let (number, row) = pending.push(now: now, older: record.pending)
        write(record, into: row)
        row[Sample.outcome] = choices
        history.records[Int(slot)].pending = number
    }

    private mutating func randomResident() -> UInt32 {
        for _ in 0..<8 where history.used > 0 {
            let slot = generator.next(below: history.used)
            let isResident = history.records[slot].entry != .none && slot != Int(newcomer)
            if isResident { return UInt32(truncatingIfNeeded: slot) }
        }
        return ObjectRecord.none
    }

    @inline(__always)
    private func write(_ record: ObjectRecord, into row: UnsafeMutablePointer<UInt8>) {
        learner.pointee.features.write(record, aged: heuristic.clock, now: now, second: second, into: row)
        row[Sample.worth] = GreedyDual.octaves(record.priority - heuristic.clock)
        row[Sample.age] = FastMath.octaves(now &- record.last)
        row[Sample.cost] = FastMath.byte(record.logCost * 8)
    }

    /// Draws new candidates to those that scored low, asks who is to judge, and scores all of them.
    private mutating func refill() {
        served = 0
        refills &+= 1
        newcomerScore = nil
        drawCandidates()
        let isReady = learner.pointee.trainer.isReady && parameters.decider != .heuristic
        judge =
            switch parameters.decider {
            case .heuristic: .greedyDual
            case .network where isReady: .network
            case .contest, .network: learner.pointee.trainer.contest.winner(networkIsReady: isReady)
            }
        if isSampling && refills % (learner.pointee.trainer.steps < 1_000 ? 1 : 4) == 0 {
            hold(networkIsReady: isReady)
        }
        score(judge)
    }

    /// Holds a trial: takes a sample of whom each judge would evict now.
    private mutating func hold(networkIsReady: Bool) {
        var choices: [(slot: UInt32, judges: UInt8)] = []
        for judge in [Contest.Judge.greedyDual, .recency, .network] where judge != .network || networkIsReady {
            score(judge)
            var (slot, least) = weakest(by: judge)
            if newcomer != ObjectRecord.none && scoreOfNewcomer(by: judge) < least { slot = newcomer }
            if let known = choices.firstIndex(where: { $0.slot == slot }) {
                choices[known].judges |= judge.choice
            } else {
                choices.append((slot, judge.choice))
            }
        }
        for choice in choices { take(choice.slot, choices: choice.judges) }
    }

    /// The resident that a judge holds for the least, and its score: the least of the candidates, which must have been
    /// scored by that judge; for ``GreedyDual`` where costs differ the least of all residents.
    private func weakest(by judge: Contest.Judge) -> (slot: UInt32, score: Float) {
        if judge == .greedyDual, costsDiffer, let least = worths.smallest {
            let slot = history.resident(least.entry)
            return (slot, history.records[Int(slot)].priority)
        }
        let place = candidates.least()
        return (candidates.slots[place], candidates.scores[place])
    }

    private mutating func drawCandidates() {
        let records = history.records.base
        if history.count <= candidates.limit {
            var slot = history.oldest
            while slot != ObjectRecord.none {
                if records[Int(slot)].candidate == ObjectRecord.notCandidate { candidates.add(slot, records: records) }
                slot = records[Int(slot)].newer
            }
            return
        }
        candidates.dropBetterHalf(records: records)
        drawFromTail(candidates.limit / 8)
        for _ in candidates.count..<candidates.limit {
            let slot = randomResident()
            if slot == ObjectRecord.none || records[Int(slot)].candidate != ObjectRecord.notCandidate { continue }
            candidates.add(slot, records: records)
        }
    }

    /// Adds the next residents from the least recent end. Those that were looked at and stay are passed over until the
    /// hand has gone through a part of the list.
    private mutating func drawFromTail(_ number: Int) {
        let records = history.records.base
        for _ in 0..<number where !candidates.isFull {
            if hand == ObjectRecord.none || handSteps * 4 > history.count {
                hand = history.oldest
                handSteps = 0
            }
            let slot = hand
            handSteps += 1
            hand = records[Int(slot)].newer
            if records[Int(slot)].candidate == ObjectRecord.notCandidate { candidates.add(slot, records: records) }
        }
    }

    private mutating func score(_ judge: Contest.Judge) {
        let records = history.records.base
        let scores = candidates.scores.base
        let count = candidates.count
        switch judge {
        case .greedyDual:
            for place in 0..<count { scores[place] = records[Int(candidates.slots[place])].priority }
        case .recency:
            for place in 0..<count { scores[place] = -Float(now &- records[Int(candidates.slots[place])].last) }
        case .network:
            rows.base.update(repeating: 0, count: count * Sample.width)
            var place = 0
            while place < count {
                write(records[Int(candidates.slots[place])], into: rows.base + place * Sample.width)
                place &+= 1
            }
            learner.pointee.trainer.predict(rows.base, count: count, logits: scores)
            place = 0
            while place < count {
                let logCost = records[Int(candidates.slots[place])].logCost
                scores[place] = parameters.objective.value(logit: scores[place], logCost: logCost)
                place &+= 1
            }
        }
    }

    /// What the judge gives the newcomer; it can only be refused where it is less than a resident.
    private mutating func scoreOfNewcomer(by judge: Contest.Judge) -> Float {
        guard newcomer != ObjectRecord.none else { return .infinity }
        let record = history.records[Int(newcomer)]
        switch judge {
        case .greedyDual: return record.priority
        case .recency: return 1
        case .network:
            rows.base.update(repeating: 0, count: Sample.width)
            write(record, into: rows.base)
            var logit: Float = 0
            learner.pointee.trainer.predict(rows.base, count: 1, logits: &logit)
            return parameters.objective.value(logit: logit, logCost: record.logCost)
        }
    }

    /// Writes down what speaks for evicting `slot`, and who would have gone in its place.
    private mutating func observe(_ slot: UInt32, score: Float, newcomerScore: Float) {
        var (runnerUp, next) = (newcomer, newcomer == ObjectRecord.none ? Float.infinity : newcomerScore)
        for place in 0..<candidates.count where candidates.slots[place] != slot && candidates.scores[place] < next {
            (runnerUp, next) = (candidates.slots[place], candidates.scores[place])
        }
        func observation(_ slot: UInt32, _ score: Float) -> VictimRecord.Observation {
            let record = history.records[Int(slot)]
            let row = HeapArray<UInt8>(repeating: 0, count: Sample.width)
            write(record, into: row.base)
            return VictimRecord.Observation(
                entry: record.entry, isNewcomer: slot == newcomer, score: score, row: (0..<row.count).map { row[$0] })
        }
        learner.pointee.watch.record = VictimRecord(
            request: Int(now), judge: judge, victim: observation(slot, score),
            runnerUp: runnerUp == ObjectRecord.none ? nil : observation(runnerUp, next),
            candidates: candidates.count, weights: learner.pointee.trainer.network.weights)
    }

    /// Takes a resident out of everything but the memory of those that left, and returns it.
    private mutating func leave(_ slot: UInt32) -> EntryID {
        let record = history.records[Int(slot)]
        if record.candidate != ObjectRecord.notCandidate {
            candidates.remove(at: Int(record.candidate), records: history.records.base)
        }
        if hand == slot { hand = record.newer }
        if costsDiffer { worths.remove(record.entry) }
        history.unlink(slot)
        history.close(slot)
        return record.entry
    }

    /// A newcomer that was never inserted has been refused: it is remembered as one that left.
    @inline(__always)
    private mutating func abandonNewcomer() {
        if newcomer == ObjectRecord.none { return }
        history.close(newcomer)
        newcomer = ObjectRecord.none
    }
}
