/// The order in which elements of a list are started, with a limit of concurrent ones. It handles events and returns indices.
struct PrefetchQueue {
    private let count: Int
    private let limit: Int
    /// The first index that was not started.
    private(set) var next = 0
    /// The number of started elements that have not ended.
    private(set) var running = 0

    init(count: Int, limit: Int) {
        self.count = count
        self.limit = limit
    }

    /// Returns the first indices to start.
    mutating func begin() -> [Int] { fill() }

    /// Handles the end of an element, and returns the indices to start; none after a stop.
    mutating func ended(isStopped: Bool) -> [Int] {
        running -= 1
        return isStopped ? [] : fill()
    }

    private mutating func fill() -> [Int] {
        let numbers = next..<min(count, next + limit - running)
        next = numbers.upperBound
        running += numbers.count
        return Array(numbers)
    }
}
