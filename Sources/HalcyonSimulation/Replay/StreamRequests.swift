import HalcyonEviction
import HalcyonTrace

/// The requests of a stream, as blocks: one for each piece of the file.
///
/// With per-user caches, requests without a user are dropped first. Users and objects are numbered as in a loaded trace
/// (``HalcyonTrace/Trace/selection(skip:limit:withUserOnly:)``); each cache numbers its own entries. Memory: 4 bytes for
/// each user and object.
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
    /// The users whose requests are in the blocks; `nil` for all. The identity is that of all requests.
    private let part: UserPart?
    private let warmup: Warmup
    /// The time of the first request, in microseconds.
    private var firstTime: Int64?
    /// The number of warm-up requests among those read so far. It is final once a later request was read.
    private var warmupRead = 0
    /// The number of warm-up requests at the start of the piece.
    private var warmupInPiece = 0

    private var objects: [UInt32] = []
    private var sizes: [UInt64] = []
    private var cacheSizes: [Int] = []
    private var times: [Int64] = []
    private var users: [UInt32] = []
    private var categories: [CategorySetID] = []
    private var userNumbers = AppearanceNumbers()
    private var objectNumbers = AppearanceNumbers()
    /// The columns of the requests of ``part`` in a piece.
    private var selected = SelectedRequests()

    init(_ path: String, _ load: TraceLoadOptions, mode: ReplayMode, part: UserPart? = nil, warmup: Warmup = .none)
        throws(TraceError)
    {
        var load = load
        self.part = part
        self.mode = mode
        self.warmup = warmup
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
        findWarmup()
        return true
    }

    /// Finds the warm-up requests of the piece. O(log requests).
    private mutating func findWarmup() {
        let start = firstTime ?? times[0]
        firstTime = start
        switch warmup {
        case .share: warmupInPiece = 0
        case .requests(let count): warmupInPiece = max(0, min(objects.count, count - requests))
        case .time(let time):
            var (low, high) = (0, objects.count)
            while low < high {
                let middle = (low + high) / 2
                if times[middle] - start < time { low = middle + 1 } else { high = middle }
            }
            warmupInPiece = low
        }
        warmupRead += warmupInPiece
    }

    /// The size of the first request of the piece.
    var firstSize: UInt64 { sizes[0] }

    /// Returns the first request of the piece with a size other than `size`: its index in the piece, and its size.
    func firstOther(than size: UInt64) -> (place: Int, size: UInt64)? {
        sizes.firstIndex { $0 != size }.map { ($0, sizes[$0]) }
    }

    /// Calls `body` with the piece as a block, or as two where the warm-up ends. A block is empty if no request
    /// belongs to the part of the users.
    mutating func withBlock(unit: CacheUnit, _ body: (borrowing RequestBlock) -> Void) {
        guard let part else {
            cacheSizes = unit.usesUniformSizes ? [] : sizes.map { Int(clamping: $0) }
            return block(
                objects: objects, sizes: cacheSizes, times: times, users: users, categories: categories, positions: nil,
                warmup: warmupInPiece, body)
        }
        selected.removeAll()
        for index in objects.indices where part.contains(users[index]) {
            selected.positions.append(UInt32(index))
            selected.objects.append(objects[index])
            selected.users.append(users[index])
            selected.times.append(times[index])
            if !unit.usesUniformSizes { selected.sizes.append(Int(clamping: sizes[index])) }
            if !categories.isEmpty { selected.categories.append(categories[index]) }
        }
        block(
            objects: selected.objects, sizes: selected.sizes, times: selected.times, users: selected.users,
            categories: selected.categories, positions: selected.positions,
            warmup: selected.positions.prefix { $0 < warmupInPiece }.count, body)
    }

    private func block(
        objects: [UInt32], sizes: [Int], times: [Int64], users: [UInt32], categories: [CategorySetID],
        positions: [UInt32]?, warmup: Int, _ body: (borrowing RequestBlock) -> Void
    ) {
        let (count, sets) = (objects.count, stream.categorySets)
        objects.withUnsafeBufferPointer { objects in
            sizes.withUnsafeBufferPointer { sizes in
                times.withUnsafeBufferPointer { times in
                    users.withUnsafeBufferPointer { users in
                        categories.withUnsafeBufferPointer { categories in
                            (positions ?? []).withUnsafeBufferPointer { places in
                                guard let firstObject = objects.baseAddress else { return }
                                func serve(_ range: Range<Int>, isWarmup: Bool) {
                                    let start = range.lowerBound
                                    func column<Value>(_ values: UnsafeBufferPointer<Value>) -> UnsafePointer<Value>? {
                                        values.isEmpty ? nil : values.baseAddress.map { $0 + start }
                                    }
                                    let first = requests + (positions == nil ? start : 0)
                                    body(
                                        RequestBlock(
                                            count: range.count, firstPosition: first, positions: column(places),
                                            objects: firstObject + start, entries: firstObject + start,
                                            sizes: column(sizes), times: column(times), categories: column(categories),
                                            users: column(users), cache: mode == .shared ? 0 : nil, firstRequest: first,
                                            isWarmup: isWarmup, warmup: warmupRead, categorySets: sets))
                                }
                                if warmup > 0 { serve(0..<warmup, isWarmup: true) }
                                if warmupInPiece < self.objects.count { serve(warmup..<count, isWarmup: false) }
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
        facts.hasTimes = !stream.report.noTimes
        facts.requests = requests + objects.count
        facts.warmup = warmupRead
        facts.objectCount = identity.objects.count
        facts.userCount = identity.users.count
        facts.categorySets = stream.categorySets
        facts.names = stream.names
        facts.categoryCount = facts.names.categories.count
        if mode == .perUser {
            var users = StringTable()
            for old in userNumbers.originals where Int(old) < facts.names.users.count {
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
            let user = userNumbers.number(of: piece.users[index])
            let object = objectNumbers.number(of: piece.entries[index])
            objects.append(object)
            users.append(user)
            sizes.append(piece.sizes[index])
            times.append(piece.times[index])
            if index < piece.categorySets.count { categories.append(piece.categorySets[index]) }
        }
    }
}

/// Columns of some requests of a piece.
private struct SelectedRequests {
    var positions: [UInt32] = []
    var objects: [UInt32] = []
    var sizes: [Int] = []
    var times: [Int64] = []
    var users: [UInt32] = []
    var categories: [CategorySetID] = []

    mutating func removeAll() {
        positions.removeAll(keepingCapacity: true)
        objects.removeAll(keepingCapacity: true)
        sizes.removeAll(keepingCapacity: true)
        times.removeAll(keepingCapacity: true)
        users.removeAll(keepingCapacity: true)
        categories.removeAll(keepingCapacity: true)
    }
}

/// New numbers from 0, in order of first appearance, for dense old ones. 4 bytes an old number.
private struct AppearanceNumbers {
    private var numbers: [UInt32] = []
    private var count: UInt32 = 0

    /// Returns the new number of an old one. Amortised O(1).
    mutating func number(of old: UInt32) -> UInt32 {
        while numbers.count <= Int(old) { numbers.append(.max) }
        if numbers[Int(old)] == .max {
            numbers[Int(old)] = count
            count += 1
        }
        return numbers[Int(old)]
    }

    /// The old numbers that have a new one, in the order of the new ones. O(n log n).
    var originals: [UInt32] {
        (0..<UInt32(numbers.count)).filter { numbers[Int($0)] != .max }.sorted { numbers[Int($0)] < numbers[Int($1)] }
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
