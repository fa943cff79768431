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
    public struct Parameters: PolicyParameters {
        /// The number of labelled samples that train a model.
        public var batch = 65_536
        /// The most candidates of one step.
        public var sample = 1_024
        /// The ratio to minimise.
        public var objective = BoostingObjective.byteMissRatio
        /// The number of trees of a model.
        public var trees = 16
        /// The most leaves of a tree.
        public var leaves = 32
        /// What trains the models; `nil` for LightGBM.
        var trainer: (any TreeTrainer)?
        /// Whether the policy will run, and not only be named.
        var willRun = true

        public init() {}
        public static let table = [
            Parameter<Self>.integer("batch", \.batch, in: 1...16_777_216, "labelled samples that train a model"),
            .integer("sample", \.sample, in: 1...65_535, "most candidates of one step"),
            .choice("objective", \.objective, "the ratio to minimise"),
            .integer("trees", \.trees, in: 1...10_000, "trees of a model"),
            .integer("leaves", \.leaves, in: 2...65_536, "most leaves of a tree"),
        ]

        public var conflict: String? { willRun ? BoostingObjective.obstacle(to: "3l-cache", trainer) : nil }
    }

    public static let info = PolicyInfo(
        name: "3l-cache",
        summary: "learned: boosted trees predict the next requests of few candidates (needs LightGBM)",
        source: "Zhou et al.: 3L-Cache: low overhead and precise learning-based eviction policy for caches, FAST 2025",
        traits: [.usesSizes, .isRandomised])

    private let parameters: Parameters
    private let trainer: any TreeTrainer
    private let treeParameters: TreeParameters
    private var trees: BoostedTrees?
    private var residents: DensePool<ThreeLRecord>
    /// The objects of the history that are not resident.
    private var evicted: DensePool<ThreeLRecord>
    private var evictions = EvictionRing()
    /// The residents by their last requests.
    private var links: LinkArena
    private var order = EntryList()
    /// The size of the residents.
    private var used = 0

    private var batch = TrainingSet(features: ThreeLRecord.features)
    private let row = FeatureRow(count: ThreeLRecord.features)
    /// The features and predictions of the candidates of a step.
    private let candidateRows = FeatureRow(count: ThreeLRecord.features)
    private let predictions = FeatureRow(count: 1)
    /// The longest time from the last request of an object to the end of its sample: before the last training, and ever.
    private var longestWait = 0
    private var nextLongestWait = 0
    private var window = HistoryWindow()
    private var trainings = 0

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

    /// The number of requests before this one.
    private var time = -1
    private var trainedAt = 0
    private var samples = false
    private var generator: SplitMix64

    public init(_ parameters: Parameters, context: PolicyContext) {
        self.parameters = parameters
        trainer = BoostingObjective.trainer(parameters.trainer)
        treeParameters = TreeParameters(trees: parameters.trees, leaves: parameters.leaves)
        residents = DensePool(capacity: context.entries)
        evicted = DensePool(capacity: context.entries)
        links = LinkArena(capacity: context.entries)
        candidates = CandidateHeap(capacity: context.entries)
        scan = CandidateScan(largestStep: parameters.sample, adapts: parameters.objective == .byteMissRatio)
        generator = SplitMix64(seed: context.seed)
    }

    private var now: UInt32 { UInt32(truncatingIfNeeded: time) }

    public mutating func hit(_ access: Access) {
        time += 1
        window.count(isHit: true)
        var record = residents[access.entry]
        request(&record)
        residents[access.entry] = record
        if next == access.entry { next = following(access.entry) }
        candidates.remove(access.entry)
        links.moveToHead(access.entry, in: &order)
        endRequest()
    }

    public mutating func admit(_ access: Access) -> Bool {
        time += 1
        if evicted.place(of: access.entry) != nil {
            window.count(isHit: false)
            var record = evicted[access.entry]
            request(&record)
            evicted[access.entry] = record
        } else {
            window.countUnknown()
        }
        endRequest()
        return true
    }

    public mutating func victim(for access: Access) -> EntryID {
        let victim = trees == nil ? order.tail : chooseCandidate()
        var record = residents[victim]
        withdraw(victim, size: record.size)
        record.place = evictions.append(victim)
        evicted.insert(victim, record)
        samples = true
        evictionsLeft -= 1
        return victim
    }

    public mutating func insert(_ access: Access) {
        var record = ThreeLRecord(size: access.size, firstRequest: now)
        if evicted.place(of: access.entry) != nil {
            record = evicted[access.entry]
            record.size = access.size
            evicted.remove(access.entry)
            evictions.empty(record.place)
        }
        residents.insert(access.entry, record)
        links.pushHead(access.entry, to: &order)
        if next == .none { next = access.entry }
        used += access.size
        if trees != nil {
            newObjects.append((access.entry, record.firstRequest))
            newSize += access.size
        }
    }

    public mutating func remove(_ entry: EntryID) { withdraw(entry, size: residents[entry].size) }
    public func remembers(_ entry: EntryID) -> Bool { evicted.place(of: entry) != nil }

    public var metadataBytes: MetadataBytes {
        residents.metadataBytes + evicted.metadataBytes + candidates.metadataBytes
            + MetadataBytes(
                fixed: batch.byteCount, perNumber: links.byteCount,
                perResident: evictions.byteCount + newObjects.capacity * 8)
    }
    public var metrics: [PolicyMetric] {
        [PolicyMetric("trainings", Double(trainings)), PolicyMetric("known_evicted", Double(evicted.count))]
    }

    // MARK: - Requests

    /// Labels the sample of an object and updates its record, because it is requested.
    private mutating func request(_ record: inout ThreeLRecord) {
        if record.sample != 0, usesSample() { label(record, distance: Int(now &- record.sample)) }
        record.sample = 0
        record.request(at: now)
    }

    /// Samples a known object and forgets the oldest one of a full history.
    private mutating func endRequest() {
        drawSample()
        guard evictions.count >= residents.count * (window.factor - 1) + 2 else { return }
        window.isFull = true
        let oldest = evictions.removeFirst()
        if oldest == .none { return }
        let record = evicted[oldest]
        evicted.remove(oldest)
        guard record.sample != 0, usesSample() else { return }
        let wait = Int(now &- record.lastRequest)
        nextLongestWait = max(nextLongestWait, wait)
        label(record, distance: longestWait + wait)
    }

    /// Removes a resident from the cache queue and from the candidates.
    private mutating func withdraw(_ entry: EntryID, size: Int) {
        if next == entry {
            let following = following(entry)
            next = following == entry ? .none : following
        }
        residents.remove(entry)
        links.remove(entry, from: &order)
        candidates.remove(entry)
        used -= size
    }

    /// Returns the resident that was requested next after another one; after the newest one, the oldest.
    private func following(_ entry: EntryID) -> EntryID {
        let newer = links.newer(than: entry)
        return newer == .none ? order.tail : newer
    }

    // MARK: - Learning

    private mutating func usesSample() -> Bool { trees == nil || generator.next(below: 4) == 0 }

    /// Samples an object of the cache or of the history, unless it has a sample. An empty place of the history is no object.
    private mutating func drawSample() {
        let known = residents.count + evictions.count
        guard samples, known > 0 else { return }
        let place = generator.next(below: known)
        if place < residents.count {
            let member = residents[place]
            if member.payload.sample == 0 {
                var record = member.payload
                record.sample = now
                residents[member.entry] = record
            }
        } else {
            let entry = evictions.entry(at: place - residents.count)
            guard entry != .none, evicted[entry].sample == 0 else { return }
            var record = evicted[entry]
            record.sample = now
            evicted[entry] = record
        }
    }

    /// Adds the sample of an object to the batch, and trains when the batch is full and the last step complete.
    private mutating func label(_ record: ThreeLRecord, distance: Int) {
        record.fill(row.values, at: record.sample)
        batch.append(row.values, label: Float(PortableMath.log1p(Double(distance))))
        guard batch.count >= parameters.batch, evictionsLeft <= 0 else { return }
        trees = trainer.train(batch, treeParameters)
        batch.removeAll()
        trainings += 1
        candidates.removeAll()
        longestWait = nextLongestWait
        trainedAt = time
        window.adapt()
    }

    // MARK: - Eviction

    /// Returns the candidate with the farthest predicted request.
    private mutating func chooseCandidate() -> EntryID {
        if evictionsLeft <= 0 || candidates.count == 0 { evictionsLeft = predictCandidates() }
        if candidates.count == 0 { evictionsLeft = predictCandidates() }
        guard let victim = candidates.popFarthest() else { return order.tail }
        let record = residents[victim]
        scan.countEviction(frequency: record.frequency, wasPassed: record.lastRequest <= passedUntil)
        return victim
    }

    /// Predicts the next requests of the candidates of a step, and returns the number of evictions until the next one.
    private mutating func predictCandidates() -> Int {
        scan.beginStep(residents: residents.count)
        chosen.removeAll(keepingCapacity: true)
        chooseNewObjects()
        if newSize < used * scan.reservedPercent / 10 { chooseByScan() }
        guard let trees else { return 0 }
        candidateRows.reserve(chosen.count * ThreeLRecord.features)
        predictions.reserve(chosen.count)
        for (index, entry) in chosen.enumerated() {
            residents[entry].fill(candidateRows.values + index * ThreeLRecord.features, at: now)
        }
        trees.predict(
            candidateRows.values, count: chosen.count, features: ThreeLRecord.features, into: predictions.values)
        for (index, entry) in chosen.enumerated() {
            let record = residents[entry]
            let distance = PortableMath.exp(predictions.values[index])
            let isBySize = parameters.objective == .objectMissRatio
            candidates.insert(
                entry,
                distance: Float(isBySize ? Double(record.size) * distance : distance + Double(time - trainedAt)))
        }
        return chosen.count / CandidateScan.candidatesPerEviction
    }

    /// Chooses the oldest new objects, until the others take no more than their share.
    private mutating func chooseNewObjects() {
        let most = Int(Double(scan.step) * 1.5)
        while newSize > used * scan.reservedPercent / 100, chosen.count < most, firstNew < newObjects.count {
            let (entry, firstRequest) = newObjects[firstNew]
            firstNew += 1
            if residents.place(of: entry) != nil, residents[entry].firstRequest == firstRequest {
                newSize -= residents[entry].size
                chosen.append(entry)
            } else if evicted.place(of: entry) != nil, evicted[entry].firstRequest == firstRequest {
                newSize -= evicted[entry].size
            }
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
            if scan.pass(frequency: residents[next].frequency) {
                chosen.append(next)
                found += 1
            }
            if scan.isComplete {
                candidates.removeAll()
                scan.restart(residents: residents.count, waiting: newObjects.count - firstNew)
                next = order.tail
                found = 0
            } else {
                next = following(next)
            }
        }
        if let last = chosen.last { passedUntil = residents[last].lastRequest }
        scan.endStep()
    }
}
