import HalcyonSupport

/// A loop: the same objects in the same order, repeatedly; if desired with displaced requests, other objects in each
/// phase, and requests of other kinds in between.
///
/// LRU and FIFO miss every request of a loop that is longer than the cache. The optimum keeps all entries but one, so
/// its hit ratio after the first round is (capacity - 1) / (objects - 1). Without ``jitter``, ``hotShare`` and
/// ``onceShare`` nothing is random, and every seed gives the same trace. Requests are one second apart.
///
/// Keys are `0` and up for the loops, phase after phase, then for the hot objects by popularity, then for the objects
/// that are requested once.
public struct LoopModel: TraceGenerator, Equatable, Codable {
    /// The number of requests.
    public var requests: Int
    /// The length of the loop.
    public var objects: Int
    /// The range within which requests are displaced in each round, as a share of the loop: 0 keeps the order, 1 is a
    /// new random order in each round.
    public var jitter = 0.0
    /// The number of phases, which divide the requests into equal parts. Each has a loop of its own objects.
    public var phases = 1
    /// The share of requests for hot objects, which interrupt the loop.
    public var hotShare = 0.0
    /// The number of hot objects. They are the same in all phases.
    public var hotObjects = 100
    /// The slope of the hot objects' popularity.
    public var hotAlpha = 1.0
    /// The share of requests for objects that are requested once.
    public var onceShare = 0.0

    /// Creates a model; by default 100,000 requests over 1,000 objects, in order.
    public init(requests: Int = 100_000, objects: Int = 1_000) {
        self.requests = requests
        self.objects = objects
    }

    /// A short trace as of block storage: 12,000 requests over some 900 objects, of which a loop takes nearly nine tenths.
    ///
    /// At a capacity of a tenth of the objects, most requests of an object follow its last one after 2 to 3 capacities of
    /// others.
    public static var block: LoopModel {
        var model = LoopModel(requests: 12_000, objects: 215)
        model.jitter = 0.5
        model.hotShare = 0.08
        model.hotObjects = 40
        model.onceShare = 0.053
        return model
    }

    /// A short trace as of a key-value store: 10,000 requests over some 900 objects, in two phases, of which a fifth are for
    /// hot objects.
    ///
    /// At a capacity of a tenth of the objects, most requests of an object follow its last one after 2 to 3 capacities of
    /// others.
    public static var keyValue: LoopModel {
        var model = LoopModel(requests: 10_000, objects: 200)
        model.phases = 2
        model.jitter = 0.3
        model.hotShare = 0.2
        model.hotObjects = 60
        model.onceShare = 0.045
        return model
    }

    /// Generates the trace. O(requests · log objects) with jitter, else O(requests).
    public func generate(seed: UInt64, names: Bool) throws(GenerationError) -> Trace {
        try validate()
        var random = SeededGenerator(seed: seed)
        let hot = AliasTable.zipf(count: hotObjects, alpha: hotAlpha)
        let (firstHot, firstOnce) = (phases * objects, phases * objects + hotObjects)
        var (phase, position, onceCount) = (0, 0, 0)
        var order = Array(0..<objects)
        let isMixed = hotShare + onceShare > 0
        return Trace.plain(requests: requests, names: names, objects: firstOnce) { index in
            if isMixed {
                let kind = random.unit()
                if kind < hotShare { return firstHot + hot.draw(using: &random) }
                if kind < hotShare + onceShare {
                    onceCount += 1
                    return firstOnce + onceCount - 1
                }
            }
            let current = index * phases / requests
            if current != phase { (phase, position) = (current, 0) }
            if position == objects { position = 0 }
            if position == 0, jitter > 0 { order = displaced(using: &random) }
            position += 1
            return phase * objects + order[position - 1]
        }
    }

    /// Returns the order of one round: each object at its place plus a random part of the range of displacement.
    private func displaced(using random: inout SeededGenerator) -> [Int] {
        let range = jitter * Double(objects)
        let places = (0..<objects).map { (place: Double($0) * (1 - jitter) + range * random.unit(), object: $0) }
        return places.sorted { ($0.place, $0.object) < ($1.place, $1.object) }.map(\.object)
    }

    private func validate() throws(GenerationError) {
        try ParameterCheck.count(requests, "requests")
        try ParameterCheck.count(objects, "objects")
        try ParameterCheck.share(jitter, "jitter")
        try ParameterCheck.count(phases, "phases")
        try ParameterCheck.share(hotShare, "hotShare")
        try ParameterCheck.count(hotObjects, "hotObjects")
        try ParameterCheck.range(hotAlpha, "hotAlpha", 0...10)
        try ParameterCheck.share(onceShare, "onceShare")
        if hotShare + onceShare > 1 {
            throw GenerationError(
                parameter: "onceShare", value: "\(onceShare)", accepted: "at most 1 - hotShare (\(1 - hotShare))")
        }
        try ParameterCheck.range(
            Double(phases) * Double(objects) + Double(hotObjects) + Double(requests),
            "phases * objects, hotObjects and requests together", 1...Double(UInt32.max - 1))
    }
}
