/// The header of a file in libCacheSim's lcs format, little-endian: `u64` magic, `u64` version, 8000 bytes of
/// statistics, 168 unused bytes, `u64` magic.
struct LCSHeader {
    /// The number of bytes of the header.
    static let bytes = 8192
    private static let magic: UInt64 = 0x1234_5678_9abc_def0
    private static let newest = 8

    /// The version, 1 to 8.
    let version: Int
    /// The number of requests; `nil` if the header does not count them.
    let requests: Int?
    /// Whether the file has more than one tenant, or the header does not count them.
    let hasTenants: Bool

    /// The number of bytes of a record.
    var recordBytes: Int { version == 1 ? 24 : version == 2 ? 28 : 36 + 4 * features }

    /// The number of features of a record.
    var features: Int { version < 4 ? 0 : 1 << (version - 4) }

    /// Reads a header. Throws an error with the place of the fault.
    init(_ head: ArraySlice<UInt8>, path: String) throws(TraceError) {
        guard head.count == LCSHeader.bytes else {
            throw TraceError(
                file: path,
                message: "the header ends at byte \(head.count) of \(LCSHeader.bytes): the file is truncated or of "
                    + "another format")
        }
        func number(_ offset: Int, _ length: Int) -> UInt64 {
            (0..<length).reduce(0) { $0 | UInt64(head[head.startIndex + offset + $1]) << (8 * UInt64($1)) }
        }
        for offset in [0, LCSHeader.bytes - 8] where number(offset, 8) != LCSHeader.magic {
            let found = String(number(offset, 8), radix: 16)
            throw TraceError(
                file: path,
                message:
                    "has 0x\(found) at byte \(offset) where lcs has 0x\(String(LCSHeader.magic, radix: 16)): the file "
                    + "is damaged or of another format")
        }
        let version = number(8, 8)
        guard 1...UInt64(LCSHeader.newest) ~= version else {
            throw TraceError(
                file: path,
                message: "has version \(version) of lcs at byte 8; versions 1 to \(LCSHeader.newest) are accepted")
        }
        self.version = Int(version)
        // The statistics start at byte 16: their version, the number of requests, …; the number of tenants is 552 bytes
        // behind their start. Fields that are younger than a file are 0 in it.
        let count = Int64(bitPattern: number(24, 8))
        guard count >= 0 else {
            throw TraceError(
                file: path, message: "counts \(count) requests at byte 24; 0 (unknown) or more are accepted")
        }
        requests = count == 0 ? nil : Int(count)
        hasTenants = version >= 2 && number(568, 4) != 1
    }
}

/// A parser of the records of libCacheSim's lcs format.
///
/// A record starts with `u32` time in seconds, `u64` key, and the size in bytes: `u32` in versions 1 and 2, `i64` from
/// version 3. From version 2, `u8` operation and `u24` tenant follow; from version 3, `u32` time to live. All have then
/// `i64` number of the key's next request. From version 4, 1, 2, 4, 8 or 16 features of `u32` are at the end.
struct LCSParser: RowParser {
    /// The operations by number.
    static let operations = [
        "nop", "get", "gets", "set", "add", "cas", "replace", "append", "prepend", "delete", "incr", "decr", "read",
        "write", "update",
    ]
    private static let delete = 9

    /// A field of a record that can be the category or the user.
    private struct Field {
        let name: String
        let offset: Int
        let bytes: Int

        /// Returns the field's number in a record.
        @inline(__always)
        func number(in record: UnsafeRawPointer) -> UInt64 {
            var number: UInt64 = 0
            for index in 0..<bytes {
                number |= UInt64(record.load(fromByteOffset: offset + index, as: UInt8.self)) << (8 * UInt64(index))
            }
            return number
        }
    }

    /// The fields and their roles.
    let use: ColumnUse
    let present: PresentColumns
    private let recordBytes: Int
    private let version: Int
    private let sorts: Bool
    private let category: Field?
    private let user: Field?
    private let lifetime: Field?

    var shortestRow: Int { recordBytes }

    /// Creates the parser. Throws an error if `options` name a field that the version does not have.
    init(_ header: LCSHeader, _ options: TraceLoadOptions, path: String) throws(TraceError) {
        version = header.version
        recordBytes = header.recordBytes
        sorts = options.sort
        var fields: [Field] = []
        if version >= 2 {
            let start = version == 2 ? 16 : 20
            fields = [Field(name: "op", offset: start, bytes: 1), Field(name: "tenant", offset: start + 1, bytes: 3)]
            if version >= 3 { fields.append(Field(name: "ttl", offset: 24, bytes: 4)) }
            for number in 0..<header.features {
                fields.append(Field(name: "feature\(number + 1)", offset: 36 + 4 * number, bytes: 4))
            }
        }
        let fixed = [
            (ColumnUse.Role.time, "clock_time"), (ColumnUse.Role.key, "obj_id"), (ColumnUse.Role.size, "obj_size"),
        ]
        for (role, name) in fixed {
            guard let wanted = options.columns[role], wanted != name else { continue }
            throw TraceError(
                file: path, message: "the \(role.rawValue) of lcs is \(name); only category and user can be named")
        }
        func field(_ role: ColumnUse.Role, _ usual: String?) throws(TraceError) -> Field? {
            guard let name = options.columns[role] ?? usual else { return nil }
            if let field = fields.first(where: { $0.name == name }) { return field }
            if options.columns[role] == nil { return nil }
            let names =
                fields.isEmpty ? "it has none" : "\(fields.map(\.name).joined(separator: ", ")) are accepted"
            throw TraceError(
                file: path,
                message:
                    "version \(header.version) of lcs has no field \(quoted(name)) for the \(role.rawValue); \(names)")
        }
        category = try field(.category, "feature1")
        user = try field(.user, header.hasTenants ? "tenant" : nil)
        lifetime = options.lifetimes ? fields.first { $0.name == "ttl" } : nil
        var use = ColumnUse()
        var present: PresentColumns = [.times, .sizes]
        for (role, name) in fixed { use.used.append(ColumnUse.Column(role: role, name: name)) }
        if let category {
            use.used.append(ColumnUse.Column(role: .category, name: category.name))
            present.insert(.categories)
        }
        if let user {
            use.used.append(ColumnUse.Column(role: .user, name: user.name))
            present.insert(.users)
        }
        if lifetime != nil { present.insert(.lifetimes) }
        let used = use.used.map(\.name) + (lifetime == nil ? [] : ["ttl"])
        use.unused = fields.map(\.name).filter { !used.contains($0) }
        self.use = use
        self.present = present
    }

    func parse(_ bytes: UnsafeMutablePointer<UInt8>, count: Int, into rows: RowScratch) {
        let records = UnsafeRawPointer(bytes)
        rows.operations.prepare(version >= 2 ? 256 : 0)
        for _ in 0..<(count / recordBytes) {
            let record = records + rows.lines &* recordBytes
            let row = rows.count
            if version >= 2 {
                let operation = Int(record.load(fromByteOffset: version == 2 ? 16 : 20, as: UInt8.self))
                rows.operations.count(operation, requests: operation == LCSParser.delete ? 0 : 1)
                if operation == LCSParser.delete {
                    rows.lines += 1
                    continue
                }
            }
            let time = Int64(UInt32(littleEndian: record.loadUnaligned(as: UInt32.self))) &* 1_000_000
            if time < rows.lastTime, !sorts {
                rows.problem = RowProblem.backwards(rows.lines, column: nil, time, rows.lastTime, .seconds)
                break
            }
            var size = UInt64(UInt32(littleEndian: record.loadUnaligned(fromByteOffset: 12, as: UInt32.self)))
            if version >= 3 {
                let wide = Int64(littleEndian: record.loadUnaligned(fromByteOffset: 12, as: Int64.self))
                guard wide >= 0, wide <= Int64(SizeRule.largest) else {
                    rows.problem = RowProblem(
                        line: rows.lines, column: nil,
                        message:
                            "size \(wide) is not accepted; whole numbers from 0 (unknown) to \(SizeRule.largest) are")
                    break
                }
                size = UInt64(wide)
            }
            rows.times[row] = time
            rows.sizes[row] = size
            rows.keys.setNumber(row, UInt64(littleEndian: record.loadUnaligned(fromByteOffset: 4, as: UInt64.self)))
            if let lifetime { rows.lifetimes[row] = UInt32(lifetime.number(in: record)) }
            if let user { rows.users.setNumber(row, user.number(in: record)) }
            if let category {
                let number = category.number(in: record)
                if number == 0 { rows.categories.setNone(row) } else { rows.categories.setNumber(row, number) }
            }
            rows.commit()
            rows.lines += 1
        }
    }
}
