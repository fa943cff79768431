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
    public struct Parameters: BoostedPolicyParameters {
        /// The memory window, in requests.
        public var window = 67_108_864
        /// The model, its training, and the number of residents drawn for each eviction.
        public var boosting = BoostingParameters(batch: 131_072, sample: 64, trees: 32)

        public init() {}
        public static let table =
            [.integer("window", \.window, in: 1...2_147_483_647, "memory window in requests")]
            + boostingTable(
                sample: .integer("sample", \.boosting.sample, in: 1...65_536, "residents drawn for each eviction"))

        public var conflict: String? { boosting.obstacle(to: "lrb") }
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
        var samples = SampleLists.none
    }

    private let parameters: Parameters
    private var model: BoostingModel
    private var known: KnownObjects<Record>
    private var histories = RequestHistories()
    private var pending = SampleLists()
    /// The places of the candidates of an eviction among the residents.
    private var candidates: [Int] = []
    /// The entry of each request of the window, at its time modulo the window.
    private var requested: SlotArray<EntryID>
    /// For each place among the residents, the eviction that last drew it.
    private var drawn: SlotArray<UInt32>
    private var draws: UInt32 = 0
    private var generator: SplitMix64

    public init(_ parameters: Parameters, context: PolicyContext) {
        self.parameters = parameters
        model = BoostingModel(parameters.boosting, features: RequestHistories.features)
        known = KnownObjects(capacity: context.entries)
        requested = SlotArray(repeating: .none)
        drawn = SlotArray(repeating: 0)
        generator = SplitMix64(seed: context.seed)
    }

    public mutating func hit(_ access: Access) {
        begin(access)
        request(access.entry)
        known.moveToNewest(access.entry)
        drawSample()
    }

    public mutating func admit(_ access: Access) -> Bool {
        begin(access)
        if known.isEvicted(access.entry) { request(access.entry) }
        drawSample()
        return true
    }

    public mutating func victim(for access: Access) -> EntryID {
        let victim = chooseVictim()
        var record = known.evict(victim)
        let age = known.now &- record.lastRequest
        if Int(age) < parameters.window {
            known.remember(victim, record)
        } else {
            label(&record, distance: Double(age) + Double(parameters.window))
            endHistory(record)
        }
        return victim
    }

    public mutating func insert(_ access: Access) {
        var record = known.forget(access.entry) ?? Record(size: access.size, lastRequest: known.now)
        record.size = access.size
        known.insert(access.entry, record)
    }

    public mutating func remove(_ entry: EntryID) {
        var record = known.remove(entry)
        while pending.removeNewest(from: &record.samples) != nil {}
        endHistory(record)
    }

    public func remembers(_ entry: EntryID) -> Bool { known.isEvicted(entry) }

    public var metadataBytes: MetadataBytes {
        known.metadataBytes
            + MetadataBytes(
                fixed: model.byteCount + requested.byteCount,
                perResident: histories.byteCount + pending.byteCount + drawn.byteCount)
    }
    public var metrics: [PolicyMetric] { model.metrics + known.metrics }

    // MARK: - The window

    /// Counts a request, and forgets the evicted object whose last request has left the window.
    private mutating func begin(_ access: Access) {
        known.countRequest()
        let place = known.time % parameters.window
        let entry = requested[wide: place]
        requested[wide: place] = access.entry
        guard known.time >= parameters.window, known.isEvicted(entry),
            known.now &- known[entry].lastRequest == UInt32(parameters.window), var record = known.forget(entry)
        else { return }
        label(&record, distance: 2 * Double(parameters.window))
        endHistory(record)
    }

    /// Labels the samples of a known object and updates its features, because it is requested.
    private mutating func request(_ entry: EntryID) {
        var record = known[entry]
        label(&record, distance: nil)
        let distance = known.now &- record.lastRequest
        if record.history == .max {
            record.history = histories.begin(distance: distance)
        } else {
            histories.append(distance: distance, to: record.history)
        }
        record.lastRequest = known.now
        known[entry] = record
    }

    private mutating func endHistory(_ record: Record) {
        if record.history != .max { histories.release(record.history) }
    }

    // MARK: - Learning

    /// Samples one of the known objects.
    private mutating func drawSample() {
        let residents = known.residents.count
        guard let place = known.drawSample(below: residents + known.evicted.count, with: &generator) else { return }
        let entry = place < residents ? known.residents[place].entry : known.evicted[place - residents].entry
        pending.add(known.now, to: &known[entry].samples)
    }

    /// Moves the samples of an object to the batch, and trains when it is full.
    ///
    /// - Parameter distance: the distance to the next request; `nil` if that is the present one.
    private mutating func label(_ record: inout Record, distance: Double?) {
        while let time = pending.removeNewest(from: &record.samples) {
            fill(model.sampleRow, of: record, at: time)
            model.addSample(distance: distance ?? Double(known.now &- time))
        }
        if model.isBatchFull { model.train() }
    }

    /// Writes the features of an object at a time.
    private func fill(_ row: UnsafeMutablePointer<Double>, of record: Record, at time: UInt32) {
        histories.fill(
            row, of: record.history, age: time &- record.lastRequest, size: record.size, window: parameters.window)
    }

    // MARK: - Eviction

    private mutating func chooseVictim() -> EntryID {
        let oldest = known.oldest
        guard model.isTrained, Int(known.now &- known[oldest].lastRequest) < parameters.window else { return oldest }
        chooseCandidates()
        let rows = model.candidateRows(candidates.count)
        for (index, place) in candidates.enumerated() {
            fill(rows + index * RequestHistories.features, of: known.residents[place].payload, at: known.now)
        }
        let predictions = model.predict(candidates.count)
        var (victim, farthest) = (EntryID.none, -Double.infinity)
        for (index, place) in candidates.enumerated() {
            let resident = known.residents[place]
            var score = predictions[index]
            if parameters.boosting.objective == .objectMissRatio { score *= Double(resident.payload.size) }
            if score > farthest { (victim, farthest) = (resident.entry, score) }
        }
        return victim
    }

    /// Draws residents, each at most once; all of them if they are no more than `sample`.
    private mutating func chooseCandidates() {
        candidates.removeAll(keepingCapacity: true)
        if known.residents.count <= parameters.boosting.sample {
            candidates.append(contentsOf: 0..<known.residents.count)
            return
        }
        draws &+= 1
        while candidates.count < parameters.boosting.sample {
            let place = known.residents.draw(with: &generator)
            if drawn[UInt32(place)] == draws { continue }
            drawn[UInt32(place)] = draws
            candidates.append(place)
        }
    }
}
