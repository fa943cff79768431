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

    /// A piece of the file, and those of its requests that are replayed: with per-user caches those that have a user.
    private var batch = StreamBatch()
    private var piece = StreamBatch()
    private var userNumbers = AppearanceNumbers()
    private var objectNumbers = AppearanceNumbers()
    /// The requests of ``part`` in the piece, with their positions there.
    private var selected = StreamBatch()
    private var positions: [UInt32] = []

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
        requests += piece.entries.count
        piece.entries.removeAll(keepingCapacity: true)
        while piece.entries.isEmpty, toGive > 0 {
            guard try mode == .shared ? stream.next(into: &piece) : stream.next(into: &batch) else { return false }
            if mode == .perUser { takeUsersOfBatch() }
        }
        if piece.entries.isEmpty { return false }
        identity.add(piece)
        findWarmup()
        return true
    }

    /// Finds the warm-up requests of the piece. O(log requests).
    private mutating func findWarmup() {
        let start = firstTime ?? piece.times[0]
        firstTime = start
        switch warmup {
        case .share: warmupInPiece = 0
        case .requests(let count): warmupInPiece = max(0, min(piece.entries.count, count - requests))
        case .time(let time): warmupInPiece = piece.times.partitionPoint { $0 - start >= time }
        }
        warmupRead += warmupInPiece
    }

    /// The size of the first request of the piece.
    var firstSize: UInt64 { piece.sizes[0] }

    /// Returns the first request of the piece with a size other than `size`: its index in the piece, and its size.
    func firstOther(than size: UInt64) -> (place: Int, size: UInt64)? {
        piece.sizes.firstIndex { $0 != size }.map { ($0, piece.sizes[$0]) }
    }

    /// Calls `body` with the piece as a block, or as two where the warm-up ends. A block is empty if no request
    /// belongs to the part of the users.
    mutating func withBlock(unit: CacheUnit, _ body: (borrowing RequestBlock) -> Void) {
        guard let part else { return block(piece, positions: nil, warmup: warmupInPiece, unit, body) }
        selected.removeAll()
        positions.removeAll(keepingCapacity: true)
        for index in piece.entries.indices where part.contains(piece.users[index]) {
            positions.append(UInt32(index))
            selected.append(index, of: piece)
        }
        block(selected, positions: positions, warmup: positions.prefix { $0 < warmupInPiece }.count, unit, body)
    }

    private func block(
        _ columns: StreamBatch, positions: [UInt32]?, warmup: Int, _ unit: CacheUnit,
        _ body: (borrowing RequestBlock) -> Void
    ) {
        let (count, sets) = (columns.entries.count, stream.categorySets)
        let sizes = unit.usesUniformSizes ? [] : columns.sizes.map { Int(clamping: $0) }
        columns.entries.withUnsafeBufferPointer { objects in
            sizes.withUnsafeBufferPointer { sizes in
                columns.times.withUnsafeBufferPointer { times in
                    columns.users.withUnsafeBufferPointer { users in
                        columns.categorySets.withUnsafeBufferPointer { categories in
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
                                if warmupInPiece < piece.entries.count { serve(warmup..<count, isWarmup: false) }
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
        facts.requests = requests + piece.entries.count
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

    /// Makes the piece of the requests of the batch that have a user.
    private mutating func takeUsersOfBatch() {
        piece.removeAll()
        for index in batch.entries.indices {
            guard index < batch.users.count, batch.users[index] != Trace.noUser else {
                withoutUser += 1
                continue
            }
            if toSkip > 0 {
                toSkip -= 1
                continue
            }
            if toGive == 0 { break }
            toGive -= 1
            piece.append(
                index, of: batch, user: userNumbers.number(of: batch.users[index]),
                entry: objectNumbers.number(of: batch.entries[index]))
        }
    }
}

extension StreamBatch {
    fileprivate mutating func removeAll() {
        entries.removeAll(keepingCapacity: true)
        times.removeAll(keepingCapacity: true)
        sizes.removeAll(keepingCapacity: true)
        users.removeAll(keepingCapacity: true)
        categorySets.removeAll(keepingCapacity: true)
    }

    /// Appends a request of another batch that has users, if given under another number of its user and its object.
    fileprivate mutating func append(_ index: Int, of other: StreamBatch, user: UInt32? = nil, entry: UInt32? = nil) {
        entries.append(entry ?? other.entries[index])
        times.append(other.times[index])
        sizes.append(other.sizes[index])
        users.append(user ?? other.users[index])
        if index < other.categorySets.count { categorySets.append(other.categorySets[index]) }
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

extension RandomAccessCollection where Index == Int {
    /// Returns the position of the first element that meets `condition`, which all after it meet, too; the end if none
    /// does. O(log n).
    func partitionPoint(where condition: (Element) -> Bool) -> Int {
        var (low, high) = (startIndex, endIndex)
        while low < high {
            let middle = (low + high) / 2
            if condition(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
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

    mutating func add(_ piece: StreamBatch) {
        for index in piece.entries.indices {
            let size = index < piece.sizes.count ? piece.sizes[index] : 1
            smallest = min(smallest, size)
            if objects.insert(piece.entries[index]) { distinctSize &+= Int(clamping: size) }
            add(UInt64(piece.entries[index]))
            add(size)
            add(UInt64(bitPattern: piece.times[index]))
            let user = index < piece.users.count ? piece.users[index] : Trace.noUser
            if user != Trace.noUser { users.insert(user) }
            add(UInt64(user))
            let set = index < piece.categorySets.count ? piece.categorySets[index] : 0
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
