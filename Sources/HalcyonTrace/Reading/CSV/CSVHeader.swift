/// The columns of a CSV: their names in its header, or their numbers from 1 if it has none.
struct CSVHeader {
    let path: String
    /// The names of the columns. Without a header they are the numbers from 1.
    let names: [String]
    let delimiter: UInt8
    /// The first line that is not empty: the header or the first request.
    private let line: [UInt8]
    /// The number of that line, counted from 1.
    private let lineNumber: Int
    private let rule: HeaderRule

    /// Splits the first line.
    init(line: [UInt8], delimiter: UInt8, path: String, rule: HeaderRule = .yes, lineNumber: Int = 1) {
        self.path = path
        self.delimiter = delimiter
        self.line = line
        self.lineNumber = lineNumber
        self.rule = rule
        let fields = CSVHeader.split(line, delimiter).map { CSVHeader.trimmed($0) }
        names = rule == .no ? fields.indices.map { "\($0 + 1)" } : fields
    }

    /// Returns the role of each column.
    ///
    /// - Throws: ``TraceError`` if the key or a requested column is missing or occurs twice, or if two columns have
    ///   usual
    ///   names of one role. Also if the header looks like a request and ``HeaderRule/auto`` applies.
    ///
    /// - Parameter wantsLifetimes: whether a column of lifetimes is needed.
    func roles(_ wanted: ColumnNames, wantsLifetimes: Bool = false) throws(TraceError) -> [CSVRole] {
        if rule == .auto, looksLikeRequest(wanted) { throw requestFault(wanted) }
        if wanted.ttl != nil, !wantsLifetimes {
            throw fault("--columns ttl=… is for --use-ttl, which reads lifetimes: leave it out")
        }
        let wanted = rule == .no ? try numbers(wanted) : wanted
        var roles = [CSVRole](repeating: .ignored, count: names.count)
        let claimed = ColumnUse.Role.allCases.compactMap { wanted[$0]?.lowercased() }
        for role in [ColumnUse.Role.key, .time, .size, .category, .user, .event, .position, .list] {
            if role == .position || role == .list, !roles.contains(.event) {
                guard let name = wanted[role] else { continue }
                throw fault(
                    "--columns \(role.rawValue)=\(name) is for lists, and there is no column of events: name it with event=…, "
                        + "or leave it out")
            }
            let column =
                if let name = wanted[role] {
                    try find(role, named: name)
                } else {
                    try findUsual(role, except: claimed)
                }
            guard let column else { continue }
            guard roles[column] == .ignored else {
                throw fault("column \(quoted(names[column])) is used twice; each column may have one role")
            }
            roles[column] = CSVRole(role)
        }
        guard roles.contains(.key) else {
            if rule == .no {
                throw fault(
                    "without a header the columns are numbered from 1, and the number of the key's column is needed, as in "
                        + "--columns \(guess(fieldCount: names.count)); the first line, \(quoted(line)), has "
                        + "\(LineFault.fields(names.count))\(hint)")
            }
            throw fault(
                "no column is named 'key' (or id, obj_id, object_id); the columns are \(list)\(hint). A header such as "
                    + "time,key,size,category,user is needed, or the name of the key's column")
        }
        if wantsLifetimes {
            let column = try findLifetime(wanted.ttl)
            guard roles[column] == .ignored else {
                throw fault("column \(quoted(names[column])) is used twice; each column may have one role")
            }
            roles[column] = .lifetime
        }
        // Its rows are only counted, so that an inspection shows what was not used.
        if let column = names.indices.first(where: {
            roles[$0] == .ignored && CSVHeader.operationNames.contains(names[$0].lowercased())
        }) {
            roles[column] = .operationName
        }
        return roles
    }

    /// The names of a column of operations, in lower case.
    private static let operationNames = ["op", "operation", "opcode", "cmd"]

    /// Returns the columns that have these roles, and the others.
    func use(of roles: [CSVRole]) -> ColumnUse {
        var use = ColumnUse()
        for role in ColumnUse.Role.allCases {
            guard let column = roles.firstIndex(of: CSVRole(role)) else { continue }
            use.used.append(ColumnUse.Column(role: role, name: names[column]))
        }
        use.unused = names.indices.filter { roles[$0] == .ignored || roles[$0] == .operationName }.map { names[$0] }
        return use
    }

    private func find(_ role: ColumnUse.Role, named name: String) throws(TraceError) -> Int {
        let found = columns(named: name)
        if found.count > 1 { throw fault("column \(quoted(name)) occurs \(found.count) times in the header") }
        guard let column = found.first else {
            let number = Int(name) == nil ? "" : ", and numbers are for files without a header (--header no)"
            throw fault(
                "there is no column \(quoted(name)) for the \(role.rawValue); the columns are \(list)\(hint)\(number)")
        }
        return column
    }

    /// Returns the column of lifetimes: the one with this name, or `ttl`.
    private func findLifetime(_ name: String?) throws(TraceError) -> Int {
        let found = name == nil && rule == .no ? [] : columns(named: name ?? "ttl")
        if found.count > 1 { throw fault("column \(quoted(name ?? "ttl")) occurs \(found.count) times in the header") }
        guard let column = found.first else {
            throw fault(
                "there is no column \(quoted(name ?? "ttl")) for the lifetime, which --use-ttl needs; the columns are \(list), and "
                    + "--columns ttl=… names another")
        }
        return column
    }

    /// Returns the column with a usual name of a role, or `nil`. Throws an error if several have one.
    private func findUsual(_ role: ColumnUse.Role, except claimed: [String]) throws(TraceError) -> Int? {
        if rule == .no { return nil }
        var found: [Int] = []
        for name in role.usualNames {
            let same = columns(named: name)
            if same.count > 1 { throw fault("column \(quoted(name)) occurs \(same.count) times in the header") }
            found += same
        }
        if found.count > 1 { found.removeAll { claimed.contains(names[$0].lowercased()) } }
        guard found.count > 1 else { return found.first }
        let candidates = found.sorted().map { names[$0] }
        let choices = candidates.map { "--columns \(role.rawValue)=\($0)" }.joined(separator: " or ")
        throw fault(
            "the columns \(candidates.map { quoted($0) }.joined(separator: " and ")) can all be the \(role.rawValue), and one is "
                + "needed: write \(choices)")
    }

    /// Returns the columns with a name, or, if none has it, those whose names differ from it in case.
    private func columns(named name: String) -> [Int] {
        let exact = names.indices.filter { names[$0] == name }
        return exact.isEmpty ? names.indices.filter { names[$0].lowercased() == name.lowercased() } : exact
    }

    /// Returns the columns that a file without a header is read by. Throws an error if one is not the number of a
    /// column.
    private func numbers(_ wanted: ColumnNames) throws(TraceError) -> ColumnNames {
        if let ttl = wanted.ttl, !names.contains(ttl) {
            throw fault(
                "\(quoted(ttl)) is not the number of a column for the lifetime; without a header, the numbers from 1 to "
                    + "\(names.count) are accepted, the fields of the first line\(hint)")
        }
        if wanted == ColumnNames(), names.count == 1 { return ColumnNames(key: "1") }
        for role in ColumnUse.Role.allCases {
            guard let text = wanted[role], !names.contains(text) else { continue }
            throw fault(
                "\(quoted(text)) is not the number of a column for the \(role.rawValue); without a header, the numbers from 1 to "
                    + "\(names.count) are accepted, the fields of the first line\(hint)")
        }
        return wanted
    }

    /// Whether the first line is probably a request. No column has a usual name then. Besides, a column that is named
    /// has a number for a name, or there are more digits than letters.
    private func looksLikeRequest(_ wanted: ColumnNames) -> Bool {
        let usual = ColumnUse.Role.allCases.flatMap(\.usualNames)
        if names.contains(where: { usual.contains($0.lowercased()) }) { return false }
        if ColumnUse.Role.allCases.contains(where: { role in wanted[role].map(isNumberInLine) ?? false }) {
            return true
        }
        let digits = line.count { $0 &- 48 < 10 }
        let letters = line.count { ($0 | 32) &- 97 < 26 }
        return digits > letters
    }

    private func isNumberInLine(_ name: String) -> Bool {
        guard names.contains(name), name.utf8.contains(where: { $0 &- 48 < 10 }) else { return false }
        return Double(name) != nil
    }

    /// Returns the error for a header that looks like a request, with what to write instead.
    private func requestFault(_ wanted: ColumnNames) -> TraceError {
        let other = otherDelimiter
        let count = other.map { CSVHeader.split(line, $0.byte).count } ?? names.count
        let asNames = advice(wanted) { names.firstIndex(of: $0).map { $0 + 1 } }
        let asNumbers = advice(wanted) { Int($0).flatMap { 1...count ~= $0 ? $0 : nil } }
        let columns = asNames ?? asNumbers ?? guess(fieldCount: count)
        let delimiter = other.map { "--delimiter \($0.argument) " } ?? ""
        return fault(
            "the first line, \(quoted(line)), looks like a request and not like a header: write \(delimiter)--header no --columns "
                + "\(columns) with the numbers of the columns, or --header yes if it is a header")
    }

    /// Returns the requested columns by number, or `nil` unless `number` has one for each of them and for the key.
    private func advice(_ wanted: ColumnNames, _ number: (String) -> Int?) -> String? {
        guard wanted.key != nil else { return nil }
        var places: [String] = []
        for role in ColumnUse.Role.allCases {
            guard let name = wanted[role] else { continue }
            guard let number = number(name) else { return nil }
            places.append("\(role.rawValue)=\(number)")
        }
        return places.joined(separator: ",")
    }

    /// Returns the columns that a line of this number of fields probably has.
    private func guess(fieldCount: Int) -> String {
        fieldCount == 1 ? "key=1" : fieldCount == 2 ? "time=1,key=2" : "time=1,key=2,size=3"
    }

    /// The column names, for a message.
    private var list: String {
        let shown = names.prefix(12).map { quoted($0) }.joined(separator: ", ")
        return names.count > 12 ? "\(shown), …" : shown
    }

    /// A question about the delimiter, if the first line seems to have another one.
    private var hint: String { otherDelimiter.map { " (is the delimiter \($0.title)?)" } ?? "" }

    /// The delimiter that the first line probably has, if it has one field only.
    private var otherDelimiter: (byte: UInt8, title: String, argument: String)? {
        guard names.count == 1 else { return nil }
        let known: [(byte: UInt8, title: String, argument: String)] = [
            (UInt8(ascii: ","), "','", "','"), (59, "';'", "';'"), (9, "a tab", "tab"), (124, "'|'", "'|'"),
            (32, "a space", "' '"),
        ]
        return known.first { $0.byte != delimiter && line.contains($0.byte) }
    }

    private func fault(_ message: String) -> TraceError { TraceError(file: path, line: lineNumber, message: message) }

    /// Splits a line into its fields without quotes. A run of spaces is one delimiter.
    private static func split(_ line: [UInt8], _ delimiter: UInt8) -> [[UInt8]] {
        var fields: [[UInt8]] = [[]]
        var inQuotes = false
        var line = line[...]
        if delimiter == CSVFields.space {
            line = line.drop { $0 == CSVFields.space }
            while line.last == CSVFields.space { line.removeLast() }
        }
        var isAfterDelimiter = false
        for byte in line {
            let isDelimiter = byte == delimiter && !inQuotes
            if byte == UInt8(ascii: "\"") {
                inQuotes.toggle()
            } else if isDelimiter {
                if !(isAfterDelimiter && delimiter == CSVFields.space) { fields.append([]) }
            } else {
                fields[fields.count - 1].append(byte)
            }
            isAfterDelimiter = isDelimiter
        }
        return fields
    }

    private static func trimmed(_ bytes: [UInt8]) -> String {
        let isSpace = { (byte: UInt8) in byte == 32 || byte == 9 }
        let core = bytes.drop(while: isSpace).reversed().drop(while: isSpace).reversed()
        return String(decoding: Array(core), as: UTF8.self)
    }
}

/// The role of a field.
enum CSVRole: Sendable, Equatable {
    case ignored
    case key
    case time
    case size
    /// A second size that is added to the first; Twitter's traces record the sizes of key and value.
    case valueSize
    case category
    case user
    /// Twitter's operation, such as `get` or `set`.
    case operation
    /// A lifetime in seconds.
    case lifetime
    /// Whether a row is a request or was shown.
    case event
    /// The place of a row in its list.
    case rank
    /// The id of a list.
    case list
    /// An operation that is counted and has no other use.
    case operationName

    /// Creates the role of a named column.
    init(_ role: ColumnUse.Role) {
        self =
            switch role {
            case .time: .time
            case .key: .key
            case .size: .size
            case .category: .category
            case .user: .user
            case .event: .event
            case .position: .rank
            case .list: .list
            }
    }
}
