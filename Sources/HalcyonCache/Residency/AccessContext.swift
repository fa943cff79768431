import Synchronization

/// The properties of a request beside its key: policies learn from them, and rules refer to them.
public struct AccessContext: Sendable, Equatable {
    /// The categories of the object. Where only one category can count, the first does. Empty on a load: the
    /// categories of the store.
    public var categories: [String]
    /// The id of the user or the profile that sends the request.
    public var user: String?
    /// The number of earlier requests, if several tiers serve the same requests; `nil` if the storage counts.
    var requestNumber: Int?
    /// Whether the entry is prefetched: stored, or promoted to memory, before any request for it.
    var isPrefetch = false
    /// Whether the store comes from an ``ImageCache``. A value that memory does not keep then counts as a request,
    /// too, so that both tiers count alike.
    var isTiered = false

    /// Creates a context, by default without categories and user.
    public init(categories: [String] = [], user: String? = nil) {
        self.categories = categories
        self.user = user
    }
}

/// The kind of a look-up in memory: it selects the counts that the look-up changes.
@usableFromInline
package enum LookUpKind: UInt8 {
    /// The look-up counts in the storage.
    case storage
    /// The look-up counts in the storage and as a hit of the ``ImageCache`` that sent it.
    case tier
    /// Like ``tier``, but a miss is not counted, because the caller repeats the look-up in memory and on disk.
    case probe

    /// Whether the request comes from an ``ImageCache``.
    @inline(__always)
    var isTiered: Bool { self != .storage }
}

/// Assigns numbers to users in the order of their first requests, for all tiers of a cache. O(length of the name).
///
/// Requests of users beyond the first ``most`` count as requests without a user, so that policies learn nothing from
/// them.
package final class UserNumbers: Sendable {
    /// The maximum number of users that are distinguished.
    package static let most = 1 << 16

    private let numbers = Mutex<[String: UInt32]>([:])

    package init() {}

    /// Returns the number of a user, and assigns one to a new user; `UInt32.max` for no user, and if there are
    /// ``most`` users already.
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
