/// The form of the lines of a format whose fields are fixed.
protocol LineLayout: Sendable {
    /// The separator of fields.
    var separator: LineFields.Separator { get }
    /// The columns beside keys.
    var present: PresentColumns { get }
    /// The number of operations; 0 if lines have none.
    var operationCount: Int { get }
    /// Adds what a line that is not empty requests. The layout is copied for each chunk.
    mutating func add(_ line: LineFields, to rows: RowScratch) throws(LineFault)
}

extension LineLayout {
    var operationCount: Int { 0 }
}

/// A parser of lines whose fields are fixed by their format. Empty lines are skipped.
struct LineParser<Layout: LineLayout>: RowParser {
    let layout: Layout
    let skipsBadLines: Bool

    init(_ layout: Layout, _ options: TraceLoadOptions) {
        self.layout = layout
        skipsBadLines = options.skipBadLines
    }

    var present: PresentColumns { layout.present }
    var shortestRow: Int { 2 }

    func parse(_ bytes: UnsafeMutablePointer<UInt8>, count: Int, into rows: RowScratch) {
        var layout = layout
        rows.operations.prepare(layout.operationCount)
        withUnsafeTemporaryAllocation(of: LineFields.Field.self, capacity: LineFields.kept) { fields in
            var line = LineFields(bytes: bytes, fields: fields)
            var position = 0
            while position < count {
                let start = position
                do throws(LineFault) {
                    position = try line.split(at: start, layout.separator)
                    if line.count > 0 { try layout.add(line, to: rows) }
                } catch {
                    guard skipsBadLines, !error.stopsAlways else {
                        rows.problem = RowProblem(line: rows.lines, column: error.column, message: error.message)
                        return
                    }
                    rows.badLines += 1
                    position = start
                    while bytes[position] != 10 { position += 1 }
                    position += 1
                }
                rows.lines += 1
            }
        }
    }
}

extension RowScratch {
    /// Stores the time of the next row, which a field has.
    ///
    /// - Throws: ``LineFault`` if it is before that of the row above and `sorts` is false.
    func setTime(_ time: Int64, _ line: LineFields, _ field: Int, sorts: Bool, _ unit: TimeUnit) throws(LineFault) {
        if count == 0 { firstTimeColumn = line.column(field) }
        if time < lastTime, !sorts {
            let problem = RowProblem.backwards(lines, column: line.column(field), time, lastTime, unit)
            throw LineFault(column: problem.column, message: problem.message, stopsAlways: true)
        }
        times[count] = time
    }

    /// Returns the rows in which a row of n consecutive keys is n rows. O(rows after).
    func expandingSpans() -> RowScratch {
        let total = spans.reduce(0) { $0 + Int($1) }
        let wide = RowScratch(capacity: total, present: present)
        for row in 0..<count {
            let key = keys.bits[row]
            for step in 0..<UInt64(spans[row]) {
                wide.keys.setNumber(wide.count, key + step)
                if present.contains(.times) { wide.times[wide.count] = times[row] }
                if present.contains(.sizes) { wide.sizes[wide.count] = sizes[row] }
                wide.count += 1
            }
        }
        return wide
    }
}
