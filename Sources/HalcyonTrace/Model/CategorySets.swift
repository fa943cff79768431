/// The distinct sets of categories in a trace, numbered; set 0 is the empty set.
///
/// An object often has several categories (`Comedy|Romance`). A request stores the number of one set, so it needs 4
/// bytes for any number of categories.
public struct CategorySets: Sendable {
    private var members: [UInt32] = []
    private var ends: [Int] = [0]
    private var numbers: [[UInt32]: UInt32] = [[]: 0]

    /// Creates a table with only the empty set.
    public init() {}

    /// The number of sets, the empty one included.
    public var count: Int { ends.count }

    /// The categories of set `number`, in the order in which the trace names them.
    public subscript(number: UInt32) -> ArraySlice<UInt32> {
        let index = Int(number)
        return members[(index == 0 ? 0 : ends[index - 1])..<ends[index]]
    }

    /// Returns the number of the set with these categories, and adds the set if it is new. O(set size).
    public mutating func number(of set: [UInt32]) -> UInt32 {
        if let known = numbers[set] { return known }
        let number = UInt32(ends.count)
        members.append(contentsOf: set)
        ends.append(members.count)
        numbers[set] = number
        return number
    }
}

/// A converter from category fields such as `Comedy|Romance` to numbers of sets.
///
/// Empty parts and repetitions are ignored: `|a||a` is `a`.
struct CategorySplitter {
    private(set) var sets = CategorySets()
    private(set) var names = StringTable()
    private var numbers: [ArraySlice<UInt8>: UInt32] = [:]
    /// The number of the last field that contained each category.
    private var lastFields: [Int] = []
    private var fields = 0

    /// Returns the number of the set that a field lists. O(length).
    mutating func set(of field: ArraySlice<UInt8>) -> UInt32 {
        var members: [UInt32] = []
        fields += 1
        for part in field.split(separator: UInt8(ascii: "|")) {
            let number: UInt32
            if let known = numbers[part] {
                number = known
            } else {
                number = names.append(utf8: part)
                numbers[Array(part)[...]] = number
                lastFields.append(0)
            }
            if lastFields[Int(number)] != fields { members.append(number) }
            lastFields[Int(number)] = fields
        }
        return sets.number(of: members)
    }
}
