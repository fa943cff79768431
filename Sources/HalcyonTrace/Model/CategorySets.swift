/// The distinct sets of categories that occur in a trace, numbered; set 0 is the empty one.
///
/// An object often has several categories (`Comedy|Romance`). A request names one set by its number, so that it
/// sizes 4 bytes however many categories there are.
public struct CategorySets: Sendable {
    private var members: [UInt32] = []
    private var ends: [Int] = [0]
    private var numbers: [[UInt32]: UInt32] = [[]: 0]

    /// Only the empty set.
    public init() {}

    /// The number of sets, the empty one included.
    public var count: Int { ends.count }

    /// The categories of set `number`, in the order in which the trace names them.
    public subscript(number: UInt32) -> ArraySlice<UInt32> {
        let index = Int(number)
        return members[(index == 0 ? 0 : ends[index - 1])..<ends[index]]
    }

    /// The number of the set with these categories, given one if it is new. O(set size).
    public mutating func number(of set: [UInt32]) -> UInt32 {
        if let known = numbers[set] { return known }
        let number = UInt32(ends.count)
        members.append(contentsOf: set)
        ends.append(members.count)
        numbers[set] = number
        return number
    }
}
