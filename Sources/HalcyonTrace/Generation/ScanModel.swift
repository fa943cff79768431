/// A Zipf working set that sequential scans of new objects interrupt.
///
/// The truth: an object of a scan is never asked for again, so that admitting one can only size hits; a
/// scan-resistant policy loses nothing but the scan's own compulsory misses. Keys below `objects` are the working set, by
/// popularity; scanned keys follow from `objects` upwards. Requests are a second apart.
public struct ScanModel: TraceGenerator, Equatable, Codable {
    /// The number of requests.
    public var requests: Int
    /// The size of the working set.
    public var objects: Int
    /// The slope of the working set's popularity.
    public var alpha: Double
    /// The share of requests that belong to scans; 1 is one single scan.
    public var scanShare: Double
    /// The number of requests of one scan.
    public var scanLength: Int

    /// A model, by default 100,000 requests of which half scan, 1,000 at a time.
    public init(
        requests: Int = 100_000, objects: Int = 1_000, alpha: Double = 0.9, scanShare: Double = 0.5,
        scanLength: Int = 1_000
    ) {
        self.requests = requests
        self.objects = objects
        self.alpha = alpha
        self.scanShare = scanShare
        self.scanLength = scanLength
    }

    /// Draws a trace. O(requests + objects).
    ///
    /// After each scan or at the start, a request outside a scan begins one with the probability that makes
    /// `scanShare` of all requests scanned in the long run.
    public func generate(seed: UInt64, names: Bool) throws(GenerationError) -> Trace {
        try Knob.count(requests, "requests")
        try Knob.count(objects, "objects")
        try Knob.count(objects + requests, "objects and requests together")
        try Knob.range(alpha, "alpha", 0...10)
        try Knob.share(scanShare, "scanShare")
        try Knob.count(scanLength, "scanLength")
        let table = AliasTable.zipf(count: objects, alpha: alpha)
        var random = SeededGenerator(seed: seed)
        // Between two scans lie (1 - p) / p ordinary requests on average, if each starts a scan with probability p.
        let ordinary = Double(scanLength) * (1 - scanShare)
        let start = scanShare == 0 ? 0 : scanShare / (scanShare + ordinary)
        var left = 0
        var scanned = objects
        return Trace.plain(requests: requests, names: names, objects: objects) { _ in
            if left == 0 && random.chance(start) { left = scanLength }
            if left == 0 { return table.draw(using: &random) }
            left -= 1
            scanned += 1
            return scanned - 1
        }
    }
}
