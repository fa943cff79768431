import Foundation
import HalcyonSupport

/// Rows of text in aligned columns.
public struct TextTable: Sendable {
    /// The alignment of a column.
    public enum Alignment: Sendable {
        /// Left-aligned, for words.
        case left
        /// Right-aligned, for figures.
        case right
    }

    /// One cell of a row.
    public struct Cell: Sendable {
        /// The text of the cell.
        public var text: String
        /// Whether the cell is set in bold on a terminal.
        public var isBold: Bool

        /// Creates a cell. Control characters of `text` are escaped.
        public init(_ text: String, isBold: Bool = false) {
            self.text = text.escapingControls()
            self.isBold = isBold
        }
    }

    private let columns: [(title: String, alignment: Alignment)]
    private var rows: [[Cell]] = []

    /// Creates a table with these columns.
    public init(_ columns: [(title: String, alignment: Alignment)]) { self.columns = columns }

    /// Creates a table with columns of words, then columns of figures.
    package init(left: [String], right: [String]) { self.init(left.map { ($0, .left) } + right.map { ($0, .right) }) }

    /// Adds a row of plain texts.
    package mutating func add(_ row: [String]) { add(row.map { Cell($0) }) }

    /// Adds a row with one cell per column.
    public mutating func add(_ row: [Cell]) {
        precondition(row.count == columns.count, "a cell for each column")
        rows.append(row)
    }

    /// Returns the table, each line ended by a newline.
    ///
    /// - Parameter emphasis: whether to set bold cells in bold by terminal sequences.
    public func rendered(emphasis: Bool = false) -> String {
        let all = [columns.map { Cell($0.title) }] + rows
        let widths = columns.indices.map { column in all.map { $0[column].text.count }.max() ?? 0 }
        var text = ""
        for row in all {
            var line = ""
            for (column, cell) in row.enumerated() {
                let padding = String(repeating: " ", count: widths[column] - cell.text.count)
                let shown = emphasis && cell.isBold ? "\u{1B}[1m\(cell.text)\u{1B}[0m" : cell.text
                line +=
                    (column == 0 ? "" : "  ") + (columns[column].alignment == .left ? shown + padding : padding + shown)
            }
            while line.last == " " { line.removeLast() }
            text += line + "\n"
        }
        return text
    }
}

extension Double {
    /// Returns the number with `count` decimals.
    package func decimals(_ count: Int) -> String { String(format: "%.\(count)f", self) }
    /// The share as a percentage with two decimals.
    package var percent: String { (self * 100).decimals(2) + " %" }
}

extension Int {
    /// The number with a comma between thousands.
    package var grouped: String {
        var digits = String(magnitude)
        var groups: [String] = []
        while digits.count > 3 {
            groups.insert(String(digits.suffix(3)), at: 0)
            digits.removeLast(3)
        }
        return (self < 0 ? "-" : "") + ([digits] + groups).joined(separator: ",")
    }

    /// Returns the number with a noun, in the singular for 1: `1 request`, `2,000 requests`.
    ///
    /// - Parameter noun: the singular of a noun whose plural ends in -s.
    package func counted(_ noun: String) -> String { "\(grouped) \(noun)\(self == 1 ? "" : "s")" }

    /// The number of bytes with a unit of powers of 1000, rounded to one decimal.
    package var bytesForPeople: String {
        let units = ["B", "KB", "MB", "GB", "TB", "PB"]
        var (value, unit) = (Double(self), 0)
        while value >= 999.95, unit < units.count - 1 {
            value /= 1000
            unit += 1
        }
        return unit == 0 ? "\(self) B" : "\(value.decimals(1)) \(units[unit])"
    }

    /// The exact number of bytes: with a unit of powers of 1000 (`1.5 KB`) or of 1024 (`1.0 KiB`) if one decimal is
    /// exact, otherwise rounded and in full (`1.0 KB (1,030 B)`).
    package var exactBytesForPeople: String {
        var scale = 1
        for _ in 0..<5 where magnitude >= UInt(scale) * 1_000 { scale *= 1_000 }
        if (self * 10).quotientAndRemainder(dividingBy: scale).remainder == 0 { return bytesForPeople }
        let units = ["KiB", "MiB", "GiB", "TiB", "PiB"]
        for (place, unit) in units.enumerated().reversed() {
            let size = 1 << (10 * (place + 1))
            let (tenths, remainder) = (self * 10).quotientAndRemainder(dividingBy: size)
            if abs(tenths) >= 10, remainder == 0 { return "\((Double(tenths) / 10).decimals(1)) \(unit)" }
        }
        return "\(bytesForPeople) (\(grouped) B)"
    }
}
