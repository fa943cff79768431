/// A parser of libCacheSim's oracleGeneral records of 24 bytes, little-endian and unpadded: `u32` time in seconds,
/// `u64` key, `u32` size in bytes, `i64` number of the key's next request.
///
/// The parser ignores the last field: policies that need the future compute it. A size of 0 is unknown, as in every
/// format; libCacheSim skips such requests.
struct OracleGeneralParser: RowParser {
    static let recordBytes = 24

    /// The number of records that ``verify(_:path:)`` looks at.
    static let checkedRecords = 4_096
    /// The largest plausible number of a request, some 26 TB into a file.
    private static let lastRequest: Int64 = 1 << 40
    /// The largest plausible mean of sizes. Random bytes have one of 2 GiB.
    private static let largestMean: UInt64 = 1 << 30

    /// Refuses a file that is read as oracleGeneral because of its name, but whose first records do not make a trace
    /// of it.
    ///
    /// A next request is -1, the largest number, or has a plausible number; other software leaves it 0. One record in
    /// a hundred may contradict, one time in four may be before the one above it, and the mean of sizes is at most 1
    /// GiB.
    ///
    /// - Throws: ``TraceError`` with the number of records that contradict.
    static func verify(_ head: ArraySlice<UInt8>, path: String) throws(TraceError) {
        let count = min(head.count / recordBytes, checkedRecords)
        guard count > 0 else { return }
        var (foreign, backwards, sum, last) = (0, 0, UInt64(0), UInt32(0))
        head.withUnsafeBytes { bytes in
            for row in 0..<count {
                let start = row * recordBytes
                let time = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: start, as: UInt32.self))
                let size = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: start + 12, as: UInt32.self))
                let next = Int64(littleEndian: bytes.loadUnaligned(fromByteOffset: start + 16, as: Int64.self))
                if !(-2...lastRequest ~= next || next == .max) { foreign += 1 }
                if time < last { backwards += 1 }
                sum += UInt64(size)
                last = time
            }
        }
        let mean = sum / UInt64(count)
        guard foreign * 100 > count || backwards * 4 > count || mean > largestMean else { return }
        throw TraceError(
            file: path,
            message:
                "the name implies oracleGeneral, but the records are of another format: of the first \(count), \(foreign) name a next "
                + "request that no trace has and \(backwards) go back in time, and their mean size is \(mean) bytes; --trace-format "
                + "names the format, and --trace-format oracleGeneral reads them all the same")
    }

    let sorts: Bool

    var present: PresentColumns { [.times, .sizes] }
    var shortestRow: Int { OracleGeneralParser.recordBytes }

    func parse(_ bytes: UnsafeMutablePointer<UInt8>, count: Int, into rows: RowScratch) {
        let records = UnsafeRawPointer(bytes)
        let times = rows.times
        let sizes = rows.sizes
        let keys = rows.keys.bits
        let total = count / OracleGeneralParser.recordBytes
        var last = Int64.min
        for row in 0..<total {
            let record = records + row &* OracleGeneralParser.recordBytes
            let time = Int64(UInt32(littleEndian: record.loadUnaligned(as: UInt32.self))) &* 1_000_000
            if time < last, !sorts {
                rows.problem = RowProblem.backwards(row, column: nil, time, last, .seconds)
                rows.finish(records: row)
                return
            }
            last = time
            times[row] = time
            keys[row] = UInt64(littleEndian: record.loadUnaligned(fromByteOffset: 4, as: UInt64.self))
            sizes[row] = UInt64(UInt32(littleEndian: record.loadUnaligned(fromByteOffset: 12, as: UInt32.self)))
        }
        rows.finish(records: total)
    }
}

extension RowScratch {
    /// Sets the counts for `records` records whose keys are all numbers.
    func finish(records: Int) {
        keys.kinds.update(repeating: TokenColumn.Kind.number, count: records)
        count = records
        lines = records
        if records > 0, present.contains(.times) { lastTime = times[records - 1] }
    }
}
