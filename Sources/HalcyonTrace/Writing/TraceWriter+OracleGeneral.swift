extension TraceWriter {
    /// Writes libCacheSim's oracleGeneral records.
    ///
    /// The number of an object's next request counts from 1, and is -1 where there is none, as libCacheSim's own
    /// converter writes it. Times are cut to whole seconds. A key that is the decimal form of a 64-bit number stays that
    /// number; others become a 64-bit hash of their bytes, and two keys that would be the same number are an error. Where
    /// the trace keeps no names, a key is the object's number. Categories and users have no place in the format.
    /// O(requests), 8 bytes a request besides.
    ///
    /// - Throws: ``TraceError`` if a time or size does not fit 32 bits or two keys fall together, or the disk fails.
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
                    message: "request \(request + 1) is at \(seconds) s; oracleGeneral holds times from 0 to "
                        + "\(UInt32.max) s")
            }
            guard let size = UInt32(exactly: trace.size(ofRequest: request)) else {
                throw TraceError(
                    file: path,
                    message: "request \(request + 1) has \(trace.size(ofRequest: request)) bytes; "
                        + "oracleGeneral holds sizes up to \(UInt32.max)")
            }
            sink.append(littleEndian: time)
            sink.append(littleEndian: keys[Int(trace.entries[request])])
            sink.append(littleEndian: size)
            sink.append(littleEndian: next[request])
            try sink.flushIfFull()
        }
        try sink.finish()
    }

    /// The number, from 1, of the next request for the same object; -1 where there is none.
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

/// Keys as 64-bit numbers.
enum OracleGeneralKeys {
    /// By object number. Throws if two are the same.
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
                    + "\(quoted(trace.names.keys.utf8(UInt32(right)))) both become \(keys[left]); oracleGeneral cannot tell "
                    + "them apart")
        }
        return keys
    }
}
