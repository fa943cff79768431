import HalcyonEviction
import HalcyonTrace

/// The requests of a stream, as blocks: one for each piece of the file.
///
/// With per-user caches, requests without a user are dropped first. Users, objects and entries are numbered as in a
/// loaded trace (``HalcyonTrace/Trace/selection(skip:limit:withUserOnly:)``). Memory: 24 bytes for each pair of user
/// and object.
struct StreamRequests {
    private(set) var stream: TraceStream
    private let mode: ReplayMode
    private var piece = StreamBatch()
    /// The number of requests still to skip and still to deliver, with per-user caches.
    private var toSkip = 0
    private var toGive = Int.max
    private(set) var requests = 0
    /// The number of dropped requests without a user.
    private(set) var withoutUser = 0
    private(set) var identity = StreamIdentity()
    private(set) var entryCounts: [Int] = []

    private var objects: [UInt32] = []
    private var entries: [EntryID] = []
    private var sizes: [UInt64] = []
    private var cacheSizes: [Int] = []
    private var times: [Int64] = []
    private var users: [UInt32] = []
    private var categories: [CategorySetID] = []
    private var userNumbers: [UInt32: UInt32] = [:]
    private var objectNumbers: [UInt32: UInt32] = [:]
    private var entryNumbers: [UInt64: EntryID] = [:]

    init(_ path: String, _ load: LoadOptions, mode: ReplayMode) throws(TraceError) {
        var load = load
        self.mode = mode
        if mode == .perUser {
            toSkip = max(load.skip, 0)
            toGive = max(load.limit ?? .max, 0)
            load.skip = 0
            load.limit = nil
        }
        stream = try TraceStream(path, load)
    }

    /// Reads the next piece. Returns false at the end.
    mutating func next() throws(TraceError) -> Bool {
        requests += objects.count
        objects.removeAll(keepingCapacity: true)
        while objects.isEmpty, toGive > 0 {
            guard try stream.next(into: &piece) else { return false }
            if mode == .shared { takePiece() } else { takeUsersOfPiece() }
        }
        if objects.isEmpty { return false }
        identity.add(objects: objects, sizes: sizes, times: times, users: users, categories: categories)
        return true
    }

    /// The size of the first request of the piece.
    var firstSize: UInt64 { sizes[0] }

    /// Returns the first request of the piece with a size other than `size`: its index in the piece, and its size.
    func firstOther(than size: UInt64) -> (place: Int, size: UInt64)? {
        sizes.firstIndex { $0 != size }.map { ($0, sizes[$0]) }
    }

    /// Calls `body` with the piece as a block.
    mutating func withBlock(unit: CacheUnit, _ body: (borrowing RequestBlock) -> Void) {
        cacheSizes = unit.usesUniformSizes ? [] : sizes.map { Int(clamping: $0) }
        let (count, sets) = (objects.count, stream.categorySets)
        objects.withUnsafeBufferPointer { objects in
            entries.withUnsafeBufferPointer { entries in
                cacheSizes.withUnsafeBufferPointer { sizes in
                    times.withUnsafeBufferPointer { times in
                        users.withUnsafeBufferPointer { users in
                            categories.withUnsafeBufferPointer { categories in
                                guard let firstObject = objects.baseAddress else { return }
                                func column<Value>(_ values: UnsafeBufferPointer<Value>) -> UnsafePointer<Value>? {
                                    values.isEmpty ? nil : values.baseAddress
                                }
                                body(
                                    RequestBlock(
                                        count: count, firstPosition: requests, objects: firstObject,
                                        entries: mode == .shared ? firstObject : column(entries) ?? firstObject,
                                        sizes: column(sizes), times: column(times), categories: column(categories),
                                        users: column(users), cache: mode == .shared ? 0 : nil,
                                        firstRequest: requests, categorySets: sets))
                            }
                        }
                    }
                }
            }
        }
    }

    /// Returns the facts of the source at its end.
    func facts(unit: CacheUnit) -> SourceFacts {
        var facts = SourceFacts(streamOf: unit)
        facts.sizeUnit = stream.sizeUnit
        facts.requests = requests + objects.count
        facts.objectCount = identity.objects.count
        facts.userCount = identity.users.count
        facts.categorySets = stream.categorySets
        facts.names = stream.names
        facts.categoryCount = facts.names.categories.count
        facts.entryCounts = entryCounts
        if mode == .perUser {
            var users = StringTable()
            for (old, _) in userNumbers.sorted(by: { $0.value < $1.value }) where Int(old) < facts.names.users.count {
                users.append(utf8: facts.names.users.utf8(old))
            }
            facts.names.users = users
        }
        return facts
    }

    private mutating func takePiece() {
        objects = piece.entries
        sizes = piece.sizes
        times = piece.times
        users = piece.users
        categories = piece.categorySets
    }

    private mutating func takeUsersOfPiece() {
        entries.removeAll(keepingCapacity: true)
        sizes.removeAll(keepingCapacity: true)
        times.removeAll(keepingCapacity: true)
        users.removeAll(keepingCapacity: true)
        categories.removeAll(keepingCapacity: true)
        for index in piece.entries.indices {
            guard index < piece.users.count, piece.users[index] != Trace.noUser else {
                withoutUser += 1
                continue
            }
            if toSkip > 0 {
                toSkip -= 1
                continue
            }
            if toGive == 0 { break }
            toGive -= 1
            let user = Self.number(piece.users[index], in: &userNumbers)
            let object = Self.number(piece.entries[index], in: &objectNumbers)
            while entryCounts.count <= Int(user) { entryCounts.append(0) }
            let pair = UInt64(user) << 32 | UInt64(object)
            if let entry = entryNumbers[pair] {
                entries.append(entry)
            } else {
                entryNumbers[pair] = EntryID(entryCounts[Int(user)])
                entries.append(EntryID(entryCounts[Int(user)]))
                entryCounts[Int(user)] += 1
            }
            objects.append(object)
            users.append(user)
            sizes.append(piece.sizes[index])
            times.append(piece.times[index])
            if index < piece.categorySets.count { categories.append(piece.categorySets[index]) }
        }
    }

    private static func number(_ old: UInt32, in numbers: inout [UInt32: UInt32]) -> UInt32 {
        if let number = numbers[old] { return number }
        let number = UInt32(numbers.count)
        numbers[old] = number
        return number
    }
}

/// The fingerprint of a stream and its distinct objects, users and categories, updated piece by piece. One byte for
/// each object, user and category set.
struct StreamIdentity {
    private var hash: UInt64 = 0x9e37_79b9_7f4a_7c15
    private(set) var objects = DenseBitmap()
    private(set) var users = DenseBitmap()
    private(set) var categorySets = DenseBitmap()
    /// The total size of all distinct objects.
    private(set) var distinctSize = 0
    private var smallest = UInt64.max
    /// The size of the smallest request; 0 without requests.
    var smallestSize: Int { smallest == .max ? 0 : Int(clamping: smallest) }

    mutating func add(
        objects: [UInt32], sizes: [UInt64], times: [Int64], users: [UInt32], categories: [CategorySetID]
    ) {
        for index in objects.indices {
            let size = index < sizes.count ? sizes[index] : 1
            smallest = min(smallest, size)
            if self.objects.insert(objects[index]) { distinctSize &+= Int(clamping: size) }
            add(UInt64(objects[index]))
            add(size)
            add(UInt64(bitPattern: times[index]))
            let user = index < users.count ? users[index] : Trace.noUser
            if user != Trace.noUser { self.users.insert(user) }
            add(UInt64(user))
            let set = index < categories.count ? categories[index] : 0
            if set != 0 { categorySets.insert(set) }
            add(UInt64(set))
        }
    }

    /// Returns the number of distinct categories in these sets.
    func categoryCount(_ sets: CategorySets) -> Int {
        var categories = DenseBitmap()
        for set in 0..<UInt32(sets.count) where categorySets.contains(set) {
            for category in sets[set] { categories.insert(category) }
        }
        return categories.count
    }

    /// The fingerprint, 17 characters: an `s` and 16 digits. The `s` marks a stream, because a loaded trace is hashed
    /// column by column and has a different hash.
    var fingerprint: String {
        let digits = String(hash, radix: 16)
        return "s" + String(repeating: "0", count: 16 - digits.count) + digits
    }

    @inline(__always)
    private mutating func add(_ value: UInt64) {
        let product = (hash ^ value).multipliedFullWidth(by: 0xa076_1d64_78bd_642f)
        hash = product.high ^ product.low &+ 0x2d35_8dcc_aa6c_78a5
    }
}

/// A set of numbers from 0, one byte each.
struct DenseBitmap {
    private var isSet: [Bool] = []
    private(set) var count = 0

    /// Adds a number. Returns whether it is new. Amortised O(1) if numbers arrive roughly in order.
    @inline(__always)
    @discardableResult
    mutating func insert(_ number: UInt32) -> Bool { contains(number) ? false : add(Int(number)) }

    @inline(__always)
    func contains(_ number: UInt32) -> Bool { Int(number) < isSet.count && isSet[Int(number)] }

    @inline(never)
    private mutating func add(_ place: Int) -> Bool {
        while isSet.count <= place { isSet.append(false) }
        isSet[place] = true
        count += 1
        return true
    }
}
