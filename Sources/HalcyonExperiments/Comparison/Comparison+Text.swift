import Foundation
import HalcyonSimulation

extension Comparison {
    /// Returns the comparison as text: a table of the cells, the means, and the notes.
    ///
    /// - Parameter emphasis: whether to set significant cells in bold, as on a terminal.
    public func text(emphasis: Bool = false) -> String {
        let columns: [(title: String, isFigure: Bool, value: (Cell) -> String, usual: String?)] = [
            ("trace", false, { $0.trace }, nil), ("mode", false, { Self.both($0) { $0.mode.words } }, nil),
            ("policy", false, { $0.a.label == $0.b.label ? $0.a.label : "" }, ""),
            ("A", false, { $0.a.label == $0.b.label ? "" : $0.a.label }, ""),
            ("B", false, { $0.a.label == $0.b.label ? "" : $0.b.label }, ""),
            ("capacity", true, { Self.both($0, \.capacity) }, nil),
            ("knowledge", false, { Self.both($0) { $0.knowledge?.rawValue ?? "" } }, ""),
            ("trained on", false, { Self.both($0) { $0.pretrain ?? "" } }, ""),
            ("prefetch", false, { Self.both($0, \.prefetch) }, "none"),
            ("labels", false, { Self.both($0, \.labels) }, "given"),
            ("seeds", true, { Self.both($0) { $0.seeds.isEmpty ? "-" : "\($0.seeds.count)" } }, "-"),
            ("ratio A", true, { $0.a.hitRatio.percent }, nil), ("ratio B", true, { $0.b.hitRatio.percent }, nil),
            ("A − B", true, { $0.difference.signedHundredths }, nil),
            (level + " interval", false, { $0.interval?.words ?? "-" }, nil),
            ("p (Holm)", true, { $0.adjustedPValue.map(Self.probability) ?? "-" }, nil),
            ("result", false, { self.result($0) }, nil),
        ]
        let shown = columns.filter { column in
            column.usual == nil || cells.contains { column.value($0) != column.usual }
        }
        var table = TextTable(shown.map { (title: $0.title, alignment: $0.isFigure ? .right : .left) })
        for cell in cells {
            let isBold = isSignificant(cell)
            table.add(shown.map { .init($0.value(cell), isBold: isBold) })
        }
        return table.rendered(emphasis: emphasis) + "\n" + summary
    }

    /// The means and the notes as text.
    private var summary: String {
        var lines = ["A is \(a.words), B is \(b.words). Differences are points of the \(measure.words)."]
        if traces.count > 1 {
            var table = TextTable([
                ("trace", .left), ("cells", .right), ("mean A − B", .right), (level + " interval", .left),
            ])
            for trace in traces {
                table.add([
                    trace.trace, trace.cells.grouped, trace.difference.signedHundredths, trace.interval?.words ?? "-",
                ])
            }
            lines += ["", table.rendered()]
        }
        let over = traces.count == 1 ? "\(cells.count.counted("cell")) of 1 trace" : "\(traces.count) traces"
        lines.append("Mean over \(over): \(pooled.difference.points).")
        let these = pooled.intervalOfTheseTraces?.words ?? "none, because a cell has fewer than two units"
        lines.append("  \(level) interval for \(traces.count == 1 ? "this trace" : "these traces"): \(these)")
        if let interval = pooled.intervalOverTraces {
            lines.append("  \(level) interval for traces of which these are a sample: \(interval.words)")
        }
        lines.append(
            "A won \(tally.won) of \(cells.count.counted("cell")) (\(tally.significantlyWon) significantly), lost "
                + "\(tally.lost) (\(tally.significantlyLost) significantly), \(tally.equal) equal.")
        lines.append(
            "Worst cell: \(name(of: worst)): \(worst.difference.points)"
                + (worst.interval.map { " (\($0.words))" } ?? "") + ".")
        let left = [("A", a), ("B", b)].filter { $0.1.unpaired > 0 }
        if !left.isEmpty {
            lines.append(
                left.map { "\($0.1.unpaired.counted("cell")) of \($0.0)" }.joined(separator: " and ")
                    + " had no partner on the other side.")
        }
        return (lines + notes).joined(separator: "\n") + "\n"
    }

    /// Returns the name of a cell: `shop, shared, 1%`.
    func name(of cell: Cell) -> String {
        var parts = [
            cell.trace, Self.both(cell) { $0.mode.words }, Self.both(cell, \.label), Self.both(cell, \.capacity),
        ]
        let prefetch = Self.both(cell, \.prefetch)
        if prefetch != "none" { parts.append("prefetch \(prefetch)") }
        let labels = Self.both(cell, \.labels)
        if labels != "given" { parts.append("labels \(labels)") }
        return parts.joined(separator: ", ")
    }

    private var level: String {
        "\((confidence * 100).decimals(confidence * 100 == (confidence * 100).rounded() ? 0 : 1)) %"
    }

    private func result(_ cell: Cell) -> String {
        if abs(cell.difference) <= 1e-12 { return "equal" }
        return (cell.difference > 0 ? "won" : "lost") + (isSignificant(cell) ? " significantly" : "")
    }

    private static func both(_ cell: Cell, _ value: (Side) -> String) -> String {
        let (left, right) = (value(cell.a), value(cell.b))
        return left == right ? left : "\(left) / \(right)"
    }

    private static func probability(_ value: Double) -> String { value < 0.000_1 ? "<0.0001" : value.decimals(4) }

    /// The comparison as one JSON object with the schema `halcyon.comparison/1`.
    public func json() throws -> Data { try JSONReport.data(self) }
}

extension Comparison.Selection {
    fileprivate var words: String { "\(selector) (\(cells.counted("cell")))" }
}
