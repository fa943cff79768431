/// A parser of vSCSI block traces with libCacheSim's interpretation. The logical block number is the key and the
/// length is the size. Times are microseconds. Every command, read or write, is a request.
///
/// Version 1 records have 32 bytes (`u32 sn, u32 len, u32 nSG, u16 cmd, u16 ver, u64 lbn, u64 ts`). Version 2 records
/// have 40 (`u16 cmd, u16 ver, u32 sn, u32 len, u32 nSG, u64 lbn, u64 ts, u64 rt`). The upper byte of `ver` is the
/// version.
struct VSCSIParser: RowParser {
    let recordBytes: Int
    private let lengthOffset: Int
    private let blockOffset: Int
    private let timeOffset: Int
    private let commandOffset: Int
    private let sorts: Bool

    /// The operations, by the number that ``operation(_:)`` returns.
    static let operations = ["read", "write", "other"]

    /// The number of bytes that the initializer checks, of some records of each version.
    static let headBytes = 40 * 32 * 20

    /// Creates the parser for the version of all records in the first ``headBytes`` bytes; `nil` if they have neither
    /// version.
    init?(head: [UInt8], sorts: Bool) {
        let isVersion = { (version: UInt8, offset: Int, size: Int) in
            let marks = stride(from: offset + 1, to: head.count, by: size)
            return head.count >= size && marks.allSatisfy { head[$0] == version }
        }
        self.sorts = sorts
        if isVersion(2, 2, 40) {
            (recordBytes, lengthOffset, blockOffset, timeOffset, commandOffset) = (40, 8, 16, 24, 0)
        } else if isVersion(1, 14, 32) {
            (recordBytes, lengthOffset, blockOffset, timeOffset, commandOffset) = (32, 4, 16, 24, 12)
        } else {
            return nil
        }
    }

    var present: PresentColumns { [.times, .sizes] }
    var shortestRow: Int { recordBytes }

    func parse(_ bytes: UnsafeMutablePointer<UInt8>, count: Int, into rows: RowScratch) {
        let records = UnsafeRawPointer(bytes)
        let total = count / recordBytes
        var last = Int64.min
        rows.operations.prepare(VSCSIParser.operations.count)
        for row in 0..<total {
            let record = records + row &* recordBytes
            let stamp = UInt64(littleEndian: record.loadUnaligned(fromByteOffset: timeOffset, as: UInt64.self))
            let time = Int64(clamping: stamp)
            if time < last, !sorts {
                rows.problem = RowProblem.backwards(row, column: nil, time, last, .microseconds)
                rows.finish(records: row)
                return
            }
            last = time
            rows.times[row] = time
            rows.keys.bits[row] = UInt64(
                littleEndian: record.loadUnaligned(fromByteOffset: blockOffset, as: UInt64.self))
            rows.sizes[row] = UInt64(
                UInt32(littleEndian: record.loadUnaligned(fromByteOffset: lengthOffset, as: UInt32.self)))
            let command = record.load(fromByteOffset: commandOffset, as: UInt8.self)
            rows.operations.count(VSCSIParser.operation(command), requests: 1)
        }
        rows.finish(records: total)
    }

    /// Returns the number of a SCSI command's operation: those of 6, 10, 16 and 12 bytes read or write.
    private static func operation(_ command: UInt8) -> Int {
        switch command {
        case 0x08, 0x28, 0x88, 0xa8: 0
        case 0x0a, 0x2a, 0x8a, 0xaa: 1
        default: 2
        }
    }
}
