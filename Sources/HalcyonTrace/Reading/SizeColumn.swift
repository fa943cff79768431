/// The sizes of a chunk's requests in bytes, in 4 bytes a request where that suffices.
enum SizeColumn: Sendable {
    case narrow([UInt32])
    case wide([UInt64])

    /// No sizes.
    static let empty = SizeColumn.narrow([])

    /// Keeps sizes in the narrower form that holds them.
    init(_ sizes: UnsafeBufferPointer<UInt64>) {
        if sizes.allSatisfy({ $0 <= UInt64(UInt32.max) }) {
            self = .narrow(sizes.map { UInt32(truncatingIfNeeded: $0) })
        } else {
            self = .wide(Array(sizes))
        }
    }

    var isEmpty: Bool { count == 0 }

    var count: Int {
        switch self {
        case .narrow(let sizes): sizes.count
        case .wide(let sizes): sizes.count
        }
    }

    subscript(row: Int) -> UInt64 {
        switch self {
        case .narrow(let sizes): UInt64(sizes[row])
        case .wide(let sizes): sizes[row]
        }
    }

    /// Only these rows.
    func kept(_ rows: Range<Int>) -> SizeColumn {
        switch self {
        case .narrow(let sizes): .narrow(Array(sizes[rows]))
        case .wide(let sizes): .wide(Array(sizes[rows]))
        }
    }
}
