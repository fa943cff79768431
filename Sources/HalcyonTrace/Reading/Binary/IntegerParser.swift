/// A parser of keys that are plain whole numbers, without a header and without any other field.
struct IntegerParser: RowParser {
    /// The number of bytes of a key: 4 or 8.
    let recordBytes: Int
    /// Whether the highest byte is first, as Java writes.
    let isBigEndian: Bool

    var present: PresentColumns { [] }
    var shortestRow: Int { recordBytes }

    func parse(_ bytes: UnsafeMutablePointer<UInt8>, count: Int, into rows: RowScratch) {
        let records = UnsafeRawPointer(bytes)
        let keys = rows.keys.bits
        let total = count / recordBytes
        for row in 0..<total {
            let place = row &* recordBytes
            if recordBytes == 4 {
                let key = records.loadUnaligned(fromByteOffset: place, as: UInt32.self)
                keys[row] = UInt64(isBigEndian ? UInt32(bigEndian: key) : UInt32(littleEndian: key))
            } else {
                let key = records.loadUnaligned(fromByteOffset: place, as: UInt64.self)
                keys[row] = isBigEndian ? UInt64(bigEndian: key) : UInt64(littleEndian: key)
            }
        }
        rows.finish(records: total)
    }
}
