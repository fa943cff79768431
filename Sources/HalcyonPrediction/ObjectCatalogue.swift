import HalcyonCache
import HalcyonEviction
import HalcyonPipeline
import HalcyonPrefetch
import HalcyonSupport

/// The known objects: computed keys as dense numbers, and for each its source, its categories and its size.
///
/// Some 200 bytes an object beside its key and source. The number of objects is bounded by ``most``, and of those without a known
/// source by ``mostSourceless``.
struct ObjectCatalogue: ~Copyable {
    /// The maximum number of objects without a known source. They cannot be fetched, and only have successors.
    static let mostSourceless = 1 << 16
    /// The maximum number of objects. Objects beyond it are not predicted until the next start.
    static let most = 1 << 20

    /// An object.
    struct Known {
        /// The source; `nil` for an object that was requested from the cache past any manager, which cannot be fetched.
        var resource: Resource?
        /// The load template: of the last announcement, otherwise of the first request with the same processor.
        var template: LoadTemplate?
        /// The processor, if it is known from an earlier start only.
        var processor: String?
        var categories: CategorySetID = 0
        /// The size in memory; 0 if unknown. Set by ``ObjectCatalogue/set(cost:of:)``.
        var cost = 0
        /// The bytes that come over the network; `nil` if unknown.
        var bytes: Int?
        /// The bytes that a failed fetch has left.
        var partialBytes = 0
    }

    private let most: Int
    private var keys = KeyTable()
    private var categories = CategoryInterner()
    private let users = UserNumbers()
    /// The names of which only hashes are known.
    var hashed = HashedNames()
    private var objects: [Known] = []
    /// The number of objects without a known source.
    private var sourceless = 0
    /// The number of objects of known size in memory, and the sum of these sizes.
    private var costs = (count: 0, sum: 0.0)
    private var files: [ByteName: UInt32] = [:]

    /// - Parameter most: the maximum number of objects.
    init(most: Int = most) { self.most = most }

    /// The number of objects.
    var count: Int { objects.count }

    /// An object by its number.
    subscript(object: UInt32) -> Known {
        get { objects[Int(object)] }
        set { objects[Int(object)] = newValue }
    }

    /// Sets the source of an object.
    mutating func set(_ resource: Resource, of object: UInt32) {
        if objects[Int(object)].resource == nil { sourceless -= 1 }
        objects[Int(object)].resource = resource
        // A fetch is for the user of its plan.
        objects[Int(object)].resource?.user = nil
    }

    /// Sets the size of an object in memory, if it is positive.
    mutating func set(cost: Int, of object: UInt32) {
        guard cost > 0 else { return }
        let before = objects[Int(object)].cost
        costs.sum += Double(cost - before)
        if before == 0 { costs.count += 1 }
        objects[Int(object)].cost = cost
    }

    /// Returns the size of an object in memory; if unknown, the mean of the others, at least 1.
    func expectedCost(of object: UInt32) -> Int {
        let known = objects[Int(object)].cost
        return known > 0 ? known : meanCost
    }

    /// The mean size in memory of the objects whose size is known, at least 1.
    var meanCost: Int {
        costs.count > 0 ? max(Int(min(costs.sum / Double(costs.count), 0x1p62)), 1) : 1
    }

    /// Returns the number of a requested computed key, and assigns one to a new key; `nil` if too many have no known source.
    mutating func internAccessed(_ key: String, fileName: (String) -> String?) -> UInt32? {
        if let known = find(key, fileName: fileName) { return known }
        return sourceless < Self.mostSourceless ? add(key, fileName: fileName) : nil
    }

    /// Returns the number of an object of an earlier start, and assigns one to a new hash; `nil` if there are too many.
    mutating func intern(hash: String) -> UInt32? {
        let standIn = HashedNames.standIn(of: hash)
        if let known = object(forKey: standIn) { return known }
        guard sourceless < Self.mostSourceless, let object = add(standIn, fileName: { _ in nil }) else { return nil }
        _ = hashed.add(hash, .key)
        return object
    }

    func key(of object: UInt32) -> String { keys.key(of: object) }

    /// Returns the object of a computed key, if there is one.
    func object(forKey key: String) -> UInt32? {
        let number = keys.number(of: key)
        return number == .none ? nil : number
    }

    /// The object of a file on disk, if there is one.
    func object(inFile name: String) -> UInt32? { files[name] }

    /// Returns the number of a computed key, and assigns one to a new key; `nil` if there are too many.
    ///
    /// - Parameter fileName: returns the name of its file; called once per key.
    mutating func intern(_ key: String, fileName: (String) -> String?) -> UInt32? {
        find(key, fileName: fileName) ?? add(key, fileName: fileName)
    }

    /// Returns the number of a known computed key. A key that was known by its hash replaces its stand-in.
    private mutating func find(_ key: String, fileName: (String) -> String?) -> UInt32? {
        if let known = object(forKey: key) { return known }
        guard let standIn = hashed.standIn(for: key, .key), let object = object(forKey: standIn) else { return nil }
        hashed.remove(standIn, .key)
        // The number that was released last is assigned next.
        keys.release(object)
        precondition(keys.intern(key) == object)
        if let name = fileName(key) { files[name] = object }
        return object
    }

    private mutating func add(_ key: String, fileName: (String) -> String?) -> UInt32? {
        if objects.count >= most { return nil }
        let number = keys.intern(key)
        objects.append(Known())
        sourceless += 1
        if let name = fileName(key) { files[name] = number }
        return number
    }

    /// Returns the number of the set of some categories, and defines a new set for a policy.
    mutating func set(of names: [String], telling policy: any PrefetchPolicy) -> CategorySetID {
        let names = names.map { hashed.standIn(for: $0, .category) ?? $0 }
        let (number, isNew) = categories.set(of: names)
        if isNew { policy.define(categorySet: number, members: categories.members[Int(number)]) }
        return number
    }

    /// Returns the numbers of some categories, and defines their set for a policy if it is new.
    mutating func members(of names: [String], telling policy: any PrefetchPolicy) -> [UInt32] {
        let set = set(of: names, telling: policy)
        return categories.members[Int(set)]
    }

    /// The categories of a set.
    func names(of set: CategorySetID) -> [String] { categories.names(ofSet: set) }

    /// Returns the name of a user in this catalogue: the stand-in of a user known by a hash, otherwise the name.
    func user(_ name: String?) -> String? { name.map { hashed.standIn(for: $0, .user) ?? $0 } }

    /// Returns the number of a user, and assigns one to a new user.
    ///
    /// - Parameter user: the name in this catalogue.
    func number(ofUser user: String?) -> UInt32 { users.number(of: user) }

    /// Forgets the number of a user. If the user comes again, the number is another one.
    ///
    /// - Parameter user: the name in this catalogue.
    mutating func forget(user: String) {
        users.forget(user)
        hashed.remove(user, .user)
    }
}

/// The load template of prefetches: the options of a request, changed for a load that no request waits for.
final class LoadTemplate: Sendable {
    let options: ImageOptions
    /// The identifier of the processor that makes the images.
    let processor: String
    /// Whether the images are kept in memory alone.
    let isMemoryOnly: Bool

    /// - Parameters:
    ///   - options: the options of requests; `nil` for the defaults.
    ///   - defaults: the manager's default options.
    init(_ options: ImageOptions?, defaults: ImageOptions) {
        let options = options ?? ImageOptions()
        self.options = options.forPrefetch
        processor = options.processorIdentifier(defaults)
        isMemoryOnly = options.cacheMemoryOnly ?? defaults.cacheMemoryOnly ?? false
    }
}

extension ObjectCatalogue.Known {
    /// Returns whether a tier of its load template can hold the object, as far as its size is known.
    ///
    /// Without a processor, an object takes about as many bytes on disk as over the network, and no fewer in memory.
    ///
    /// - Parameter toMemory: whether an object for the disk goes to memory, too.
    func fits(_ capacity: CacheCapacity, toMemory: Bool) -> Bool {
        guard let template else { return true }
        let loaded = template.processor.isEmpty ? bytes ?? 0 : 0
        if !template.isMemoryOnly, capacity.disk > 0, loaded <= capacity.disk { return true }
        return (toMemory || template.isMemoryOnly) && (cost > 0 ? cost : loaded) <= capacity.memory
    }
}

extension ImageOptions {
    /// The identifier of the processor that these options and the manager's defaults name.
    func processorIdentifier(_ defaults: ImageOptions) -> String { (processor ?? defaults.processor)?.identifier ?? "" }

    /// The options for a load that no request waits for.
    fileprivate var forPrefetch: ImageOptions {
        var options = self
        (options.forceRefresh, options.onlyFromCache, options.fromMemoryCacheOrRefresh) = (false, false, false)
        options.priority = .veryLow
        // The queue of the request would process at the priority of what is on screen.
        options.processingQueue = .dispatch(.global(qos: .background))
        options.onProgress = nil
        options.waitForCache = true
        options.wantsOriginalData = true
        return options
    }
}

/// The load templates of images that were not announced, by processor.
struct LoadTemplates {
    /// The template for its processor until the first request with that processor.
    let usual: LoadTemplate
    private var asked: [ByteName: LoadTemplate] = [:]

    init(usual: LoadTemplate) { self.usual = usual }

    /// Adds the template of a request.
    mutating func note(_ template: LoadTemplate) { asked[template.processor] = template }

    /// The template of the first request with a processor; `nil` if there was none.
    subscript(processor: String) -> LoadTemplate? { asked[processor] }

    /// Returns the template of an object; `nil` if it is unknown since the start.
    func template(of known: ObjectCatalogue.Known) -> LoadTemplate? {
        if let template = known.template { return template }
        return known.processor.flatMap { asked[$0] ?? (ByteName($0) == usual.processor ? usual : nil) }
    }
}

/// The expected size of an image of unknown size: the mean of the fetched images, of this start and of earlier ones.
struct FetchSizes {
    /// The expected size before the first fetch: that of a photograph of some hundred thousand pixels.
    static let usual = 100_000

    private var count = 0
    private var bytes = 0

    init() {}

    /// Continues with the spending of earlier starts. This is an approximation: failed fetches are included, and fetches that were in
    /// flight when a process was killed count with their expected size.
    init(after spending: PrefetchSpending) {
        if spending.bytesSpent > 0 { (count, bytes) = (max(spending.objectsSpent, 1), spending.bytesSpent) }
    }

    /// The mean, in bytes.
    var mean: Int { count == 0 ? Self.usual : bytes / count }

    /// Adds an image that was fetched over the network.
    mutating func note(_ size: Int) {
        count += 1
        let (sum, isTooLarge) = bytes.addingReportingOverflow(size)
        bytes = isTooLarge ? bytes : sum
    }
}
