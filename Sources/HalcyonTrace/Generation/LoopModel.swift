/// The same objects in the same order, over and over.
///
/// The truth: LRU and FIFO miss every request as soon as the loop is longer than the cache; the optimum keeps
/// all but one of its places still, and so hits (capacity - 1) / (objects - 1) of the requests after the first round.
/// Nothing is random, so every seed gives the same trace. Keys are `0` and up; requests are a second apart.
public struct LoopModel: TraceGenerator, Equatable, Codable {
    /// The number of requests.
    public var requests: Int
    /// The length of the loop.
    public var objects: Int

    /// A model, by default 100,000 requests around 1,000 objects.
    public init(requests: Int = 100_000, objects: Int = 1_000) {
        self.requests = requests
        self.objects = objects
    }

    /// Makes the trace. O(requests).
    public func generate(seed: UInt64, names: Bool) throws(GenerationError) -> Trace {
        try Knob.count(requests, "requests")
        try Knob.count(objects, "objects")
        return Trace.plain(requests: requests, names: names, objects: objects) { $0 % objects }
    }
}
