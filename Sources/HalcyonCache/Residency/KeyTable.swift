import Foundation
import HalcyonEviction

/// Numbers the keys of a storage densely, and gives a number to another key once its own has been released.
///
/// Keys are told apart by their bytes, never by Unicode's equivalence: `é` written in two ways is two keys. An
/// open-addressing table with linear probing and backward-shift deletion (Knuth, The Art of Computer Programming 3, 6.4,
/// algorithm R), at most three quarters full. Expected O(bytes of the key) a look-up; hashes are seeded, so that nobody
/// who chooses keys can make them collide. Bytes a key beside its text: 31 to 42.
package struct KeyTable: ~Copyable {
    /// A number beside the hash of its key, so that a look-up reads the text of hardly any other; `EntryID.none` is empty. Not
    /// private, because Swift 6.3 fails to compile other files that destroy the table in debug builds then.
    package struct Place: BitwiseCopyable {
        package var number = EntryID.none
        package var hash: UInt32 = 0
    }

    /// What hashes its keys; whoever waits for a lock around the table can do that before.
    package let hasher = KeyHash()
    private var places = SlotArray(repeating: Place(), capacity: 64)
    private var hashes = SlotArray<UInt32>(repeating: 0)
    private var names: [String] = []
    private var released: [EntryID] = []

    package init() {}

    /// The number of keys.
    package var count: Int { names.count - released.count }
    /// One more than the largest number ever given out.
    package var bound: Int { names.count }

    private var mask: UInt32 { UInt32(truncatingIfNeeded: places.capacity &- 1) }

    /// The number of a key; `EntryID.none` if it has none.
    package func number(of key: String) -> EntryID { hasher.withHashed(key) { number(of: $0) } }

    /// The same for a key of which the hash is known.
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

    /// The number of a key, which is given one if it has none.
    package mutating func intern(_ key: String, _ hashed: HashedKey) -> EntryID {
        let known = number(of: hashed)
        if known != .none { return known }
        if (count + 1) * 4 > places.capacity * 3 { grow() }
        var text = key
        text.makeContiguousUTF8()
        let number: EntryID
        if let free = released.popLast() {
            number = free
            names[Int(free)] = text
        } else {
            number = EntryID(names.count)
            names.append(text)
        }
        hashes[number] = hashed.hash
        place(number, hash: hashed.hash)
        return number
    }

    /// The same for a key that was not hashed yet.
    package mutating func intern(_ key: String) -> EntryID { hasher.withHashed(key) { intern(key, $0) } }

    /// The key of a number that is in use.
    package func key(of number: EntryID) -> String { names[Int(number)] }

    /// Takes a number back, to be given to another key.
    package mutating func release(_ number: EntryID) {
        let mask = mask
        var hole = hashes[number] & mask
        while places[hole].number != number { hole = (hole &+ 1) & mask }
        var next = (hole &+ 1) & mask
        while places[next].number != .none {
            let home = places[next].hash & mask
            // Whoever sits behind the hole moves into it, unless its own place lies between the two.
            if (next &- home) & mask >= (next &- hole) & mask {
                places[hole] = places[next]
                hole = next
            }
            next = (next &+ 1) & mask
        }
        places[hole] = Place()
        names[Int(number)] = ""
        released.append(number)
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
