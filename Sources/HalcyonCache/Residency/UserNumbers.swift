import Synchronization

/// Numbers users in the order in which they come, for all tiers of a cache alike. O(length of the name).
package final class UserNumbers: Sendable {
    private let numbers = Mutex<[String: UInt32]>([:])

    package init() {}

    /// The number of a user, who is given one if new; `UInt32.max` for nobody.
    package func number(of user: String?) -> UInt32 {
        guard let user else { return .max }
        return numbers.withLock { numbers in
            if let known = numbers[user] { return known }
            let number = UInt32(numbers.count)
            numbers[user] = number
            return number
        }
    }
}
