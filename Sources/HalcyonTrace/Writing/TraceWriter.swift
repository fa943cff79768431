/// Writes traces to files, packed as the file's name says (`.gz`, `.zst`) unless told otherwise.
///
/// A file appears only when it is whole; an error leaves nothing, and what was there before as it was.
public enum TraceWriter {
    /// Writes a trace in a format; `nil` goes by the file's name.
    ///
    /// - Throws: ``TraceError`` if the name tells no format, the format cannot hold the trace or is none that is written,
    ///   or the disk fails.
    public static func write(
        _ trace: Trace, to path: String, format: TraceFormat? = nil, compression: Compression? = nil
    ) throws(TraceError) {
        guard let format = format ?? TraceFormat(path: path) else {
            throw TraceError(
                file: path,
                message: "the name does not say in which format to write; end it in .csv or .oracleGeneral, "
                    + "with .gz or .zst behind if wanted")
        }
        switch format {
        case .csv: try writeCSV(trace, to: path, compression: compression)
        case .oracleGeneral: try writeOracleGeneral(trace, to: path, compression: compression)
        case .vscsi, .twitter, .accessLog:
            throw TraceError(file: path, message: "\(format.rawValue) is not written; csv and oracleGeneral are")
        }
    }

    /// Writes a CSV with the columns that the trace has: `time,key,size,category,user`.
    ///
    /// Times are seconds, with a fraction where it is needed. Names are written where the trace keeps them, else numbers.
    /// Without sizes there is no such column, without recorded times neither. O(requests).
    ///
    /// - Throws: ``TraceError`` if a name holds a control byte, or the disk fails.
    public static func writeCSV(_ trace: Trace, to path: String, compression: Compression? = nil) throws(TraceError) {
        let fields = try CSVNames(trace, path: path)
        var sink = BufferedSink(try openSink(path, compression: compression))
        var header: [String] = []
        if !trace.report.noTimes { header.append("time") }
        header.append("key")
        if trace.sizeUnit == .bytes { header.append("size") }
        if trace.hasCategories { header.append("category") }
        if trace.hasUsers { header.append("user") }
        sink.append((header.joined(separator: ",") + "\n").utf8)
        for request in 0..<trace.count {
            if !trace.report.noTimes {
                sink.append(seconds: trace.times[request])
                sink.append(UInt8(ascii: ","))
            }
            sink.append(fields.keys.utf8(trace.entries[request]))
            if trace.sizeUnit == .bytes {
                sink.append(UInt8(ascii: ","))
                sink.append(decimal: trace.size(ofRequest: request))
            }
            if trace.hasCategories {
                sink.append(UInt8(ascii: ","))
                sink.append(fields.categorySets.utf8(trace.categorySet(ofRequest: request)))
            }
            if trace.hasUsers {
                sink.append(UInt8(ascii: ","))
                let user = trace.users[request]
                if user != Trace.noUser { sink.append(fields.users.utf8(user)) }
            }
            sink.append(10)
            try sink.flushIfFull()
        }
        try sink.finish()
    }
}

extension BufferedSink {
    /// Microseconds as seconds, with as many decimals as are needed.
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
