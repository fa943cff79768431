/// The header of a CSV, which gives each column its role.
struct CSVHeader {
    let path: String
    let names: [String]
    let delimiter: UInt8

    /// Splits a header line.
    init(line: [UInt8], delimiter: UInt8, path: String) {
        self.path = path
        self.delimiter = delimiter
        names = CSVHeader.split(line, delimiter).map { CSVHeader.trimmed($0) }
    }

    /// Returns the role of each column. Throws an error if the key or a requested column is missing or occurs twice.
    func roles(_ wanted: ColumnNames) throws(TraceError) -> [CSVRole] {
        var roles = [CSVRole](repeating: .ignored, count: names.count)
        for role in [ColumnUse.Role.key, .time, .size, .category, .user] {
            guard let column = try find(role.rawValue, wanted[role], role.usualNames) else { continue }
            guard roles[column] == .ignored else {
                throw fault("column \(quoted(names[column])) is used twice; each column may have one role")
            }
            roles[column] = CSVRole(role)
        }
        guard roles.contains(.key) else {
            throw fault(
                "no column is named 'key' (or id, obj_id, object_id); the columns are \(list)\(hint). A header such as "
                    + "time,key,size,category,user is needed, or the name of the key's column")
        }
        return roles
    }

    /// Returns the columns that have these roles, and the others.
    func use(of roles: [CSVRole]) -> ColumnUse {
        var use = ColumnUse()
        for role in ColumnUse.Role.allCases {
            guard let column = roles.firstIndex(of: CSVRole(role)) else { continue }
            use.used.append(ColumnUse.Column(role: role, name: names[column]))
        }
        use.unused = names.indices.filter { roles[$0] == .ignored }.map { names[$0] }
        return use
    }

    private func find(_ title: String, _ name: String?, _ usual: [String]) throws(TraceError) -> Int? {
        for candidate in name.map({ [$0] }) ?? usual {
            let low = candidate.lowercased()
            let exact = names.indices.filter { names[$0] == candidate }
            let found = exact.isEmpty ? names.indices.filter { names[$0].lowercased() == low } : exact
            if found.count > 1 { throw fault("column \(quoted(candidate)) occurs \(found.count) times in the header") }
            if let column = found.first { return column }
        }
        if let name {
            throw fault("there is no column \(quoted(name)) for the \(title); the columns are \(list)\(hint)")
        }
        return nil
    }

    /// The column names, for a message.
    private var list: String {
        let shown = names.prefix(12).map { quoted($0) }.joined(separator: ", ")
        return names.count > 12 ? "\(shown), …" : shown
    }

    /// A question about the delimiter, if the header seems to have another one.
    private var hint: String {
        guard names.count == 1, let only = names.first else { return "" }
        for (byte, title) in [(UInt8(ascii: ","), "','"), (59, "';'"), (9, "a tab"), (124, "'|'")]
        where byte != delimiter && only.utf8.contains(byte) {
            return " (is the delimiter \(title)?)"
        }
        return ""
    }

    private func fault(_ message: String) -> TraceError { TraceError(file: path, line: 1, message: message) }

    /// Splits a line into its fields without quotes.
    private static func split(_ line: [UInt8], _ delimiter: UInt8) -> [[UInt8]] {
        var fields: [[UInt8]] = [[]]
        var inQuotes = false
        for byte in line {
            if byte == UInt8(ascii: "\"") {
                inQuotes.toggle()
            } else if byte == delimiter, !inQuotes {
                fields.append([])
            } else {
                fields[fields.count - 1].append(byte)
            }
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

    /// Creates the role of a named column.
    init(_ role: ColumnUse.Role) {
        self =
            switch role {
            case .time: .time
            case .key: .key
            case .size: .size
            case .category: .category
            case .user: .user
            }
    }
}
