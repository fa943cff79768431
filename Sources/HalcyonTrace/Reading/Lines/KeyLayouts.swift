/// The lines of LIRS's traces: a block number, or `*`, which is skipped.
struct LIRSLayout: LineLayout {
    var separator: LineFields.Separator { .blanks }
    var present: PresentColumns { [] }

    func add(_ line: LineFields, to rows: RowScratch) throws(LineFault) {
        guard line.count == 1 else { throw line.wrongCount(.lirs, "1: a block number, or *") }
        if line.field(0, is: "*") { return }
        rows.keys.setNumber(rows.count, try line.whole(0, "block"))
        rows.commit()
    }
}

/// The lines of LRB's and webcachesim's traces: `time key size` and any number of features.
struct LRBLayout: LineLayout {
    let timeUnit: TimeUnit
    let sorts: Bool

    var separator: LineFields.Separator { .blanks }
    var present: PresentColumns { [.times, .sizes] }

    func add(_ line: LineFields, to rows: RowScratch) throws(LineFault) {
        guard line.count >= 3 else { throw line.wrongCount(.lrb, "at least 3: time, key, size") }
        let time = try line.time(0, timeUnit)
        rows.sizes[rows.count] = try line.whole(2, "size", upTo: SizeRule.largest)
        line.setKey(1, rows.count, rows.keys)
        try rows.setTime(time, line, 0, sorts: sorts, timeUnit)
        rows.commit()
    }
}

/// The lines of address traces: an address, or `operation address` and perhaps more fields.
struct AddressLayout: LineLayout {
    var separator: LineFields.Separator { .blanks }
    var present: PresentColumns { [] }

    func add(_ line: LineFields, to rows: RowScratch) throws(LineFault) {
        if line.count > 1 {
            let text = line.text(0)
            guard text.count == 1, AddressLayout.isOperation(text[0]) else {
                throw line.fault(
                    0, "operation \(quoted(text)) is unknown; l, s, i, r, w, 0, 1 and 2 are accepted before an address")
            }
        }
        rows.keys.setNumber(rows.count, try line.hexadecimal(line.count > 1 ? 1 : 0, "address"))
        rows.commit()
    }

    /// Returns whether a byte names an operation: load, store, instruction, read, write, or the numbers of Dinero.
    static func isOperation(_ byte: UInt8) -> Bool { "lsirwLSIRW012".utf8.contains(byte) }
}

/// The lines of IBM's object store traces: `time operation key` and perhaps `size`, or `size first last`.
struct ObjectStoreLayout: LineLayout {
    /// The names of the operations.
    static let operations = [
        "REST.GET.OBJECT", "REST.PUT.OBJECT", "REST.HEAD.OBJECT", "REST.DELETE.OBJECT", "REST.COPY.OBJECT",
        "other operations",
    ]
    private static let get = 0
    private static let put = 1
    private static let other = 5
    let countsWrites: Bool
    let sorts: Bool

    var separator: LineFields.Separator { .blanks }
    var present: PresentColumns { [.times, .sizes] }
    var operationCount: Int { Self.operations.count }

    func add(_ line: LineFields, to rows: RowScratch) throws(LineFault) {
        guard 3...6 ~= line.count else {
            throw line.wrongCount(.objectStore, "3 to 6: time, operation, key, and perhaps size, first and last byte")
        }
        let operation = try operation(line)
        let time = try line.time(0, .milliseconds)
        let size = line.count > 3 ? try line.whole(3, "size", upTo: SizeRule.largest) : 0
        for field in 4..<max(line.count, 4) { _ = try line.whole(field, "byte") }
        guard operation == Self.get || (operation == Self.put && countsWrites) else {
            rows.operations.count(operation, requests: 0)
            return
        }
        try rows.setTime(time, line, 0, sorts: sorts, .milliseconds)
        rows.sizes[rows.count] = size
        line.setKey(2, rows.count, rows.keys)
        rows.operations.count(operation, requests: 1)
        rows.commit()
    }

    private func operation(_ line: LineFields) throws(LineFault) -> Int {
        if line.field(1, is: "rest.get.object") { return Self.get }
        if line.field(1, is: "rest.put.object") { return Self.put }
        if line.field(1, is: "rest.head.object") { return 2 }
        if line.field(1, is: "rest.delete.object") { return 3 }
        if line.field(1, is: "rest.copy.object") { return 4 }
        guard line.text(1).starts(with: "REST.".utf8) else {
            throw line.fault(
                1,
                "operation \(quoted(line.text(1))) is unknown; REST.GET.OBJECT and other names after REST. are accepted"
            )
        }
        return Self.other
    }
}
