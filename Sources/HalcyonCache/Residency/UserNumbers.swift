import Synchronization

/// Numbers users in the order in which they come, for all tiers of a cache alike. O(length of the name).
///
/// A user beyond the first ``most`` is treated as no user: policies learn nothing of that one's habits.
package final class UserNumbers: Sendable {
    /// The most users that are told apart.
    package static let most = 1 << 16

    private let numbers = Mutex<[String: UInt32]>([:])

    package init() {}

    /// The number of a user, who is given one if new; `UInt32.max` for nobody, and beyond the bound.
    package func number(of user: String?) -> UInt32 {
        guard let user else { return .max }
        return numbers.withLock { numbers in
            if let known = numbers[user] { return known }
            if numbers.count >= Self.most { return .max }
            let number = UInt32(numbers.count)
            numbers[user] = number
            return number
        }
    }
}
