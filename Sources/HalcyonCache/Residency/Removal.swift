/// Why a value left a storage.
public enum RemovalReason: String, Sendable, CaseIterable {
    /// Room was needed: the policy, or a category's quota, chose it.
    case evicted
    /// Its time had passed.
    case expired
    /// The owner removed it, alone or with its category.
    case removed
    /// Everything was removed, by hand or when the app went to the background.
    case cleared
    /// A new value of the same key was not admitted, and the old one was out of date.
    case outdated
    /// Its file was gone or could not be read.
    case lost
}

/// A value that left a storage.
public struct Removal: Sendable, Equatable {
    /// Its key; in a disk storage the name of its file.
    public let key: String
    /// What it cost.
    public let cost: Int
    /// Its categories.
    public let categories: [String]
    /// Why it left.
    public let reason: RemovalReason

    /// A value that left.
    public init(key: String, cost: Int, categories: [String], reason: RemovalReason) {
        self.key = key
        self.cost = cost
        self.categories = categories
        self.reason = reason
    }
}

/// How many left, by reason; counting is one addition.
struct RemovalCounts {
    private var counts = [Int](repeating: 0, count: RemovalReason.allCases.count)

    mutating func count(_ reason: RemovalReason) { counts[reason.place] += 1 }

    /// The reasons for which any left.
    var byReason: [RemovalReason: Int] {
        let pairs = RemovalReason.allCases.map { ($0, counts[$0.place]) }
        return Dictionary(uniqueKeysWithValues: pairs.filter { $0.1 > 0 })
    }
}

extension RemovalReason {
    /// Its place among the counts.
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
