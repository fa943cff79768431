extension Trace {
    /// A 64-bit hash of entries, sizes, times, categories and users, and of lists and of the length of a warm-up trace if there
    /// are any, as 16 hexadecimal digits.
    ///
    /// It depends on the content of the trace, not on its file, its reader or its names. It identifies a trace but
    /// does not protect against forgery, because the hash is not cryptographic. O(requests).
    public var fingerprint: String {
        var hash = ColumnHash()
        hash.add(entries)
        hash.add(users)
        hash.add(objectSizes)
        hash.add(requestSizes)
        addTimes(to: &hash)
        addCategories(to: &hash)
        if !lifetimes.isEmpty { hash.add(lifetimes) }
        if warmupCount > 0 { hash.add([UInt64(warmupCount)]) }
        if let lists, lists.count > 0 {
            hash.add(lists.positions)
            hash.add(lists.times)
            hash.add(lists.users)
            hash.add((0..<lists.count).map { lists.items(of: $0).count })
            hash.add(lists.objects)
            hash.add(lists.shownOnlySizes)
        }
        let digits = String(hash.state, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    private func addTimes(to hash: inout ColumnHash) {
        let block = 4_096
        for start in stride(from: 0, to: times.count, by: block) {
            hash.add((start..<Swift.min(start + block, times.count)).map { times[$0] })
        }
    }

    /// Adds sets and categories, renumbered in order of first use, because writers may number them differently.
    private func addCategories(to hash: inout ColumnHash) {
        let shown = lists?.categories ?? []
        guard hasCategories || !shown.isEmpty else { return }
        let column = (requestCategories.isEmpty ? objectCategories : requestCategories) + shown
        var setNumbers = [UInt32](repeating: .max, count: categorySets.count)
        var categoryNumbers: [UInt32: UInt32] = [:]
        var members: [UInt32] = []
        var next: UInt32 = 0
        let renumbered = column.map { set in
            if setNumbers[Int(set)] == .max {
                setNumbers[Int(set)] = next
                next += 1
                members.append(UInt32(categorySets[set].count))
                for category in categorySets[set] {
                    let number = categoryNumbers[category] ?? UInt32(categoryNumbers.count)
                    categoryNumbers[category] = number
                    members.append(number)
                }
            }
            return setNumbers[Int(set)]
        }
        hash.add(renumbered)
        hash.add(members)
    }
}

/// A hash over columns of numbers that takes 8 bytes at a time.
private struct ColumnHash {
    private(set) var state: UInt64 = 0x2d35_8dcc_aa6c_78a5

    /// Adds a column's length and numbers.
    mutating func add<Number: FixedWidthInteger & BitwiseCopyable>(_ column: [Number]) {
        state = mix(state ^ UInt64(column.count), 0x8bb8_4b93_962e_acc9)
        column.withUnsafeBytes { bytes in
            var left = state
            var right = state ^ 0x9e37_79b9_7f4a_7c15
            var offset = 0
            while offset + 16 <= bytes.count {
                let first = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
                let second = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset + 8, as: UInt64.self))
                left = mix(left ^ first, 0xa076_1d64_78bd_642f)
                right = mix(right ^ second, 0xe703_7ed1_a0b4_28db)
                offset += 16
            }
            while offset < bytes.count {
                left = mix(left ^ UInt64(bytes[offset]), 0x8ebc_6af0_9c88_c6e3)
                offset += 1
            }
            state = mix(left, right ^ 0x5895_65f3_3ad9_2d1b)
        }
    }
}
