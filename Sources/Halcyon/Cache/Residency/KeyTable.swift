import Foundation
import HalcyonEviction

/// Numbers the keys of a storage densely, and gives a number to another key once its own has been released.
///
/// Keys are told apart by their bytes, never by Unicode's equivalence: `é` written in two ways is two keys. An
/// open-addressing table with linear probing and backward-shift deletion (Knuth, The Art of Computer Programming 3, 6.4,
/// algorithm R), at most three quarters full. Expected O(bytes of the key) a look-up; hashes are seeded, so that nobody
/// who chooses keys can make them collide. Bytes a key beside its text: 31 to 42.
struct KeyTable {
    /// A number beside the hash of its key, so that a look-up reads the text of hardly any other; `EntryID.none` is empty.
    private struct Place: BitwiseCopyable {
        var number = EntryID.none
        var hash: UInt32 = 0
    }

    private let hasher = KeyHash()
    private var places: [Place]
    private var hashes: [UInt32] = []
    private var names: [String] = []
    private var released: [EntryID] = []

    /// The number of keys.
    var count: Int { names.count - released.count }
    /// One more than the largest number ever given out.
    var bound: Int { names.count }

    init() { places = Array(repeating: Place(), count: 64) }

    /// The number of a key; `EntryID.none` if it has none.
    func number(of key: String) -> EntryID { number(of: key, hash: hasher.hash(key)) }

    private func number(of key: String, hash: UInt32) -> EntryID {
        var place = Int(hash) & (places.count - 1)
        while true {
            let found = places[place]
            if found.number == .none { return .none }
            if found.hash == hash && Self.areSame(names[Int(found.number)], key) { return found.number }
            place = (place &+ 1) & (places.count - 1)
        }
    }

    /// The number of a key, which is given one if it has none.
    mutating func intern(_ key: String) -> EntryID {
        let hash = hasher.hash(key)
        let known = number(of: key, hash: hash)
        if known != .none { return known }
        if (count + 1) * 4 > places.count * 3 { grow() }
        var text = key
        text.makeContiguousUTF8()
        let number: EntryID
        if let free = released.popLast() {
            number = free
            hashes[Int(free)] = hash
            names[Int(free)] = text
        } else {
            number = EntryID(names.count)
            hashes.append(hash)
            names.append(text)
        }
        place(number, hash: hash)
        return number
    }

    /// The key of a number that is in use.
    func key(of number: EntryID) -> String { names[Int(number)] }

    /// Takes a number back, to be given to another key.
    mutating func release(_ number: EntryID) {
        let mask = places.count - 1
        var hole = Int(hashes[Int(number)]) & mask
        while places[hole].number != number { hole = (hole &+ 1) & mask }
        var next = (hole &+ 1) & mask
        while places[next].number != .none {
            let home = Int(places[next].hash) & mask
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
        var place = Int(hash) & (places.count - 1)
        while places[place].number != .none { place = (place &+ 1) & (places.count - 1) }
        places[place] = Place(number: number, hash: hash)
    }

    private mutating func grow() {
        let old = places
        places = Array(repeating: Place(), count: old.count * 2)
        for place in old where place.number != .none { self.place(place.number, hash: place.hash) }
    }

    private static func areSame(_ left: String, _ right: String) -> Bool {
        let same = left.utf8.withContiguousStorageIfAvailable { left in
            right.utf8.withContiguousStorageIfAvailable { right in
                guard left.count == right.count, let a = left.baseAddress, let b = right.baseAddress else {
                    return left.isEmpty && right.isEmpty
                }
                return a == b || memcmp(a, b, left.count) == 0
            }
        }
        return (same ?? nil) ?? left.utf8.elementsEqual(right.utf8)
    }
}
