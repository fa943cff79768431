/// The reason for the removal of a value from a storage.
public enum RemovalReason: String, Sendable, CaseIterable {
    /// The policy evicted it to make room, for the storage's limit or for a category's quota.
    case evicted
    /// It expired.
    case expired
    /// The app removed it, alone or with its category.
    case removed
    /// All values were removed, by the app or when it entered the background.
    case cleared
    /// A new value of the same key was not admitted, so that the old one was outdated.
    case outdated
    /// Its file was missing or could not be read.
    case lost
}

/// The removal of a value from a storage.
public struct Removal: Sendable, Equatable {
    /// The key of the value; in a disk storage, the name of its file.
    public let key: String
    /// The size of the value.
    public let cost: Int
    /// The categories of the value.
    public let categories: [String]
    /// The reason.
    public let reason: RemovalReason

    /// Creates the description of a removal.
    public init(key: String, cost: Int, categories: [String], reason: RemovalReason) {
        self.key = key
        self.cost = cost
        self.categories = categories
        self.reason = reason
    }
}

/// The numbers of removals by reason. Counting is one addition.
struct RemovalCounts {
    private var counts = [Int](repeating: 0, count: RemovalReason.allCases.count)

    mutating func count(_ reason: RemovalReason) { counts[reason.place] += 1 }

    /// The counts greater than 0.
    var byReason: [RemovalReason: Int] {
        let pairs = RemovalReason.allCases.map { ($0, counts[$0.place]) }
        return Dictionary(uniqueKeysWithValues: pairs.filter { $0.1 > 0 })
    }
}

extension RemovalReason {
    /// The position of the reason's count.
    fileprivate var place: Int {
        switch self {
        case .evicted: 0
        case .expired: 1
        case .removed: 2
        case .cleared: 3
        case .outdated: 4
        case .lost: 5
        }
    }
}
