import HalcyonEviction
import HalcyonSupport

/// Assigns numbers to categories and to sets of categories, in the order of their first use. Set 0 is the empty set.
///
/// The order within a set matters, because the first category counts where only one can. A repeated category counts
/// once. A look-up of a set is O(number of names).
///
/// Lists of names are remembered, so that most look-ups need one hash. At ``mostLists`` lists, all are forgotten and
/// added again on their next use. Categories and sets are never removed, because entries and policies refer to their
/// numbers. Those of stores are always added, because removals find entries by them; those of look-ups only up to
/// ``mostOfLookUps``.
package struct CategoryInterner {
    /// The number of categories or of sets from which look-ups add none.
    package static let mostOfLookUps = 1 << 14
    /// The maximum number of remembered lists.
    package static let mostLists = 1 << 12

    private var numbers: [ByteName: UInt32] = [:]
    /// The names of earlier starts; see ``HashedNames``.
    package var hashed = HashedNames()
    package private(set) var names: [String] = []
    private var sets: [[UInt32]: CategorySetID] = [[]: 0]
    private(set) var lists: [ByteName.List: CategorySetID] = [:]
    package private(set) var members: [[UInt32]] = [[]]

    package init() {}

    /// Whether look-ups add no categories and sets any more.
    var isFull: Bool { max(names.count, members.count) >= Self.mostOfLookUps }

    /// Returns the number of a category; `nil` if it has none.
    package func number(of name: String) -> UInt32? { numbers[name] }

    /// Returns the number of a category, and assigns one to a new category.
    package mutating func intern(_ name: String) -> UInt32 {
        if let known = numbers[name] { return known }
        if let standIn = hashed.standIn(for: name, .category), let number = numbers.removeValue(forKey: standIn) {
            hashed.remove(standIn, .category)
            names[Int(number)] = name
            numbers[name] = number
            return number
        }
        let number = UInt32(names.count)
        names.append(name)
        numbers[name] = number
        return number
    }

    /// Returns the number of the set of these categories by their numbers.
    mutating func set(ofNumbers distinct: [UInt32]) -> CategorySetID {
        if let known = sets[distinct] { return known }
        sets[distinct] = CategorySetID(members.count)
        members.append(distinct)
        return CategorySetID(members.count - 1)
    }

    /// Returns the number of the set of these categories, and whether it is new.
    package mutating func set(of list: [String]) -> (number: CategorySetID, isNew: Bool) {
        if list.isEmpty { return (0, false) }
        let names = ByteName.List(list)
        if let known = lists[names] { return (known, false) }
        var distinct: [UInt32] = []
        for name in list {
            let number = intern(name)
            if !distinct.contains(number) { distinct.append(number) }
        }
        let number = sets[distinct] ?? CategorySetID(members.count)
        let isNew = number == members.count
        if lists.count >= Self.mostLists { lists.removeAll(keepingCapacity: true) }
        lists[names] = number
        if isNew {
            sets[distinct] = number
            members.append(distinct)
        }
        return (number, isNew)
    }

    /// Returns whether a set consists of these categories in this order. O(number of names), without hashing.
    @inline(__always)
    func isSet(_ set: CategorySetID, of list: [String]) -> Bool {
        let members = members[Int(set)]
        guard members.count == list.count else { return false }
        for place in list.indices where ByteName(names[Int(members[place])]) != ByteName(list[place]) {
            return false
        }
        return true
    }

    /// Returns the number of the set of these categories if this list is remembered; `nil` otherwise.
    package func knownSet(of list: [String]) -> CategorySetID? { list.isEmpty ? 0 : lists[ByteName.List(list)] }

    /// Returns the names of a set's categories in their order.
    package func names(ofSet set: CategorySetID) -> [String] { members[Int(set)].map { names[Int($0)] } }
}
