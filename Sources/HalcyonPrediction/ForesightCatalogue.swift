import HalcyonCache
import HalcyonEviction
import HalcyonPipeline
import HalcyonPrefetch

/// What is known to exist: computed keys as dense numbers, and for each where it comes from, its categories and its size.
///
/// Bytes an object: some 200 beside its key and source. It grows with what is asked for through managers or announced, up to
/// a bound; of what comes from nobody knows where it takes in ``mostSourceless``.
struct ForesightCatalogue: ~Copyable {
    /// The most objects that come from nobody knows where: they can never be fetched, and only tell what comes after them.
    static let mostSourceless = 1 << 16
    /// The most objects of all: what an app announces or asks for beyond them is not foreseen until it is started anew.
    static let most = 1 << 20

    /// An object.
    struct Known {
        /// Where it comes from; `nil` for what the cache was asked for past any manager, which cannot be fetched.
        var resource: Resource?
        /// How it is loaded, as it was last announced; else as the first with its processor was asked for.
        var recipe: ForesightRecipe?
        /// What makes it, where it is remembered from an earlier start and nobody has said since how it is loaded.
        var processor: String?
        var categories: CategorySetID = 0
        /// What it takes in memory; 0 if nobody knows. Set by ``ForesightCatalogue/set(cost:of:)``.
        var cost = 0
        /// What comes over the network; `nil` if nobody knows.
        var bytes: Int?
        /// What a fetch that failed has left of it.
        var partialBytes = 0
    }

    private let most: Int
    private var keys = KeyTable()
    private var categories = CategoryTable()
    private let users = UserNumbers()
    private var objects: [Known] = []
    /// How many of them come from nobody knows where.
    private var sourceless = 0
    /// Of how many it is known what they take in memory, and how much that is together.
    private var costs = (count: 0, sum: 0.0)
    private var files: [String: UInt32] = [:]
    /// The sets that came up since they were last told to the policy.
    private(set) var newSets: [(set: CategorySetID, members: [UInt32])] = []

    /// - Parameter most: how many it takes in.
    init(most: Int = most) { self.most = most }

    /// How many there are.
    var count: Int { objects.count }

    /// An object by its number.
    subscript(object: UInt32) -> Known {
        get { objects[Int(object)] }
        set { objects[Int(object)] = newValue }
    }

    /// Tells where an object comes from.
    mutating func set(_ resource: Resource, of object: UInt32) {
        if objects[Int(object)].resource == nil { sourceless -= 1 }
        objects[Int(object)].resource = resource
    }

    /// Tells what an object takes in memory, if that is more than nothing.
    mutating func set(cost: Int, of object: UInt32) {
        guard cost > 0 else { return }
        let before = objects[Int(object)].cost
        costs.sum += Double(cost - before)
        if before == 0 { costs.count += 1 }
        objects[Int(object)].cost = cost
    }

    /// What an object takes in memory; where nobody knows, what the others take on average, at least 1.
    func expectedCost(of object: UInt32) -> Int {
        let known = objects[Int(object)].cost
        if known > 0 { return known }
        return costs.count > 0 ? max(Int(min(costs.sum / Double(costs.count), 0x1p62)), 1) : 1
    }

    /// The number of a computed key that was asked for, which is given one if it is new; `nil` where too many come from nobody
    /// knows where.
    mutating func internAccessed(_ key: String, fileName: (String) -> String?) -> UInt32? {
        if let known = object(forKey: key) { return known }
        return sourceless < Self.mostSourceless ? intern(key, fileName: fileName) : nil
    }

    func key(of object: UInt32) -> String { keys.key(of: object) }

    /// The object of a computed key, if there is one.
    func object(forKey key: String) -> UInt32? {
        let number = keys.number(of: key)
        return number == .none ? nil : number
    }

    /// The object of a file on disk, if there is one.
    func object(inFile name: String) -> UInt32? { files[name] }

    /// The number of a computed key, which is given one if it is new; `nil` where there are too many.
    ///
    /// - Parameter fileName: the name of its file; asked for once.
    mutating func intern(_ key: String, fileName: (String) -> String?) -> UInt32? {
        if objects.count >= most { return object(forKey: key) }
        let number = keys.intern(key)
        if number == objects.count {
            objects.append(Known())
            sourceless += 1
            if let name = fileName(key) { files[name] = number }
        }
        return number
    }

    /// The number of the set of some categories.
    mutating func set(of names: [String]) -> CategorySetID {
        let (number, isNew) = categories.set(of: names)
        if isNew { newSets.append((number, categories.members[Int(number)])) }
        return number
    }

    /// The same; a policy is told what is new.
    mutating func set(of names: [String], telling policy: any PrefetchPolicy) -> CategorySetID {
        let set = set(of: names)
        for (set, members) in newSets { policy.define(categorySet: set, members: members) }
        newSets.removeAll(keepingCapacity: true)
        return set
    }

    /// The categories of a set.
    func names(of set: CategorySetID) -> [String] { categories.names(ofSet: set) }

    func user(_ name: String?) -> UInt32 { users.number(of: name) }
}
