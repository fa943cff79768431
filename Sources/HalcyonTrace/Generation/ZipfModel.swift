/// Independent requests by Zipf's law: the object of rank r (from 1) is as likely as r to the power of `-alpha`.
///
/// Requests are a second apart; every object counts 1; keys are `0` (the most popular) and up. The truth: the best
/// causal policy is to keep the objects of lowest rank. 10 million requests of a million objects take about a second.
public struct ZipfModel: TraceGenerator, Equatable, Codable {
    /// The number of requests.
    public var requests: Int
    /// The number of objects that can be asked for.
    public var objects: Int
    /// How steep popularity is; 0 makes all objects equal.
    public var alpha: Double

    /// A model, by default 1,000,000 requests of 100,000 objects at slope 1.
    public init(requests: Int = 1_000_000, objects: Int = 100_000, alpha: Double = 1) {
        self.requests = requests
        self.objects = objects
        self.alpha = alpha
    }

    /// Draws a trace. O(requests + objects) time; 4 bytes a request and 20 an object.
    public func generate(seed: UInt64, names: Bool) throws(GenerationError) -> Trace {
        try Knob.count(requests, "requests")
        try Knob.count(objects, "objects")
        try Knob.range(alpha, "alpha", 0...10)
        let table = AliasTable.zipf(count: objects, alpha: alpha)
        var random = SeededGenerator(seed: seed)
        return Trace.plain(requests: requests, names: names, objects: objects) { _ in table.draw(using: &random) }
    }
}
