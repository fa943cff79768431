import Foundation
import HalcyonTrace

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
