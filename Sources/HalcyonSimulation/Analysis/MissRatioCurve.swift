import Foundation
import HalcyonSupport
import HalcyonTrace

/// The miss ratio of LRU at every capacity.
///
/// The curve is a step function: between two points, the ratio is that of the smaller capacity.
public struct MissRatioCurve: Sendable, Codable, Equatable {
    /// The miss ratio from a capacity on, up to that of the next point.
    public struct Point: Sendable, Codable, Equatable {
        /// The capacity, in ``MissRatioCurve/unit``.
        public let capacity: UInt64
        /// The ratio of misses to requests, 0…1.
        public let missRatio: Double
        /// The standard error of ``missRatio``. Nil for an exact curve.
        public let standardError: Double?
    }

    /// The method that computed the curve.
    public enum Method: String, Sendable, Codable {
        /// Mattson's stack algorithm over every request.
        case exact
        /// SHARDS over a sample of the objects.
        case sampled
    }

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
    /// The points, from the smallest capacity with hits on. Capacities increase; ratios never increase.
    public let points: [Point]

    /// Returns the miss ratio at `capacity`: 1 below the first point. O(log points).
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
        var low = 0
        var high = points.count
        while low < high {
            let middle = (low + high) / 2
            if points[middle].capacity <= capacity { low = middle + 1 } else { high = middle }
        }
        return low == 0 ? nil : points[low - 1]
    }

    /// Returns the curve at `count` capacities, evenly spaced by ratio from the first point to the last, for plots.
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
    /// Returns the curve as a table.
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

    /// Returns the curve as CSV.
    public func csv() -> Data {
        var text = "capacity,miss_ratio,standard_error\n"
        for point in points {
            text += "\(point.capacity),\(point.missRatio),\(point.standardError.map { "\($0)" } ?? "")\n"
        }
        return Data(text.utf8)
    }
}
