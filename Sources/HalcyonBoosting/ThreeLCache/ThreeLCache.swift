import HalcyonEviction
import HalcyonSupport

/// 3L-Cache evicts residents whose next requests are predicted to be far away, by boosted trees as ``LRB``, with fewer
/// predictions: two for each eviction.
///
/// - Training data: from the first eviction on, each request samples one known object, at most once until its next
///   request. The label of a sample is the logarithm of the distance to that request. If the object is forgotten
///   before, it is the logarithm of a sum: the time since its last request, and the longest such time before the last
///   training. From the first model on, a quarter of the samples is used. `batch` of them train a new model.
/// - History: evicted objects are known while they are among the last ones evicted. Their number is a multiple of the
///   residents, from 1 to 5, which grows while more than 1 % further requests would be found in the history.
/// - Candidates: a scan of the residents in the order of their last requests (`CandidateScan`), and the oldest new
///   objects once they take more than their share of the cache. Half of the candidates of a step are evicted, those with
///   the farthest predicted requests. A hit withdraws a candidate.
/// - Before the first model, the policy decides as `lru`.
///
/// The rules and defaults are those of the authors' code in libCacheSim 0.3.5. A `batch` of 65,536 means that traces with
/// fewer re-requests never train.
///
/// A hit and an insertion are O(log candidates) apart from trainings, an eviction is O(`trees`) amortised. Bytes: 52 a row
/// of `batch`, 20 a number, 48 a resident and an object of the history.
public struct ThreeLCache: ~Copyable, CataloguedPolicy {
    /// The parameters of the policy.
    public struct Parameters: BoostedPolicyParameters {
        /// The model, its training, and the maximum number of candidates of one step.
        public var boosting = BoostingParameters(batch: 65_536, sample: 1_024, trees: 16)

        public init() {}
        public static let table = boostingTable(
            sample: .integer("sample", \.boosting.sample, in: 1...65_535, "maximum number of candidates of one step"))

        public var conflict: String? { boosting.obstacle(to: "3l-cache") }
    }

    public static let info = PolicyInfo(
        name: "3l-cache",
        summary: "learned: boosted trees predict the next requests of few candidates (needs LightGBM)",
        source: "Zhou et al.: 3L-Cache: low overhead and precise learning-based eviction policy for caches, FAST 2025",
        traits: [.usesSizes, .isRandomised])

    private let objective: BoostingObjective
    private var model: BoostingModel
    private var known: KnownObjects<ThreeLRecord>
    private var evictions = EvictionRing()
    /// The size of the residents.
    private var used = 0

    /// The longest time from the last request of an object to the end of its sample: before the last training, and ever.
    private var longestWait = 0
    private var nextLongestWait = 0
    /// The time of the last training.
    private var trainedAt = 0
    private var window = HistoryWindow()

    private var scan: CandidateScan
    /// The next resident to pass; `.none` in an empty cache.
    private var next = EntryID.none
    /// The last request of the last candidate.
    private var passedUntil: UInt32 = 0
    /// The candidates with the predicted distances, from the time of the last training on.
    private var candidates: CandidateHeap
    private var chosen: [EntryID] = []
    /// The new objects that are not candidates yet, from `firstNew` on, with their first requests, and their size.
    private var newObjects: [(entry: EntryID, firstRequest: UInt32)] = []
    private var firstNew = 0
    private var newSize = 0
    /// The evictions until the next step.
    private var evictionsLeft = 0
    private var generator: SplitMix64

    public init(_ parameters: Parameters, context: PolicyContext) {
        let boosting = parameters.boosting
        objective = boosting.objective
        model = BoostingModel(boosting, features: ThreeLRecord.features)
        known = KnownObjects(capacity: context.entries)
        candidates = CandidateHeap(capacity: context.entries)
        scan = CandidateScan(largestStep: boosting.sample, adapts: boosting.objective == .byteMissRatio)
        generator = SplitMix64(seed: context.seed)
    }

    public mutating func hit(_ access: Access) {
        known.countRequest()
        window.count(isHit: true)
        request(access.entry)
        if next == access.entry { next = known.following(access.entry) }
        candidates.remove(access.entry)
        known.moveToNewest(access.entry)
        endRequest()
    }

    public mutating func admit(_ access: Access) -> Bool {
        known.countRequest()
        if known.isEvicted(access.entry) {
            window.count(isHit: false)
            request(access.entry)
        } else {
            window.countUnknown()
        }
        endRequest()
        return true
    }

    public mutating func victim(for access: Access) -> EntryID {
        let victim = model.isTrained ? chooseCandidate() : known.oldest
        withdraw(victim)
        var record = known.evict(victim)
        record.place = evictions.append(victim)
        known.remember(victim, record)
        evictionsLeft -= 1
        return victim
    }

    public mutating func insert(_ access: Access) {
        var record = ThreeLRecord(size: access.size, firstRequest: known.now)
        if let evicted = known.forget(access.entry) {
            evictions.empty(evicted.place)
            record = evicted
            record.size = access.size
        }
        known.insert(access.entry, record)
        if next == .none { next = access.entry }
        used += access.size
        if model.isTrained {
            newObjects.append((access.entry, record.firstRequest))
            newSize += access.size
        }
    }

    public mutating func remove(_ entry: EntryID) {
        withdraw(entry)
        known.remove(entry)
    }

    public func remembers(_ entry: EntryID) -> Bool { known.isEvicted(entry) }

    public var metadataBytes: MetadataBytes {
        known.metadataBytes + candidates.metadataBytes
            + MetadataBytes(fixed: model.byteCount, perResident: evictions.byteCount + newObjects.capacity * 8)
    }
    public var metrics: [PolicyMetric] { model.metrics + known.metrics }

    // MARK: - Requests

    /// Labels the sample of a known object and updates its record, because it is requested.
    private mutating func request(_ entry: EntryID) {
        var record = known[entry]
        if record.sample != 0, usesSample() { label(record, distance: Int(known.now &- record.sample)) }
        record.sample = 0
        record.request(at: known.now)
        known[entry] = record
    }

    /// Samples a known object and forgets the oldest one of a full history.
    private mutating func endRequest() {
        drawSample()
        guard evictions.count >= known.residents.count * (window.factor - 1) + 2 else { return }
        window.isFull = true
        let oldest = evictions.removeFirst()
        guard oldest != .none, let record = known.forget(oldest), record.sample != 0, usesSample() else { return }
        let wait = Int(known.now &- record.lastRequest)
        nextLongestWait = max(nextLongestWait, wait)
        label(record, distance: longestWait + wait)
    }

    /// Withdraws a resident from the scan and from the candidates, before it is removed.
    private mutating func withdraw(_ entry: EntryID) {
        if next == entry {
            let following = known.following(entry)
            next = following == entry ? .none : following
        }
        candidates.remove(entry)
        used -= known.residents[entry].size
    }

    // MARK: - Learning

    private mutating func usesSample() -> Bool { !model.isTrained || generator.next(below: 4) == 0 }

    /// Samples an object of the cache or of the history, unless it has a sample. An empty place of the history is no object.
    private mutating func drawSample() {
        let residents = known.residents.count
        guard let place = known.drawSample(below: residents + evictions.count, with: &generator) else { return }
        let entry = place < residents ? known.residents[place].entry : evictions.entry(at: place - residents)
        guard entry != .none, known[entry].sample == 0 else { return }
        known[entry].sample = known.now
    }

    /// Adds the sample of an object to the batch, and trains when the batch is full and the last step complete.
    private mutating func label(_ record: ThreeLRecord, distance: Int) {
        record.fill(model.sampleRow, at: record.sample)
        model.addSample(distance: Double(distance))
        guard model.isBatchFull, evictionsLeft <= 0 else { return }
        model.train()
        candidates.removeAll()
        longestWait = nextLongestWait
        trainedAt = known.time
        window.adapt()
    }

    // MARK: - Eviction

    /// Returns the candidate with the farthest predicted request.
    private mutating func chooseCandidate() -> EntryID {
        if evictionsLeft <= 0 || candidates.count == 0 { evictionsLeft = predictCandidates() }
        if candidates.count == 0 { evictionsLeft = predictCandidates() }
        guard let victim = candidates.popFarthest() else { return known.oldest }
        let record = known.residents[victim]
        scan.countEviction(frequency: record.frequency, wasPassed: record.lastRequest <= passedUntil)
        return victim
    }

    /// Predicts the next requests of the candidates of a step, and returns the number of evictions until the next one.
    private mutating func predictCandidates() -> Int {
        scan.beginStep(residents: known.residents.count)
        chosen.removeAll(keepingCapacity: true)
        chooseNewObjects()
        if newSize < used * scan.reservedPercent / 10 { chooseByScan() }
        let rows = model.candidateRows(chosen.count)
        for (index, entry) in chosen.enumerated() {
            known.residents[entry].fill(rows + index * ThreeLRecord.features, at: known.now)
        }
        let predictions = model.predict(chosen.count)
        for (index, entry) in chosen.enumerated() {
            let distance = PortableMath.exp(predictions[index])
            let score =
                switch objective {
                case .objectMissRatio: Double(known.residents[entry].size) * distance
                case .byteMissRatio: distance + Double(known.time - trainedAt)
                }
            candidates.insert(entry, distance: Float(score))
        }
        return chosen.count / CandidateScan.candidatesPerEviction
    }

    /// Chooses the oldest new objects, until the others take no more than their share.
    private mutating func chooseNewObjects() {
        let most = Int(Double(scan.step) * 1.5)
        while newSize > used * scan.reservedPercent / 100, chosen.count < most, firstNew < newObjects.count {
            let (entry, firstRequest) = newObjects[firstNew]
            firstNew += 1
            let (isResident, isEvicted) = (known.isResident(entry), known.isEvicted(entry))
            guard isResident || isEvicted, known[entry].firstRequest == firstRequest else { continue }
            newSize -= known[entry].size
            if isResident { chosen.append(entry) }
        }
        if firstNew == newObjects.count { newSize = 0 }
        if firstNew * 2 >= newObjects.count {
            newObjects.removeFirst(firstNew)
            firstNew = 0
        }
    }

    /// Chooses among the residents by their last requests.
    private mutating func chooseByScan() {
        var found = 0
        while found < scan.step, chosen.count < scan.length {
            if scan.pass(frequency: known.residents[next].frequency) {
                chosen.append(next)
                found += 1
            }
            if scan.isComplete {
                candidates.removeAll()
                scan.restart(residents: known.residents.count, waiting: newObjects.count - firstNew)
                next = known.oldest
                found = 0
            } else {
                next = known.following(next)
            }
        }
        if let last = chosen.last { passedUntil = known.residents[last].lastRequest }
        scan.endStep()
    }
}
