import Foundation
import HalcyonSupport
import HalcyonTrace

/// The miss ratio of LRU at every capacity.
///
/// A step function: between two points the ratio is that of the smaller capacity.
public struct MissRatioCurve: Sendable, Codable, Equatable {
    /// A capacity from which on the miss ratio is what it says here.
    public struct Point: Sendable, Codable, Equatable {
        /// The capacity, in ``MissRatioCurve/unit``.
        public let capacity: UInt64
        /// The share of requests that miss, 0 to 1.
        public let missRatio: Double
        /// The standard error of ``missRatio`` where the curve is estimated from a sample; otherwise nil.
        public let standardError: Double?
    }

    /// How the curve was made.
    public enum Method: String, Sendable, Codable {
        /// Mattson's stack algorithm over every request.
        case exact
        /// SHARDS over a sample of the objects.
        case sampled
    }

    /// What capacities count: bytes or objects.
    public let unit: SizeUnit
    /// How the curve was made.
    public let method: Method
    /// The number of requests that the curve speaks of.
    public let requests: Int
    /// Of how many distinct objects stack distances were measured.
    public let measuredObjects: Int
    /// The share of objects measured; 1 if exact, and the last rate used if it fell on the way.
    public let samplingRate: Double
    /// From the smallest capacity at which anything changes; capacities strictly rise and ratios never do.
    public let points: [Point]

    /// The miss ratio at `capacity`: 1 below the first point. O(log points).
    public func missRatio(atCapacity capacity: UInt64) -> Double {
        point(atCapacity: capacity)?.missRatio ?? 1
    }

    /// The misses at `capacity` of an exact curve, which are whole; of a sampled one, rounded. O(log points).
    public func misses(atCapacity capacity: UInt64) -> Int {
        Int((missRatio(atCapacity: capacity) * Double(requests)).rounded())
    }

    /// The last point at or below `capacity`, if there is one. O(log points).
    public func point(atCapacity capacity: UInt64) -> Point? {
        var low = 0
        var high = points.count
        while low < high {
            let middle = (low + high) / 2
            if points[middle].capacity <= capacity { low = middle + 1 } else { high = middle }
        }
        return low == 0 ? nil : points[low - 1]
    }

    /// The curve at `count` capacities, evenly spaced by ratio from the first point to the last: enough for a plot.
    public func thinned(to count: Int) -> MissRatioCurve {
        guard points.count > count, count > 1, let first = points.first, let last = points.last else { return self }
        let low = Double(max(1, first.capacity))
        let ratio = Double(last.capacity) / low
        var chosen: [Point] = []
        for step in 0..<count {
            let capacity = low * PortableMath.pow(ratio, Double(step) / Double(count - 1))
            guard let point = point(atCapacity: step == count - 1 ? last.capacity : UInt64(capacity)) else { continue }
            if chosen.last?.capacity != point.capacity { chosen.append(point) }
        }
        return MissRatioCurve(
            unit: unit, method: method, requests: requests, measuredObjects: measuredObjects,
            samplingRate: samplingRate, points: chosen)
    }
}

extension MissRatioCurve {
    /// The curve for people.
    public func table() -> String {
        var text = "LRU, \(requests.counted("request")), "
        switch method {
        case .exact: text += "exact\n"
        case .sampled:
            text +=
                "sampled: \(measuredObjects.counted("object")) measured, at a rate of "
                + "\((samplingRate * 100).decimals(4)) % in the end\n"
        }
        if points.isEmpty {
            return text + "No object is requested again: every request misses, whatever the capacity.\n"
        }
        var columns: [(title: String, alignment: TextTable.Alignment)] = [
            ("capacity", .right), ("miss ratio", .right),
        ]
        if method == .sampled { columns.append(("standard error", .right)) }
        var table = TextTable(columns)
        for point in points {
            let capacity = Int(clamping: point.capacity)
            var row: [TextTable.Cell] = [
                .init(unit == .bytes ? capacity.bytesForPeople : capacity.grouped),
                .init(point.missRatio.decimals(4)),
            ]
            if method == .sampled { row.append(.init(point.standardError.map { $0.decimals(4) } ?? "-")) }
            table.add(row)
        }
        return text + table.rendered()
    }

    /// The curve as CSV.
    public func csv() -> Data {
        var text = "capacity,miss_ratio,standard_error\n"
        for point in points {
            text += "\(point.capacity),\(point.missRatio),\(point.standardError.map { "\($0)" } ?? "")\n"
        }
        return Data(text.utf8)
    }
}
