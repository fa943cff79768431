/// A parser of libCacheSim's oracleGeneral records of 24 bytes, little-endian and unpadded: `u32` time in seconds,
/// `u64` key, `u32` size in bytes, `i64` number of the key's next request.
///
/// The parser ignores the last field: policies that need the future compute it. A size of 0 is unknown, as in every
/// format; libCacheSim skips such requests.
struct OracleGeneralParser: RowParser {
    static let recordBytes = 24

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
