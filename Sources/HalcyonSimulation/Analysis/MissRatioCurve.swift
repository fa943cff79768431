import Foundation
import HalcyonSupport
import HalcyonTrace

/// The miss ratio of a policy by capacity.
///
/// The curve of LRU is a step function: between two points, the ratio is that of the smaller capacity. The points of a
/// ``Method/replayed`` or ``Method/miniature`` curve are single measurements.
public struct MissRatioCurve: Sendable, Codable, Equatable {
    /// The miss ratio from a capacity on, up to that of the next point.
    public struct Point: Sendable, Codable, Equatable {
        /// The capacity, in ``MissRatioCurve/unit``.
        public let capacity: UInt64
        /// The ratio of misses to requests, 0…1.
        public let missRatio: Double
        /// The standard error of ``missRatio`` due to sampling, widened by Student's t so that two of it are a 95 %
        /// interval. Nil for a curve without sampling.
        public let standardError: Double?

        /// Creates a point.
        package init(capacity: UInt64, missRatio: Double, standardError: Double?) {
            self.capacity = capacity
            self.missRatio = missRatio
            self.standardError = standardError
        }
    }

    /// The method that computed the curve.
    public enum Method: String, Sendable, Codable {
        /// Mattson's stack algorithm over every request.
        case exact
        /// SHARDS over a sample of the objects.
        case sampled
        /// One replay of all requests at each capacity.
        case replayed
        /// Miniature simulation: one replay of a sample of the objects at each capacity, scaled by the sampling rate.
        case miniature
    }

    /// The version of this structure.
    public private(set) var schema = "halcyon.curve/1"
    /// The version of Halcyon that made the curve.
    public private(set) var halcyonVersion = BuildInfo.current.halcyonVersion
    /// The result version of the build that made the curve.
    public private(set) var resultVersion = BuildInfo.current.resultVersion
    /// The identifier of the executable; see `BuildInfo.identifier`.
    public private(set) var buildId = BuildInfo.current.identifier
    /// Every parameter of the policy with its value; empty for LRU by stack distances.
    public var parameters: [String: String] = [:]
    /// The seed of the policy's random choices. Nil for LRU by stack distances.
    public var seed: UInt64?
    /// The matrix routines that the policy computed with. Nil for a policy without a parameter `kernels`.
    public var kernels: KernelInfo?
    /// The policy with its parameters, such as `s3-fifo(small=0.2)`.
    public let policy: String
    /// The unit of capacities: bytes or objects.
    public let unit: SizeUnit
    /// The method that computed the curve.
    public let method: Method
    /// The number of requests.
    public let requests: Int
    /// The number of distinct objects whose stack distances were measured.
    public let measuredObjects: Int
    /// The ratio of measured to all objects: 1 for an exact curve, otherwise the last rate, which may be below the
    /// first.
    public let samplingRate: Double
    /// The points by increasing capacity. Those of LRU begin at the smallest capacity with hits, and their ratios never
    /// increase. A sampled curve begins where a cache holds at least `smallestSample` sampled objects.
    public private(set) var points: [Point]

    /// The number of sampled objects that a cache must hold for a sampled curve to state its ratio.
    package static let smallestSample = 8

    /// The number of objects from which on no curve can be computed: 2³¹, because stack positions have 32 bits.
    package static let tooManyObjects = 1 << 31

    /// Creates a curve.
    package init(
        policy: String = "lru", unit: SizeUnit, method: Method, requests: Int, measuredObjects: Int,
        samplingRate: Double, points: [Point]
    ) {
        self.policy = policy
        self.unit = unit
        self.method = method
        self.requests = requests
        self.measuredObjects = measuredObjects
        self.samplingRate = samplingRate
        self.points = points
    }

    /// Whether the curve was estimated from a sample of the objects.
    package var isSampled: Bool { method == .sampled || method == .miniature }

    /// Returns the miss ratio at `capacity`: 1 below the first point, about which a sampled curve states nothing. O(log
    /// points).
    public func missRatio(atCapacity capacity: UInt64) -> Double {
        point(atCapacity: capacity)?.missRatio ?? 1
    }

    /// Returns the number of misses at `capacity`: exact for an exact curve, rounded for a sampled one. O(log
    /// points).
    public func misses(atCapacity capacity: UInt64) -> Int {
        Int((missRatio(atCapacity: capacity) * Double(requests)).rounded())
    }

    /// Returns the last point at or below `capacity`, if there is one. O(log points).
    public func point(atCapacity capacity: UInt64) -> Point? {
        let after = points.partitionPoint { $0.capacity > capacity }
        return after == 0 ? nil : points[after - 1]
    }

    /// Returns the curve at `count` capacities, evenly spaced by ratio from the first point to the last, for plots.
    package func thinned(to count: Int) -> MissRatioCurve {
        guard points.count > count, count > 1, let first = points.first, let last = points.last else { return self }
        let low = Double(max(1, first.capacity))
        let ratio = Double(last.capacity) / low
        var chosen: [Point] = []
        for step in 0..<count {
            let capacity = low * PortableMath.pow(ratio, Double(step) / Double(count - 1))
            guard let point = point(atCapacity: step == count - 1 ? last.capacity : UInt64(capacity)) else { continue }
            if chosen.last?.capacity != point.capacity { chosen.append(point) }
        }
        return with(chosen)
    }

    /// Returns the curve at these capacities, in ascending order; those below its first point are left out if it is
    /// sampled.
    package func points(at capacities: [Int]) -> MissRatioCurve {
        with(
            capacities.compactMap { capacity in
                let point = point(atCapacity: UInt64(capacity))
                if point == nil, isSampled { return nil }
                return Point(
                    capacity: UInt64(capacity), missRatio: point?.missRatio ?? 1, standardError: point?.standardError)
            })
    }

    private func with(_ points: [Point]) -> MissRatioCurve {
        var curve = self
        curve.points = points
        return curve
    }
}

/// An estimate with its standard error, for a figure that lies between known bounds.
package struct BoundedEstimate {
    /// The estimate.
    package let value: Double
    /// Its standard error.
    package let standardError: Double

    /// Restricts a normal distribution with this mean and standard deviation to the bounds: the mean and the standard
    /// deviation of the truncated normal distribution. An estimate far inside the bounds does not change. An estimate
    /// beyond a bound moves inside, and its error shrinks, because it can only be on one side.
    package init(_ mean: Double, _ deviation: Double, in bounds: ClosedRange<Double>) {
        guard deviation > 0 else {
            (value, standardError) = (min(max(mean, bounds.lowerBound), bounds.upperBound), 0)
            return
        }
        let low = (bounds.lowerBound - mean) / deviation
        let high = (bounds.upperBound - mean) / deviation
        let mass = Self.cumulative(high) - Self.cumulative(low)
        guard mass > 1e-9 else {
            // The tail beyond a bound falls off exponentially: its mean and its deviation are equal.
            let tail = deviation / min(abs(low), abs(high))
            let width = min(tail, (bounds.upperBound - bounds.lowerBound) / 2)
            value = mean > bounds.upperBound ? bounds.upperBound - width : bounds.lowerBound + width
            standardError = width
            return
        }
        let shift = (Self.density(low) - Self.density(high)) / mass
        let spread = 1 + (low * Self.density(low) - high * Self.density(high)) / mass - shift * shift
        value = min(max(mean + deviation * shift, bounds.lowerBound), bounds.upperBound)
        standardError = deviation * max(0, spread).squareRoot()
    }

    /// Returns the standard error of the mean of independent estimates, widened so that two of it are a 95 % interval
    /// by Student's t; infinite for fewer than two estimates.
    package static func standardError(ofParts parts: [Double]) -> Double {
        guard parts.count > 1 else { return .infinity }
        let count = Double(parts.count)
        let mean = parts.reduce(0, +) / count
        let squares = parts.reduce(0) { $0 + ($1 - mean) * ($1 - mean) }
        let error = (squares / (count - 1) / count).squareRoot()
        return error == 0 ? 0 : error * Distributions.studentQuantile(0.975, degrees: count - 1) / 2
    }

    private static func density(_ x: Double) -> Double {
        x.isFinite ? PortableMath.exp(-x * x / 2) / (2 * Double.pi).squareRoot() : 0
    }

    private static func cumulative(_ x: Double) -> Double { PortableMath.erfc(-x / 2.0.squareRoot()) / 2 }
}

extension MissRatioCurve {
    /// Returns the curve as a table.
    public func table() -> String { MissRatioCurve.table([self]) }

    /// Returns curves as one table: a line about each, then a row for each capacity and a column for each policy.
    package static func table(_ curves: [MissRatioCurve]) -> String {
        var text = curves.map(\.headline).joined()
        let isSampled = curves.contains(where: \.isSampled)
        if isSampled {
            text +=
                "\(curves.count > 1 ? "±" : "The standard error") is due to sampling: two of them on either side are a 95 % "
                + "interval.\n"
        }
        let unit = curves.first?.unit ?? .objects
        let capacities = Set(curves.flatMap { $0.points.map(\.capacity) }).sorted()
        if capacities.isEmpty { return text }
        var columns = ["capacity"] + (curves.count == 1 ? ["miss ratio"] : curves.map(\.policy))
        if curves.count == 1, isSampled { columns.append("standard error") }
        var table = TextTable(left: [], right: columns)
        // Sizes that are equal when rounded are shown in full.
        let rounded = Set(capacities.map { Int(clamping: $0).bytesForPeople })
        for capacity in capacities {
            let size = Int(clamping: capacity)
            let bytes = rounded.count < capacities.count ? "\(size.grouped) B" : size.bytesForPeople
            var row = [unit == .bytes ? bytes : size.grouped]
            for curve in curves {
                let point = curve.point(atCapacity: capacity).flatMap { $0.capacity == capacity ? $0 : nil }
                let error = point?.standardError.map { $0.decimals(4) }
                if curves.count == 1 {
                    row.append(point.map { $0.missRatio.decimals(4) } ?? "-")
                    if isSampled { row.append(error ?? "-") }
                } else {
                    let ratio = point.map { $0.missRatio.decimals(4) } ?? "-"
                    row.append(error.map { "\(ratio) ± \($0)" } ?? ratio)
                }
            }
            table.add(row)
        }
        return text + table.rendered()
    }

    private var headline: String {
        let method =
            switch self.method {
            case .exact: "exact"
            case .sampled: "sampled (SHARDS)"
            case .replayed: "replayed at each capacity"
            case .miniature: "miniature simulation"
            }
        var text = "\(policy), \(requests.counted("request")), \(method)"
        if isSampled {
            text +=
                ": \(measuredObjects.counted("object")) measured, at a rate of \((samplingRate * 100).decimals(4)) %"
            text += self.method == .sampled ? " in the end" : ""
        }
        text += "\n"
        if points.isEmpty { text += "No object is requested again: every request misses, whatever the capacity.\n" }
        return text
    }

    /// Returns the curve as CSV.
    public func csv() -> Data { MissRatioCurve.csv([self]) }

    /// Returns curves as one CSV, a row for each policy and capacity.
    package static func csv(_ curves: [MissRatioCurve]) -> Data {
        var text = "capacity,miss_ratio,standard_error,policy,method\n"
        for curve in curves {
            let name = "\(curve.policy.asCSVField),\(curve.method.rawValue)"
            for point in curve.points {
                let error = point.standardError.map { "\($0)" } ?? ""
                text += "\(point.capacity),\(point.missRatio),\(error),\(name)\n"
            }
        }
        return Data(text.utf8)
    }

    /// Returns curves as JSON: one object for a single curve, an array for several.
    package static func json(_ curves: [MissRatioCurve]) throws -> Data {
        try curves.count == 1 ? JSONReport.data(curves[0]) : JSONReport.data(curves)
    }

    /// Returns one line of JSON for each point of the curves.
    package static func jsonLines(_ curves: [MissRatioCurve]) throws -> Data {
        struct Line: Encodable {
            let schema: String
            let halcyonVersion: String
            let resultVersion: Int
            let buildId: String
            let policy: String
            let method: Method
            let unit: SizeUnit
            let capacity: UInt64
            let missRatio: Double
            let standardError: Double?
        }
        return try JSONReport.lines(
            curves.flatMap { curve in
                curve.points.map {
                    Line(
                        schema: curve.schema, halcyonVersion: curve.halcyonVersion, resultVersion: curve.resultVersion,
                        buildId: curve.buildId, policy: curve.policy, method: curve.method, unit: curve.unit,
                        capacity: $0.capacity, missRatio: $0.missRatio, standardError: $0.standardError)
                }
            })
    }

    /// Returns up to `count` different capacities from `low` to `high`, both included and at least 1.
    ///
    /// - Parameter byRatio: whether neighbours have equal ratios instead of equal differences.
    package static func capacities(_ count: Int, from low: Int, to high: Int, byRatio: Bool) -> [Int] {
        let (low, high) = (max(1, low), max(1, high))
        guard count > 1, low < high else { return [high] }
        var chosen: [Int] = []
        for step in 0..<count {
            let part = Double(step) / Double(count - 1)
            let capacity =
                byRatio
                ? Double(low) * PortableMath.pow(Double(high) / Double(low), part)
                : Double(low) + Double(high - low) * part
            let rounded = step == count - 1 ? high : min(high, Int(capacity.rounded()))
            if chosen.last.map({ $0 < rounded }) ?? true { chosen.append(rounded) }
        }
        return chosen
    }
}
