import Synchronization

/// What an app tells with a store or a load, beside the key: what a policy may learn from and rules go by.
public struct AccessContext: Sendable, Equatable {
    /// The categories of the object; the first one decides where only one can. Empty on a load: as they were at the store.
    public var categories: [String]
    /// Who asks: a user or a profile.
    public var user: String?
    /// How many requests came before this one, where several tiers serve the same requests; `nil`: the storage counts.
    var requestNumber: Int?
    /// Whether nobody has asked for it yet: it is stored, or taken into memory, ahead of need.
    var isPrefetch = false
    /// Whether an ``ImageCache`` stores: what memory does not keep is a request, too, because both tiers count alike.
    var isTiered = false

    /// Nothing is told, unless given.
    public init(categories: [String] = [], user: String? = nil) {
        self.categories = categories
        self.user = user
    }
}

/// Which counts a look-up in memory changes.
@usableFromInline
package enum LookUpKind: UInt8 {
    /// Those of the storage.
    case storage
    /// Those of the storage, and the hits of the ``ImageCache`` that asks.
    case tier
    /// The same, but a miss is not counted: the one who asks looks again where more than memory may answer.
    case probe

    /// Whether an ``ImageCache`` asks.
    @inline(__always)
    var isTiered: Bool { self != .storage }
}

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
