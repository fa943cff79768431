import HalcyonEviction

/// Which keys may be on disk, by 64 bits of each, so that an absent key is answered without hashing it in full and without
/// the file system.
///
/// False positives are allowed, false negatives are not: fingerprints are counted, and while there are files whose key is
/// not known every key may be there. The fingerprint of a key is the same in every process (FNV-1a, 64 bits).
struct Fingerprints {
    /// The fingerprint of a file whose key is not known.
    static let unknown: UInt64 = 0

    private var counts: [UInt64: UInt32] = [:]
    private var byEntry: [UInt64] = []
    private var unknownCount = 0

    /// The fingerprint of a key; never ``unknown``.
    static func fingerprint(_ key: String) -> UInt64 {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        let isWhole: Void? = key.utf8.withContiguousStorageIfAvailable { bytes in
            for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
        }
        if isWhole == nil { for byte in key.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 } }
        return hash == unknown ? 1 : hash
    }

    /// Whether a key with that fingerprint may be there.
    func mayContain(_ print: UInt64) -> Bool { unknownCount > 0 || counts[print] != nil }

    /// The fingerprint of an entry that is there.
    func fingerprint(of entry: EntryID) -> UInt64 { byEntry[Int(entry)] }

    /// Notes that an entry is there.
    mutating func insert(_ print: UInt64, for entry: EntryID) {
        while byEntry.count <= Int(entry) { byEntry.append(Self.unknown) }
        byEntry[Int(entry)] = print
        if print == Self.unknown { unknownCount += 1 } else { counts[print, default: 0] += 1 }
    }

    /// Notes that an entry that was there has gone.
    mutating func remove(_ entry: EntryID) {
        let print = byEntry[Int(entry)]
        if print == Self.unknown {
            unknownCount -= 1
        } else if let count = counts[print] {
            counts[print] = count > 1 ? count - 1 : nil
        }
    }
}
