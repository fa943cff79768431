import HalcyonEviction

/// Numbers categories and the sets of them that entries carry, in the order in which they come; set 0 is the empty one.
///
/// The order within a set counts (the first category is the one that decides where only one can); a category that is
/// named twice counts once. Looking a set up is O(its names).
///
/// Lists are remembered as they were named, so that most look-ups need one hash. When ``mostLists`` are, all are forgotten, and
/// come in again by the numbers of their categories. Categories and sets stay: entries and policies refer to them.
package struct CategoryTable {
    /// The most lists that are remembered.
    package static let mostLists = 1 << 12

    private var numbers: [String: UInt32] = [:]
    package private(set) var names: [String] = []
    private var sets: [[UInt32]: CategorySetID] = [[]: 0]
    private(set) var lists: [[String]: CategorySetID] = [:]
    package private(set) var members: [[UInt32]] = [[]]

    package init() {}

    /// The number of a category, if it has occurred.
    package func number(of name: String) -> UInt32? { numbers[name] }

    /// The number of a category, which is given one if it is new.
    package mutating func intern(_ name: String) -> UInt32 {
        if let known = numbers[name] { return known }
        let number = UInt32(names.count)
        names.append(name)
        numbers[name] = number
        return number
    }

    /// The number of the set of these categories, and whether it is new.
    package mutating func set(of list: [String]) -> (number: CategorySetID, isNew: Bool) {
        if list.isEmpty { return (0, false) }
        if let known = lists[list] { return (known, false) }
        var distinct: [UInt32] = []
        for name in list {
            let number = intern(name)
            if !distinct.contains(number) { distinct.append(number) }
        }
        let number = sets[distinct] ?? CategorySetID(members.count)
        let isNew = number == members.count
        if lists.count >= Self.mostLists { lists.removeAll(keepingCapacity: true) }
        lists[list] = number
        if isNew {
            sets[distinct] = number
            members.append(distinct)
        }
        return (number, isNew)
    }

    /// Whether a set is of just these categories. O(names), and no hash.
    @inline(__always)
    func isSet(_ set: CategorySetID, of list: [String]) -> Bool {
        let members = members[Int(set)]
        guard members.count == list.count else { return false }
        for place in list.indices where names[Int(members[place])] != list[place] { return false }
        return true
    }

    /// The number of the set of these categories, if they were named just so before and that is remembered.
    package func knownSet(of list: [String]) -> CategorySetID? { list.isEmpty ? 0 : lists[list] }

    /// The names of a set's categories, in their order.
    package func names(ofSet set: CategorySetID) -> [String] { members[Int(set)].map { names[Int($0)] } }
}
