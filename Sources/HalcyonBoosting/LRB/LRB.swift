import HalcyonEviction
import HalcyonSupport

/// LRB (learning relaxed Belady) evicts, of a random sample of residents, the one whose next request is predicted to be
/// the farthest away. Boosted trees predict the logarithm of the distance to the next request.
///
/// A memory window of `window` requests bounds what the policy remembers and learns:
///
/// - Metadata: every object that was requested within the window is known, resident or not, with the features of
///   `RequestHistories`.
/// - Training data: from the first eviction on, each request samples one known object. The sample is labelled with the
///   logarithm of the distance to the next request of its object. Without a request in the window, an evicted object
///   takes twice the window, and a resident that is evicted then takes its age and the window.
/// - Training: `batch` labelled samples train a new model, which replaces the last one.
/// - Eviction: if the resident with the oldest last request is outside the window, it is the victim. Before the first
///   model, it always is: the policy decides as `lru`. Otherwise `sample` residents are drawn. With the objective
///   `object-miss-ratio`, predictions are multiplied by sizes.
///
/// The rules and defaults are those of the authors' code in libCacheSim 0.3.5. It has one window for every cache, which is
/// longer than most public traces; the paper chooses the window for a cache. On a trace that is shorter than
/// the window, no object is forgotten, and objects that are not requested again teach nothing. A `batch` of 131,072 also
/// means that traces with fewer re-requests never train.
///
/// A hit and an insertion are O(1) apart from trainings, an eviction is O(`sample` × `trees`). Bytes: 356 a row of
/// `batch`, 4 a request of the window, 16 a number, 32 an object in the window, 166 more with its second request.
public struct LRB: ~Copyable, CataloguedPolicy {
    /// The parameters of the policy.
    public struct Parameters: PolicyParameters {
        /// The memory window, in requests.
        public var window = 67_108_864
        /// The number of labelled samples that train a model.
        public var batch = 131_072
        /// The number of residents drawn for each eviction.
        public var sample = 64
        /// The ratio to minimise.
        public var objective = BoostingObjective.byteMissRatio
        /// The number of trees of a model.
        public var trees = 32
        /// The most leaves of a tree.
        public var leaves = 32
        /// What trains the models; `nil` for LightGBM.
        var trainer: (any TreeTrainer)?
        /// Whether the policy will run, and not only be named.
        var willRun = true

        public init() {}
        public static let table = [
            Parameter<Self>.integer("window", \.window, in: 1...2_147_483_647, "memory window in requests"),
            .integer("batch", \.batch, in: 1...16_777_216, "labelled samples that train a model"),
            .integer("sample", \.sample, in: 1...65_536, "residents drawn for each eviction"),
            .choice("objective", \.objective, "the ratio to minimise"),
            .integer("trees", \.trees, in: 1...10_000, "trees of a model"),
            .integer("leaves", \.leaves, in: 2...65_536, "most leaves of a tree"),
        ]

        public var conflict: String? { willRun ? BoostingObjective.obstacle(to: "lrb", trainer) : nil }
    }

    public static let info = PolicyInfo(
        name: "lrb", summary: "learned: boosted trees predict the distance to the next request (needs LightGBM)",
        source: "Song, Berger, Li, Lloyd: Learning relaxed Belady for content distribution network caching, NSDI 2020",
        traits: [.usesSizes, .isRandomised])

    /// What is known of an object within the window. Not private, because Swift 6.3 then emits invalid code
    /// for tests of this noncopyable type.
    struct Record: BitwiseCopyable {
        var size: Int
        var lastRequest: UInt32
        /// Its history, or `UInt32.max` before its second request.
        var history = UInt32.max
        /// Its samples that wait for a label.
        var samples = PendingSamples.none
    }

    private let parameters: Parameters
    private let trainer: any TreeTrainer
    private let treeParameters: TreeParameters
    private var trees: BoostedTrees?
    private var residents: DensePool<Record>
    /// The objects within the window that are not resident.
    private var evicted: DensePool<Record>
    /// The residents by their last requests.
    private var links: LinkArena
    private var order = EntryList()
    private var histories = RequestHistories()
    private var pending = PendingSamples()
    private var batch = TrainingSet(features: RequestHistories.features)
    private let row = FeatureRow(count: RequestHistories.features)
    /// The candidates of an eviction: their features, predictions and places.
    private let candidateRows: FeatureRow
    private let predictions: FeatureRow
    private var candidates: [Int] = []
    /// The entry of each request of the window, at its time modulo the window.
    private var requested: SlotArray<EntryID>
    /// For each index of `residents`, the eviction that last drew it.
    private var drawn: SlotArray<UInt32>
    private var draws: UInt32 = 0
    /// The number of requests before this one.
    private var time = -1
    private var samples = false
    private var trainings = 0
    private var generator: SplitMix64

    public init(_ parameters: Parameters, context: PolicyContext) {
        self.parameters = parameters
        trainer = BoostingObjective.trainer(parameters.trainer)
        treeParameters = TreeParameters(trees: parameters.trees, leaves: parameters.leaves)
        residents = DensePool(capacity: context.entries)
        evicted = DensePool(capacity: context.entries)
        links = LinkArena(capacity: context.entries)
        candidateRows = FeatureRow(count: parameters.sample * RequestHistories.features)
        predictions = FeatureRow(count: parameters.sample)
        requested = SlotArray(repeating: .none)
        drawn = SlotArray(repeating: 0)
        generator = SplitMix64(seed: context.seed)
    }

    private var now: UInt32 { UInt32(truncatingIfNeeded: time) }

    public mutating func hit(_ access: Access) {
        begin(access)
        var record = residents[access.entry]
        request(&record)
        residents[access.entry] = record
        links.moveToHead(access.entry, in: &order)
        drawSample()
    }

    public mutating func admit(_ access: Access) -> Bool {
        begin(access)
        if evicted.place(of: access.entry) != nil {
            var record = evicted[access.entry]
            request(&record)
            evicted[access.entry] = record
        }
        drawSample()
        return true
    }

    public mutating func victim(for access: Access) -> EntryID {
        let victim = chooseVictim()
        var record = residents[victim]
        remove(victim, keepsRecord: true)
        samples = true
        let age = now &- record.lastRequest
        if Int(age) < parameters.window {
            evicted.insert(victim, record)
        } else {
            label(&record, distance: Double(age) + Double(parameters.window))
            forget(record)
        }
        return victim
    }

    public mutating func insert(_ access: Access) {
        var record = Record(size: access.size, lastRequest: now)
        if evicted.place(of: access.entry) != nil {
            record = evicted[access.entry]
            record.size = access.size
            evicted.remove(access.entry)
        }
        residents.insert(access.entry, record)
        links.pushHead(access.entry, to: &order)
    }

    public mutating func remove(_ entry: EntryID) { remove(entry, keepsRecord: false) }
    public func remembers(_ entry: EntryID) -> Bool { evicted.place(of: entry) != nil }

    public var metadataBytes: MetadataBytes {
        residents.metadataBytes + evicted.metadataBytes
            + MetadataBytes(
                fixed: batch.byteCount + requested.byteCount, perNumber: links.byteCount,
                perResident: histories.byteCount + pending.byteCount + drawn.byteCount)
    }
    public var metrics: [PolicyMetric] {
        [PolicyMetric("trainings", Double(trainings)), PolicyMetric("known_evicted", Double(evicted.count))]
    }

    // MARK: - The window

    /// Advances the time, and forgets the evicted object whose last request has left the window.
    private mutating func begin(_ access: Access) {
        time += 1
        let place = time % parameters.window
        let entry = requested[wide: place]
        requested[wide: place] = access.entry
        guard time >= parameters.window, evicted.place(of: entry) != nil else { return }
        var record = evicted[entry]
        guard now &- record.lastRequest == UInt32(parameters.window) else { return }
        label(&record, distance: 2 * Double(parameters.window))
        evicted.remove(entry)
        forget(record)
    }

    /// Labels the samples of an object and updates its features, because it is requested.
    private mutating func request(_ record: inout Record) {
        label(&record, distance: nil)
        let distance = now &- record.lastRequest
        if record.history == .max {
            record.history = histories.begin(distance: distance)
        } else {
            histories.append(distance: distance, to: record.history)
        }
        record.lastRequest = now
    }

    private mutating func remove(_ entry: EntryID, keepsRecord: Bool) {
        var record = residents[entry]
        residents.remove(entry)
        links.remove(entry, from: &order)
        guard !keepsRecord else { return }
        while pending.removeNewest(from: &record.samples) != nil {}
        forget(record)
    }

    private mutating func forget(_ record: Record) {
        if record.history != .max { histories.release(record.history) }
    }

    // MARK: - Learning

    /// Samples one of the known objects.
    private mutating func drawSample() {
        let known = residents.count + evicted.count
        guard samples, known > 0 else { return }
        let place = generator.next(below: known)
        if place < residents.count {
            let member = residents[place]
            var record = member.payload
            pending.add(now, to: &record.samples)
            residents[member.entry] = record
        } else {
            let member = evicted[place - residents.count]
            var record = member.payload
            pending.add(now, to: &record.samples)
            evicted[member.entry] = record
        }
    }

    /// Moves the samples of an object to the batch, and trains when it is full.
    ///
    /// - Parameter distance: the distance to the next request; `nil` if that is the present one.
    private mutating func label(_ record: inout Record, distance: Double?) {
        guard record.samples != PendingSamples.none else { return }
        while let time = pending.removeNewest(from: &record.samples) {
            histories.fill(
                row.values, of: record.history, age: time &- record.lastRequest, size: record.size,
                window: parameters.window)
            batch.append(row.values, label: Float(PortableMath.log1p(distance ?? Double(now &- time))))
        }
        guard batch.count >= parameters.batch else { return }
        trees = trainer.train(batch, treeParameters)
        batch.removeAll()
        trainings += 1
    }

    // MARK: - Eviction

    private mutating func chooseVictim() -> EntryID {
        let oldest = order.tail
        guard let trees, Int(now &- residents[oldest].lastRequest) < parameters.window else { return oldest }
        chooseCandidates()
        for (index, place) in candidates.enumerated() {
            let record = residents[place].payload
            histories.fill(
                candidateRows.values + index * RequestHistories.features, of: record.history,
                age: now &- record.lastRequest, size: record.size, window: parameters.window)
        }
        trees.predict(
            candidateRows.values, count: candidates.count, features: RequestHistories.features,
            into: predictions.values)
        var (victim, farthest) = (EntryID.none, -Double.infinity)
        for (index, place) in candidates.enumerated() {
            var score = predictions.values[index]
            if parameters.objective == .objectMissRatio { score *= Double(residents[place].payload.size) }
            if score > farthest { (victim, farthest) = (residents[place].entry, score) }
        }
        return victim
    }

    /// Draws residents, each at most once; all of them if they are no more than `sample`.
    private mutating func chooseCandidates() {
        candidates.removeAll(keepingCapacity: true)
        if residents.count <= parameters.sample {
            candidates.append(contentsOf: 0..<residents.count)
            return
        }
        draws &+= 1
        while candidates.count < parameters.sample {
            let place = residents.draw(with: &generator)
            if drawn[UInt32(place)] == draws { continue }
            drawn[UInt32(place)] = draws
            candidates.append(place)
        }
    }
}
