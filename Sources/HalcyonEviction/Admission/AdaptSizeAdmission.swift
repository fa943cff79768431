import HalcyonSupport

/// Admits an object of size s with the probability exp(−s/c), and chooses c by a model of the hit ratio.
///
/// After every `admit-interval` requests, the model computes, from the request rates of the objects, the hit ratio that
/// an LRU cache behind this rule would have for a given c. A search finds the best c: every fourth power of two, then 15
/// steps of golden-section search. Rates of an interval count 0.7, those before 0.3, and objects below a rate of 0.1 are
/// forgotten. c is not chosen before the objects known have three times the capacity; until then it is 32,768.
///
/// Berger, Sitaraman, Harchol-Balter: AdaptSize: orchestrating the hot object memory cache in a CDN, NSDI 2017. The
/// arithmetic is that of the authors' code as in libCacheSim (`adaptsize.cpp` at commit 283853f). There is one difference:
/// if an object changes its size, we count its last size only; the code counts the difference twice. As in the code, c
/// stays as it is if the search meets a c for which the model has no value. In small caches this is frequent.
///
/// A request is O(1). A choice of c is O(objects) with some 450 exponentials an object: with the default interval and
/// 100,000 objects some 20 µs for each request. Bytes an entry number: 32.
public struct AdaptSizeAdmission: ~Copyable, AdmissionFilter {
    /// What is known of an object.
    struct Record: BitwiseCopyable {
        /// Requests in this interval.
        var recent = 0.0
        /// The weighted requests of an interval before.
        var rate = 0.0
        var size = 0
        /// Its place in `known`, or −1.
        var place = -1
    }

    private static let decay = 0.3
    private static let least = 0.1

    private var records: SlotArray<Record>
    /// The objects with a record, in the order in which they became known.
    private var known: [EntryID] = []
    /// The total size of the objects with a record; a real number, because it cannot overflow.
    private var knownSize = 0.0
    private var capacity: Int
    private let interval: Int
    private var remaining: Int
    private var random: SplitMix64
    /// The size that is admitted with probability 1/e.
    private(set) var scale = 32_768.0

    public init(_ parameters: AdmissionParameters, context: PolicyContext) {
        records = SlotArray(repeating: Record(), capacity: context.entries)
        capacity = context.capacity
        interval = parameters.interval
        remaining = parameters.interval
        random = SplitMix64(seed: context.seed)
    }

    public mutating func hit(_ access: Access) { count(access) }

    public mutating func admit(_ access: Access) -> Bool {
        count(access)
        return random.nextUnit() < PortableMath.exp(-Double(access.size) / scale)
    }

    public mutating func resize(to capacity: Int) { self.capacity = capacity }
    public func remembers(_ entry: EntryID) -> Bool { records[entry].place >= 0 }

    public var metadataBytes: MetadataBytes {
        MetadataBytes(perNumber: records.byteCount, perResident: known.capacity * MemoryLayout<EntryID>.stride)
    }

    public var metrics: [PolicyMetric] { [PolicyMetric("admission_scale", scale)] }

    private mutating func count(_ access: Access) {
        remaining -= 1
        if remaining <= 0 { chooseScaleIfKnown() }
        if records[access.entry].place < 0 {
            records[access.entry].place = known.count
            known.append(access.entry)
        }
        knownSize += Double(access.size) - Double(records[access.entry].size)
        records[access.entry].size = access.size
        records[access.entry].recent += 1
    }

    private mutating func chooseScaleIfKnown() {
        guard capacity > 0, knownSize > Double(capacity) * 3 else {
            remaining += 1_000
            return
        }
        remaining = interval
        ageRecords()
        var model = AdaptSizeModel(capacity: Double(capacity))
        for entry in known { model.add(rate: records[entry].rate, size: Double(records[entry].size)) }
        if let best = model.bestScale() { scale = best }
    }

    /// Adds the requests of the interval to the rates and forgets objects with low ones.
    private mutating func ageRecords() {
        var kept = 0
        for entry in known {
            let record = records[entry]
            let isNew = record.rate == 0
            let rate = record.rate * Self.decay + (isNew ? record.recent : (1 - Self.decay) * record.recent)
            if rate < Self.least {
                knownSize -= Double(record.size)
                records[entry] = Record()
            } else {
                records[entry] = Record(recent: 0, rate: rate, size: record.size, place: kept)
                known[kept] = entry
                kept += 1
            }
        }
        known.removeLast(known.count - kept)
    }
}
