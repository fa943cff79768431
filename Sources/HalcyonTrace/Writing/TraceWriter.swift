/// A writer of traces to files.
///
/// A `compression` of `nil` follows the file's name (`.gz`, `.zst`). The file appears at its path only once it is
/// complete; after an error, an existing file is unchanged.
public enum TraceWriter {
    /// Writes a trace in a format; `nil` chooses the format by the file's name.
    ///
    /// - Throws: ``TraceError`` if the name does not imply a format, if the format cannot be written or cannot
    ///   represent the trace, or if the disk fails.
    public static func write(
        _ trace: Trace, to path: String, format: TraceFormat? = nil, compression: Compression? = nil
    ) throws(TraceError) {
        guard let format = format ?? TraceFormat(path: path) else {
            throw TraceError(
                file: path,
                message: "the name does not imply a format to write; end it in .csv or .oracleGeneral, "
                    + "with .gz or .zst behind if wanted")
        }
        switch format {
        case .csv: try writeCSV(trace, to: path, compression: compression)
        case .oracleGeneral: try writeOracleGeneral(trace, to: path, compression: compression)
        default:
            throw TraceError(file: path, message: "\(format.rawValue) cannot be written; csv and oracleGeneral can")
        }
    }

    /// Returns what a trace has and a file of this format does not keep, one noun phrase each; empty if it keeps all.
    ///
    /// What the reader did not use, such as unused columns, is in ``LoadReport``. O(requests).
    public static func losses(of trace: Trace, in format: TraceFormat) -> [String] {
        var losses: [String] = []
        let report = trace.report
        if format == .oracleGeneral {
            if let lists = trace.lists, lists.count > 0 {
                losses.append(counted(lists.count, "list of what was shown", "lists of what was shown"))
            }
            if trace.hasCategories { losses.append(counted(trace.categoryCount, "category", "categories")) }
            if trace.hasUsers { losses.append(counted(trace.userCount, "user", "users")) }
            let texts = OracleGeneralKeys.textCount(of: trace)
            if texts > 0 { losses.append("the text of \(counted(texts, "key", "keys")) (a number instead)") }
            let fractions = trace.times.reduce(0) { $0 + ($1 % 1_000_000 == 0 ? 0 : 1) }
            if fractions > 0 {
                losses.append("the fractions of a second in \(counted(fractions, "time", "times"))")
            }
        }
        if trace.sizeUnit == .objects, report.columns.used.contains(where: { $0.role == .size }), !report.noSizes {
            losses.append("the sizes (--sizes unit)")
        }
        if trace.requestSizes.isEmpty, report.sizeDisagreements > 0 {
            losses.append(
                "the size of \(counted(report.sizeDisagreements, "request", "requests")) whose object had another size "
                    + "before (--sizes per-request keeps it)")
        }
        return losses
    }

    private static func counted(_ count: Int, _ one: String, _ many: String) -> String {
        "\(count) \(count == 1 ? one : many)"
    }

    /// Writes a CSV with those of the columns `time,key,size,category,user` that the trace has, and with `event` if it has
    /// lists.
    ///
    /// A list is its items in order, before the request that follows it. If lists of one user have one time, a column `list`
    /// with their numbers keeps them apart. Times are seconds, with a fraction where it is needed. If the trace has no names, numbers are written instead.
    /// The columns of sizes and of times are omitted if the trace has none. O(requests).
    ///
    /// - Throws: ``TraceError`` if a name holds a control byte, or the disk fails.
    public static func writeCSV(_ trace: Trace, to path: String, compression: Compression? = nil) throws(TraceError) {
        let fields = try CSVNames(trace, path: path)
        let lists = trace.lists.flatMap { $0.count > 0 ? $0 : nil }
        let hasIDs = lists?.hasSimultaneous ?? false
        let hasCategories = trace.hasCategories || lists?.categories.isEmpty == false
        let hasUsers = trace.hasUsers || lists?.users.contains { $0 != Trace.noUser } ?? false
        var sink = BufferedSink(try openSink(path, compression: compression))
        var header: [String] = []
        if !trace.report.noTimes { header.append("time") }
        header.append("key")
        if trace.sizeUnit == .bytes { header.append("size") }
        if hasCategories { header.append("category") }
        if hasUsers { header.append("user") }
        if lists != nil { header.append("event") }
        if hasIDs { header.append("list") }
        sink.append((header.joined(separator: ",") + "\n").utf8)
        func row(
            _ time: Int64, _ object: UInt32, _ size: UInt64, _ set: UInt32, _ user: UInt32, list: Int? = nil
        ) throws(TraceError) {
            if !trace.report.noTimes {
                sink.append(seconds: time)
                sink.append(UInt8(ascii: ","))
            }
            sink.append(fields.keys.utf8(object))
            if trace.sizeUnit == .bytes {
                sink.append(UInt8(ascii: ","))
                sink.append(decimal: size)
            }
            if hasCategories {
                sink.append(UInt8(ascii: ","))
                sink.append(fields.categorySets.utf8(set))
            }
            if hasUsers {
                sink.append(UInt8(ascii: ","))
                if user != Trace.noUser { sink.append(fields.users.utf8(user)) }
            }
            if lists != nil { sink.append((list == nil ? ",request" : ",shown").utf8) }
            if hasIDs {
                sink.append(UInt8(ascii: ","))
                if let list { sink.append(decimal: UInt64(list)) }
            }
            sink.append(10)
            try sink.flushIfFull()
        }
        var list = 0
        for request in 0...trace.count {
            while let lists, list < lists.count, lists.positions[list] <= request {
                for item in lists.items(of: list) {
                    try row(
                        lists.times[list], lists.objects[item], trace.size(ofObject: lists.objects[item]),
                        lists.categories.isEmpty ? 0 : lists.categories[item], lists.users[list], list: list)
                }
                list += 1
            }
            if request == trace.count { break }
            try row(
                trace.times[request], trace.entries[request], trace.size(ofRequest: request),
                trace.categorySet(ofRequest: request), trace.user(ofRequest: request))
        }
        try sink.finish()
    }

    /// Writes libCacheSim's oracleGeneral records.
    ///
    /// The number of an object's next request counts from 1 and is -1 if there is none, as in libCacheSim's converter.
    /// Times are truncated to whole seconds. A key that is the decimal form of a 64-bit number becomes that number;
    /// other keys become a 64-bit hash of their bytes. If the trace has no names, a key is the object's number. The
    /// format cannot represent categories and users. O(requests) time, and 8 additional bytes a request.
    ///
    /// - Throws: ``TraceError`` if a time or size does not fit 32 bits, if two keys become the same number, or if the
    ///   disk fails.
    public static func writeOracleGeneral(
        _ trace: Trace, to path: String, compression: Compression? = nil
    ) throws(TraceError) {
        let keys = try OracleGeneralKeys.keys(of: trace, path: path)
        let next = nextRequests(trace)
        var sink = BufferedSink(try openSink(path, compression: compression))
        for request in 0..<trace.count {
            let seconds = trace.times[request] / 1_000_000
            guard let time = UInt32(exactly: seconds), trace.times[request] >= 0 else {
                throw TraceError(
                    file: path,
                    message: "request \(request + 1) is at \(seconds) s; oracleGeneral supports times from 0 to "
                        + "\(UInt32.max) s")
            }
            guard let size = UInt32(exactly: trace.size(ofRequest: request)) else {
                throw TraceError(
                    file: path,
                    message: "request \(request + 1) has \(trace.size(ofRequest: request)) bytes; "
                        + "oracleGeneral supports sizes up to \(UInt32.max)")
            }
            sink.append(littleEndian: time)
            sink.append(littleEndian: keys[Int(trace.entries[request])])
            sink.append(littleEndian: size)
            sink.append(littleEndian: next[request])
            try sink.flushIfFull()
        }
        try sink.finish()
    }

    /// Returns the number, from 1, of the next request for the same object; -1 if there is none.
    private static func nextRequests(_ trace: Trace) -> [Int64] {
        var following = [Int64](repeating: -1, count: trace.objectCount)
        var next = [Int64](repeating: -1, count: trace.count)
        for request in stride(from: trace.count - 1, through: 0, by: -1) {
            let entry = Int(trace.entries[request])
            next[request] = following[entry]
            following[entry] = Int64(request) + 1
        }
        return next
    }
}

/// The keys of a trace as 64-bit numbers.
enum OracleGeneralKeys {
    /// Returns the number of keys that are no decimal form of a 64-bit number, so that their text is lost.
    static func textCount(of trace: Trace) -> Int {
        let keys = trace.names.keys
        return (0..<keys.count).reduce(0) { count, number in
            let isNumber = keys.utf8(UInt32(number)).withUnsafeBufferPointer { name in
                name.baseAddress.map { CSVNumbers.canonical($0, name.count) != nil } ?? false
            }
            return count + (isNumber ? 0 : 1)
        }
    }

    /// Returns the keys by object number. Throws an error if two are equal.
    static func keys(of trace: Trace, path: String) throws(TraceError) -> [UInt64] {
        guard trace.names.keys.count == trace.objectCount else { return (0..<trace.objectCount).map { UInt64($0) } }
        let keys = (0..<trace.objectCount).map { number in
            trace.names.keys.utf8(UInt32(number)).withUnsafeBufferPointer { name in
                guard let start = name.baseAddress else { return hashBytes([], 0) }
                return CSVNumbers.canonical(start, name.count) ?? hashBytes(start, name.count)
            }
        }
        let order = keys.indices.sorted { keys[$0] < keys[$1] }
        for (left, right) in zip(order, order.dropFirst()) where keys[left] == keys[right] {
            throw TraceError(
                file: path,
                message: "the keys \(quoted(trace.names.keys.utf8(UInt32(left)))) and "
                    + "\(quoted(trace.names.keys.utf8(UInt32(right)))) both become \(keys[left]); oracleGeneral cannot "
                    + "distinguish them")
        }
        return keys
    }
}

/// The names of a trace as CSV fields, in quotes where necessary; numbers if the trace has no names.
struct CSVNames {
    let keys: StringTable
    let users: StringTable
    /// The names of each category set, joined by `|`, by the number of the set.
    let categorySets: StringTable

    /// Throws an error if a name contains a control byte, which a CSV line cannot represent.
    init(_ trace: Trace, path: String) throws(TraceError) {
        let shown = trace.lists?.names ?? TraceNames()
        let listed = trace.lists?.users.filter { $0 != Trace.noUser }.max().map { Int($0) + 1 } ?? 0
        keys = try CSVNames.escaped(trace.names.keys.joined(with: shown.keys), count: trace.allObjectCount, path: path)
        users = try CSVNames.escaped(
            trace.names.users.joined(with: shown.users), count: max(trace.userCount, listed), path: path)
        let names = trace.names.categories.joined(with: shown.categories)
        var sets = StringTable()
        for number in 0..<trace.categorySets.count {
            let parts = trace.categorySets[UInt32(number)].map { category in
                names.count == trace.categoryCount + shown.categories.count
                    ? Array(names.utf8(category)) : Array(String(category).utf8)
            }
            sets.append(utf8: Array(parts.joined(separator: [UInt8(ascii: "|")])))
        }
        categorySets = try CSVNames.escaped(sets, count: sets.count, path: path)
    }

    static func escaped(_ names: StringTable, count: Int, path: String) throws(TraceError) -> StringTable {
        guard names.count == count else { return StringTable((0..<count).lazy.map { String($0) }) }
        var table = StringTable()
        for number in 0..<count {
            let name = names.utf8(UInt32(number))
            // A reader drops the blanks around a field without quotes.
            let ends = [name.first, name.last]
            var needsQuotes = ends.contains(32) || ends.contains(9)
            for byte in name {
                if byte < 32, byte != 9 {
                    throw TraceError(
                        file: path, message: "the name \(quoted(name)) contains a control byte, which a CSV line cannot"
                    )
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

extension BufferedSink {
    /// Appends microseconds as seconds, with the necessary decimals.
    fileprivate mutating func append(seconds microseconds: Int64) {
        if microseconds < 0 { append(UInt8(ascii: "-")) }
        let (whole, part) = microseconds.magnitude.quotientAndRemainder(dividingBy: 1_000_000)
        append(decimal: whole)
        guard part > 0 else { return }
        append(UInt8(ascii: "."))
        var rest = part
        var scale: UInt64 = 100_000
        while rest > 0 {
            append(48 + UInt8(rest / scale))
            rest %= scale
            scale /= 10
        }
    }
}
