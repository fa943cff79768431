/// Which of a list is to be begun when, so that at most so many are under way: events in, numbers out.
struct PrefetchQueue {
    private let count: Int
    private let limit: Int
    /// The first that was not begun.
    private(set) var next = 0
    /// How many are under way.
    private(set) var running = 0

    init(count: Int, limit: Int) {
        self.count = count
        self.limit = limit
    }

    /// What is to be begun at first.
    mutating func begin() -> [Int] { fill() }

    /// One has ended; what is to be begun now, which is nothing once it is stopped.
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
