import HalcyonEviction

/// Takes samples of the objects of one cache and labels each: positive when its object is requested again, negative when
/// the label window has passed. Labelled samples go to the ``OnlineTrainer``.
///
/// Operations are amortised O(samples taken).
struct SampleLabeller: ~Copyable {
    /// The most samples that wait for their label.
    private static let pendingBound = 1 << 15
    /// The samples per request that fit in the bound, times the label window; a little less than the bound.
    private static let fittingSamples = 32_000.0

    private let learner: UnsafeMutablePointer<Learner>
    /// The number of this cache's correction; see ``UserCorrections``.
    let correction: UInt32
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

    init(
        learner: UnsafeMutablePointer<Learner>, correction: UInt32, parameters: LearnedParameters,
        context: PolicyContext
    ) {
        self.learner = learner
        self.correction = correction
        samplesPerRequest = parameters.sampling
        learns = parameters.learns
        capacity = Double(max(context.capacity, 0))
        usesUniformSizes = context.usesUniformSizes
    }

    var byteCount: Int { pending.byteCount }

    func pack(into packer: inout StatePacker) {
        pending.pack(into: &packer)
        packer.write(window)
        for number in [insertions, insertedSize, credit, samplesNotTaken] { packer.write(number) }
    }

    mutating func unpack(from unpacker: inout StateUnpacker) {
        pending.unpack(from: &unpacker)
        window = unpacker.read()
        insertions = unpacker.read()
        insertedSize = unpacker.read()
        credit = unpacker.read()
        samplesNotTaken = unpacker.read()
        estimateResidents()
    }

    /// Whether samples are taken: not before the cache has filled a quarter of its capacity once.
    var isSampling: Bool { insertedSize >= capacity / 4 && learns }

    /// Starts request `now`: sets the label window, and gives a negative label to each sample whose window has passed.
    @inline(__always)
    mutating func begin(_ now: Int, missRatio: Double) {
        let learner = learner
        window = learner.pointee.labelWindow.requests(
            residents: residents, missRatio: missRatio, usesUniformSizes: usesUniformSizes)
        while let due = pending.popDue(now: now, window: window) {
            if !due.isLabelled { learner.pointee.trainer.add(due.row, isPositive: false, user: correction) }
        }
    }

    /// Gives a positive label to the samples of an object that is requested now.
    @inline(__always)
    mutating func labelSamples(of record: UnsafeMutablePointer<ObjectRecord>) {
        let learner = learner
        var number = record.pointee.pending
        while let sample = pending.label(number) {
            learner.pointee.trainer.add(sample.row, isPositive: true, user: correction)
            number = sample.older
        }
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
        let settled = steps < 2_000 ? 1.0 : steps < 3_000 ? 0.5 : steps < 4_000 ? 0.25 : steps < 8_000 ? 0.1 : 0.03
        let (wanted, fitting) = (samplesPerRequest * settled, SampleLabeller.fittingSamples / Double(window))
        credit += min(wanted, fitting)
        if wanted > fitting { samplesNotTaken += wanted - fitting }
        while credit >= 1 {
            credit -= 1
            let takesAccessed = includesAccessed && generator.next(below: 3) == 0
            let slot = takesAccessed ? accessed : history.randomResident(&generator, excluding: newObject)
            if slot != ObjectRecord.none { take(slot, of: history.records.base, at: instant) }
        }
        if credit + min(wanted, fitting) >= 1 {
            // The next request takes a sample: most likely of this resident.
            var generator = generator
            if !includesAccessed || generator.next(below: 3) != 0 {
                history.expectRandomResidents(&generator, count: 1)
            }
        }
    }

    /// Takes a sample of one object, unless too many samples wait for their label.
    ///
    /// - Parameter marks: the ``Expert/mark`` of each expert that would evict the object now.
    mutating func take(
        _ slot: UInt32, marks: UInt8 = 0, of records: UnsafeMutablePointer<ObjectRecord>, at instant: FeatureInstant
    ) {
        if pending.isFull {
            samplesNotTaken += 1
            return
        }
        let learner = learner
        let record = records + Int(slot)
        let (number, row) = pending.push(now: instant.request, older: record.pointee.pending)
        Sample.write(record.pointee, at: instant, features: &learner.pointee.features, into: row)
        row[Sample.outcome] = marks
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

/// The features of an object at one instant, with the scores of the heuristics: 42 bytes.
///
/// Bytes 0 ..< 38 are the network's inputs (``Feature``). The scores of the heuristics follow separately, so that switching
/// off a group of features does not affect them.
enum Sample {
    static let width = 42
    /// The priority of ``GreedyDual`` above its clock.
    static let worth = 38
    /// The time since the last access, in octaves.
    static let age = 39
    /// The size of the object, in octaves.
    static let size = 40
    /// Bit 0 is the label, once it is known. The other bits are the ``Expert/mark`` of each expert that would have evicted
    /// the object.
    static let outcome = 41

    /// Writes an object as a sample without its outcome.
    static func write(
        _ record: ObjectRecord, at instant: FeatureInstant, features: inout FeatureAssembler,
        into row: UnsafeMutablePointer<UInt8>
    ) {
        features.write(record, at: instant, into: row)
        row[Sample.worth] = GreedyDual.octaves(record.priority - instant.greedyDualClock)
        row[Sample.age] = FastMath.octaves(record.age(at: instant.request))
        row[Sample.size] = FastMath.byte(record.logSize * 8)
    }
}

/// The samples that wait for their label, oldest first, in a bounded ring. The samples of one object are chained from its
/// newest one.
///
/// A sample keeps its number until it leaves the ring. Numbers are modulo 2³¹, so that none equals ``none``. All
/// operations are O(1). Bytes: 54 a sample.
struct PendingSamples: ~Copyable {
    static let none = ObjectRecord.none
    private static let numbers: UInt32 = 1 << 31 - 1

    /// A waiting sample. It is not private, because Swift 6.3 then emits an invalid module for the noncopyable struct.
    struct Slot: BitwiseCopyable {
        /// The request at which the sample was taken, modulo 2³².
        var taken: UInt32 = 0
        var older = PendingSamples.none
        var isLabelled = false
        /// Fills the last bytes, so that each byte belongs to a field.
        private var unused: (UInt8, UInt8, UInt8) = (0, 0, 0)

        /// The bytes of each field, in the order of memory.
        static let fields = [4, 4, 1, 1, 1, 1]

        init(taken: UInt32 = 0, older: UInt32 = PendingSamples.none, isLabelled: Bool = false) {
            self.taken = taken
            self.older = older
            self.isLabelled = isLabelled
        }
    }

    private var slots: HeapArray<Slot>
    private var rows: HeapArray<UInt8>
    private var first: UInt32
    private var count: UInt32 = 0
    private let bound: Int

    /// A ring of at most `bound` samples, a power of two.
    ///
    /// - Parameter first: the number of the first sample.
    init(bound: Int, first: UInt32 = 0) {
        self.bound = bound
        self.first = first & PendingSamples.numbers
        slots = HeapArray(repeating: Slot(), count: 0)
        rows = HeapArray(repeating: 0, count: 0)
    }

    var byteCount: Int { slots.byteCount + rows.byteCount }
    var isFull: Bool { Int(count) >= bound }

    /// Adds a sample taken at request `now` in front of the chain `older`, and returns its number and its row. Must not be
    /// called on a full ring.
    mutating func push(now: Int, older: UInt32) -> (number: UInt32, row: UnsafeMutablePointer<UInt8>) {
        if Int(count) == slots.count { enlarge() }
        let number = (first &+ count) & PendingSamples.numbers
        let place = Int(number) & (slots.count - 1)
        slots[place] = Slot(taken: UInt32(truncatingIfNeeded: now), older: older, isLabelled: false)
        count &+= 1
        let row = rows.base + place * Sample.width
        row.update(repeating: 0, count: Sample.width)
        return (number, row)
    }

    /// Removes the oldest sample if `window` requests have passed since it was taken, and returns its row; otherwise `nil`.
    /// The row is valid until the next push.
    mutating func popDue(now: Int, window: Int) -> (row: UnsafePointer<UInt8>, isLabelled: Bool)? {
        guard count > 0 else { return nil }
        let place = Int(first) & (slots.count - 1)
        guard Int(UInt32(truncatingIfNeeded: now) &- slots[place].taken) >= window else { return nil }
        first = (first &+ 1) & PendingSamples.numbers
        count &-= 1
        return (UnsafePointer(rows.base + place * Sample.width), slots[place].isLabelled)
    }

    /// Marks a sample as labelled, and returns its row and the next older sample of the same object. Returns `nil` if the
    /// sample has left the ring.
    mutating func label(_ number: UInt32) -> (row: UnsafePointer<UInt8>, older: UInt32)? {
        guard isWaiting(number) else { return nil }
        let place = Int(number) & (slots.count - 1)
        slots[place].isLabelled = true
        return (UnsafePointer(rows.base + place * Sample.width), slots[place].older)
    }

    /// Returns whether a sample is in the ring.
    @inline(__always)
    func isWaiting(_ number: UInt32) -> Bool {
        number != PendingSamples.none && (number &- first) & PendingSamples.numbers < count
    }

    /// Writes the samples, oldest first.
    func pack(into packer: inout StatePacker) {
        for number in [slots.count, Int(first), Int(count)] { packer.write(number) }
        let waiting = HeapArray(repeating: Slot(), count: Int(count))
        let unlabelled = HeapArray<UInt8>(repeating: 0, count: Int(count) * Sample.width)
        var unlabelledCount = 0
        for offset in 0..<Int(count) {
            let place = place(offset)
            waiting[offset] = slots[place]
            // A row whose label is known was used: nothing reads it again.
            if slots[place].isLabelled { continue }
            (unlabelled.base + unlabelledCount * Sample.width).update(
                from: rows.base + place * Sample.width, count: Sample.width)
            unlabelledCount += 1
        }
        packer.write(waiting.base, count: waiting.count, fields: Slot.fields)
        packer.write(unlabelledCount)
        packer.write(rows: unlabelled.base, count: unlabelledCount, width: Sample.width)
    }

    mutating func unpack(from unpacker: inout StateUnpacker) {
        let room = unpacker.read(Int.self)
        slots.grow(to: room, filling: Slot())
        rows.grow(to: room * Sample.width, filling: 0)
        first = unpacker.read()
        count = unpacker.read()
        let waiting = HeapArray(repeating: Slot(), count: Int(count))
        unpacker.read(into: waiting.base, count: waiting.count, fields: Slot.fields)
        let unlabelled = HeapArray<UInt8>(repeating: 0, count: unpacker.read() * Sample.width)
        unpacker.read(rows: unlabelled.base, count: unlabelled.count / Sample.width, width: Sample.width)
        var row = UnsafePointer(unlabelled.base)
        for offset in 0..<Int(count) {
            let place = place(offset)
            slots[place] = waiting[offset]
            if waiting[offset].isLabelled { continue }
            (rows.base + place * Sample.width).update(from: row, count: Sample.width)
            row += Sample.width
        }
    }

    /// Returns the place of the sample with this number of older ones in the ring.
    private func place(_ offset: Int) -> Int {
        Int((first &+ UInt32(truncatingIfNeeded: offset)) & PendingSamples.numbers) & (slots.count - 1)
    }

    private mutating func enlarge() {
        var larger = HeapArray(repeating: Slot(), count: max(slots.count * 2, 4))
        var wider = HeapArray<UInt8>(repeating: 0, count: larger.count * Sample.width)
        for offset in 0..<count {
            let number = Int((first &+ offset) & PendingSamples.numbers)
            let (from, to) = (number & (slots.count - 1), number & (larger.count - 1))
            larger[to] = slots[from]
            (wider.base + to * Sample.width).update(from: rows.base + from * Sample.width, count: Sample.width)
        }
        swap(&slots, &larger)
        swap(&rows, &wider)
    }
}
