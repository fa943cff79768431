/// The names of a trace as they stand in a CSV, quoted where they must be; numbers where the trace keeps no names.
struct CSVNames {
    let keys: StringTable
    let users: StringTable
    /// By number of the category set: its names, joined by `|`.
    let categorySets: StringTable

    /// Throws if a name holds what a CSV line cannot.
    init(_ trace: Trace, path: String) throws(TraceError) {
        keys = try CSVNames.escaped(trace.names.keys, count: trace.objectCount, path: path)
        users = try CSVNames.escaped(trace.names.users, count: trace.userCount, path: path)
        let names = trace.names.categories
        var sets = StringTable()
        for number in 0..<trace.categorySets.count {
            let parts = trace.categorySets[UInt32(number)].map { category in
                names.count == trace.categoryCount ? Array(names.utf8(category)) : Array(String(category).utf8)
            }
            sets.append(utf8: Array(parts.joined(separator: [UInt8(ascii: "|")])))
        }
        categorySets = try CSVNames.escaped(sets, count: sets.count, path: path)
    }

    private static func escaped(_ names: StringTable, count: Int, path: String) throws(TraceError) -> StringTable {
        guard names.count == count else { return StringTable((0..<count).lazy.map { String($0) }) }
        var table = StringTable()
        for number in 0..<count {
            let name = names.utf8(UInt32(number))
            var needsQuotes = false
            for byte in name {
                if byte < 32, byte != 9 {
                    throw TraceError(
                        file: path, message: "the name \(quoted(name)) holds a control byte, which a CSV line cannot")
                }
                if byte == UInt8(ascii: ",") || byte == UInt8(ascii: "\"") { needsQuotes = true }
            }
            if !needsQuotes {
                table.append(utf8: name)
                continue
            }
            let quote = [UInt8(ascii: "\"")]
            table.append(utf8: quote + name.flatMap { $0 == quote[0] ? quote + quote : [$0] } + quote)
        }
        return table
    }
}
