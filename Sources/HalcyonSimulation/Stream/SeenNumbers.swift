/// Which of the numbers from 0 on have come, a byte each.
struct SeenNumbers {
    private var isSeen: [Bool] = []
    private(set) var count = 0

    /// Takes a number in; whether it is new. O(1), amortised, where numbers are given in order.
    @inline(__always)
    @discardableResult
    mutating func insert(_ number: UInt32) -> Bool { contains(number) ? false : add(Int(number)) }

    @inline(__always)
    func contains(_ number: UInt32) -> Bool { Int(number) < isSeen.count && isSeen[Int(number)] }

    @inline(never)
    private mutating func add(_ place: Int) -> Bool {
        while isSeen.count <= place { isSeen.append(false) }
        isSeen[place] = true
        count += 1
        return true
    }
}
