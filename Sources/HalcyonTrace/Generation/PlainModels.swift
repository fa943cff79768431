/// Independent requests by Zipf's law: the object of rank r (from 1) is as likely as r to the power of `-alpha`.
///
/// Requests are one second apart. Every object has size 1. Keys are `0` (the most popular) and up. The best causal
/// policy keeps the objects of lowest rank. 10 million requests for a million objects take about a second to generate.
public struct ZipfModel: TraceGenerator, Equatable, Codable {
    /// The number of requests.
    public var requests: Int
    /// The number of objects that can be requested.
    public var objects: Int
    /// The slope of popularity; 0 makes all objects equally popular.
    public var alpha: Double

    /// Creates a model; by default 1,000,000 requests for 100,000 objects at slope 1.
    public init(requests: Int = 1_000_000, objects: Int = 100_000, alpha: Double = 1) {
        self.requests = requests
        self.objects = objects
        self.alpha = alpha
    }

    /// Generates a trace. O(requests + objects) time; 4 bytes a request and 20 an object.
    public func generate(seed: UInt64, names: Bool) throws(GenerationError) -> Trace {
        try ParameterCheck.count(requests, "requests")
        try ParameterCheck.count(objects, "objects")
        try ParameterCheck.range(alpha, "alpha", 0...10)
        let table = AliasTable.zipf(count: objects, alpha: alpha)
        var random = SeededGenerator(seed: seed)
        return Trace.plain(requests: requests, names: names, objects: objects) { _ in table.draw(using: &random) }
    }
}

/// A Zipf working set that sequential scans of new objects interrupt.
///
/// An object of a scan is never requested again, so admitting it can only lose hits. A scan-resistant policy has no
/// misses beyond those of the working set and the compulsory misses of the scans. Keys below `objects` are the working
/// set, in order of popularity; keys from `objects` upwards are scanned. Requests are one second apart.
public struct ScanModel: TraceGenerator, Equatable, Codable {
    /// The number of requests.
    public var requests: Int
    /// The size of the working set.
    public var objects: Int
    /// The slope of the working set's popularity.
    public var alpha: Double
    /// The share of requests that belong to scans; 1 is a single scan.
    public var scanShare: Double
    /// The number of requests of one scan.
    public var scanLength: Int

    /// Creates a model; by default 100,000 requests, half of which belong to scans of 1,000 requests.
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

    /// Generates a trace. O(requests + objects).
    ///
    /// Each request outside a scan begins a scan with a constant probability, chosen so that scans make up `scanShare`
    /// of all requests in the long run.
    public func generate(seed: UInt64, names: Bool) throws(GenerationError) -> Trace {
        try ParameterCheck.count(requests, "requests")
        try ParameterCheck.count(objects, "objects")
        try ParameterCheck.count(objects + requests, "objects and requests together")
        try ParameterCheck.range(alpha, "alpha", 0...10)
        try ParameterCheck.share(scanShare, "scanShare")
        try ParameterCheck.count(scanLength, "scanLength")
        let table = AliasTable.zipf(count: objects, alpha: alpha)
        var random = SeededGenerator(seed: seed)
        // If each ordinary request starts a scan with probability p, (1 - p) / p of them lie between two scans on
        // average.
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

extension Trace {
    /// Returns a trace of requests that are one second apart, without users, categories and sizes.
    static func plain(requests: Int, names: Bool, objects: Int, next: (Int) -> Int) -> Trace {
        var order = FirstRequestOrder(capacity: objects)
        let entries = [UInt32](unsafeUninitializedCapacity: requests) { buffer, count in
            for index in 0..<requests { buffer.initializeElement(at: index, to: order.number(of: next(index))) }
            count = requests
        }
        var tables = TraceNames()
        if names {
            for original in order.originals { tables.keys.append("\(original)") }
        }
        var report = LoadReport()
        report.noSizes = true
        return Trace(
            entries: entries, times: TimeColumn(count: requests),
            objectSizes: Array(repeating: 1, count: order.originals.count), names: tables, report: report)
    }
}
