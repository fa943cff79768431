import Foundation
import HalcyonEviction

/// Assigns small, dense numbers to the keys of a storage. The number of a released key is reused.
///
/// Keys are compared by their bytes, not by Unicode equivalence: the two encodings of `é` are two keys. It is an
/// open-addressing table with linear probing and backward-shift deletion (Knuth, The Art of Computer Programming 3,
/// 6.4, algorithm R), which is at most three quarters full. A look-up is expected O(bytes of the key). Hashes are
/// seeded, so that an attacker who chooses keys cannot make them collide. Memory per key: 31 to 42 bytes plus the
/// text.
package struct KeyTable: ~Copyable {
    /// A slot: a number and the hash of its key, so that a look-up rarely compares the text of another key.
    /// `EntryID.none` marks an empty slot.
    ///
    /// It is not private, because Swift 6.3 then fails to compile other files that destroy the table in debug builds.
    package struct Place: BitwiseCopyable {
        package var number = EntryID.none
        package var hash: UInt32 = 0
    }

    /// The hash function. Callers can hash a key before they take a lock around the table.
    package let hasher = KeyHasher()
    private var places = SlotArray(repeating: Place(), capacity: 64)
    private var hashes = SlotArray<UInt32>(repeating: 0)
    /// The keys by number; the empty text for released numbers.
    private(set) var names: [String] = []
    /// The released numbers. The last one is assigned next.
    private(set) var released: [EntryID] = []

    package init() {}

    /// The number of keys.
    package var count: Int { names.count - released.count }
    /// The largest number ever assigned, plus one.
    package var bound: Int { names.count }

    private var mask: UInt32 { UInt32(truncatingIfNeeded: places.capacity &- 1) }

    /// Returns the number of a key; `EntryID.none` if it has none.
    package func number(of key: String) -> EntryID { hasher.withHashed(key) { number(of: $0) } }

    /// Returns the number of a hashed key; `EntryID.none` if it has none.
    @inline(__always)
    package func number(of key: HashedKey) -> EntryID {
        let mask = mask
        var place = key.hash & mask
        while true {
            let found = places[place]
            if found.number == .none { return .none }
            if found.hash == key.hash && Self.areSame(names[Int(found.number)], key.bytes) { return found.number }
            place = (place &+ 1) & mask
        }
    }

    /// Returns the number of a key, and assigns one to a new key.
    package mutating func intern(_ key: String, _ hashed: HashedKey) -> EntryID {
        let known = number(of: hashed)
        if known != .none { return known }
        if (count + 1) * 4 > places.capacity * 3 { grow() }
        let number = released.popLast() ?? EntryID(names.count)
        if Int(number) == names.count { names.append("") }
        set(number, key, hashed)
        return number
    }

    /// Assigns numbers to keys in an empty table.
    ///
    /// - Parameters:
    ///   - numbered: the keys with their numbers, which differ.
    ///   - bound: a number above all of these.
    ///   - last: the numbers to assign next, the last first. All others that no key has are assigned after these.
    mutating func restore(_ numbered: [(number: EntryID, key: String)], bound: Int, last: [EntryID]) {
        var isFree = [Bool](repeating: true, count: bound)
        names = [String](repeating: "", count: bound)
        for (number, _) in numbered { isFree[Int(number)] = false }
        let listed = last.filter { number in
            defer { isFree[Int(number)] = false }
            return isFree[Int(number)]
        }
        released = (0..<EntryID(bound)).filter { isFree[Int($0)] }.reversed() + listed
        while (bound + 1) * 4 > places.capacity * 3 { grow() }
        for (number, key) in numbered { hasher.withHashed(key) { set(number, key, $0) } }
    }

    /// Replaces the key of a number.
    mutating func rename(_ number: EntryID, _ key: String, _ hashed: HashedKey) {
        clear(number)
        set(number, key, hashed)
    }

    private mutating func set(_ number: EntryID, _ key: String, _ hashed: HashedKey) {
        names[Int(number)] = key
        names[Int(number)].makeContiguousUTF8()
        hashes[number] = hashed.hash
        place(number, hash: hashed.hash)
    }

    /// Hashes a key and returns its number, and assigns one to a new key.
    package mutating func intern(_ key: String) -> EntryID { hasher.withHashed(key) { intern(key, $0) } }

    /// Returns the key of a number that is in use.
    package func key(of number: EntryID) -> String { names[Int(number)] }

    /// Releases a number, which may then be assigned to another key.
    package mutating func release(_ number: EntryID) {
        clear(number)
        names[Int(number)] = ""
        released.append(number)
    }

    /// Removes a number from the places.
    private mutating func clear(_ number: EntryID) {
        let mask = mask
        var hole = hashes[number] & mask
        while places[hole].number != number { hole = (hole &+ 1) & mask }
        var next = (hole &+ 1) & mask
        while places[next].number != .none {
            let home = places[next].hash & mask
            // A slot behind the hole moves into it, unless its home lies between the two.
            if (next &- home) & mask >= (next &- hole) & mask {
                places[hole] = places[next]
                hole = next
            }
            next = (next &+ 1) & mask
        }
        places[hole] = Place()
    }

    private mutating func place(_ number: EntryID, hash: UInt32) {
        let mask = mask
        var place = hash & mask
        while places[place].number != .none { place = (place &+ 1) & mask }
        places[place] = Place(number: number, hash: hash)
    }

    private mutating func grow() {
        var old = SlotArray(repeating: Place(), capacity: places.capacity * 2)
        swap(&places, &old)
        for place in 0..<UInt32(old.capacity) where old[place].number != .none {
            self.place(old[place].number, hash: old[place].hash)
        }
    }

    @inline(__always)
    private static func areSame(_ name: String, _ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        let same = name.utf8.withContiguousStorageIfAvailable { name in
            guard name.count == bytes.count, let a = name.baseAddress, let b = bytes.baseAddress else {
                return name.isEmpty && bytes.isEmpty
            }
            return a == b || memcmp(a, b, name.count) == 0
        }
        return same ?? name.utf8.elementsEqual(bytes)
    }
}
