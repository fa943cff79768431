/// The calls that a cache has received, in their order, by which an empty cache gets the same state.
///
/// Policies are deterministic. Another cache under the same policy, with the same seed and capacity, receives all of
/// these calls. It then has the same residents, and decides the same from then on. At most a number of calls is kept, of
/// which the oldest sixteenth is dropped when there are more. The rest gives a state that is near.
///
/// ``append(_:)`` is O(1), all others are O(calls). Bytes: about 15 a call.
package struct CacheCalls: Sendable, Equatable {
    /// The default of the most calls.
    package static let most = 1 << 14
    private static let chunkCount = 16

    /// One call.
    package struct Call: Sendable, Equatable {
        package enum Kind: UInt8, Sendable {
            case request, store, hit, remove, limit, trim, reconsider
        }

        package var kind: Kind
        /// The access. Its size is that of the entry for a hit, too, and the target for ``Kind/limit`` and
        /// ``Kind/trim``.
        package var access: Access
        /// When the entry expires after ``Kind/store`` and ``Kind/hit``.
        package var deadline: Int64
        /// The number of entries for ``Kind/limit`` and ``Kind/trim``.
        package var count: Int
        /// Whether an entry is still likely, for ``Kind/reconsider``.
        package var isLikely: Bool

        package init(
            _ kind: Kind, _ access: Access, deadline: Int64 = .max, count: Int = 0, isLikely: Bool = false
        ) {
            (self.kind, self.access, self.deadline) = (kind, access, deadline)
            (self.count, self.isLikely) = (count, isLikely)
        }

        /// A call at a time that sets a size and a number of entries.
        package init(_ kind: Kind, _ now: Access, size: Int, count: Int) {
            self.init(kind, now, count: count)
            access.size = size
        }

        /// The removal of an entry.
        package static func removal(of entry: EntryID) -> Call { Call(.remove, Access(entry: entry)) }
    }

    /// A resident that a cache has to have in the end: its last access, and when it expires.
    package struct Resident {
        package var access: Access
        package var deadline: Int64

        package init(_ access: Access, deadline: Int64) { (self.access, self.deadline) = (access, deadline) }
    }

    package let most: Int
    /// The calls as bytes. Each chunk can be read without the others.
    private var chunks: [[UInt8]] = []
    /// The calls in the last chunk.
    private var lastCount = 0
    /// The request number and the time of the last call, from which those of the next differ little.
    private var previous = Base()
    /// The number of calls.
    package private(set) var count = 0
    /// Whether these are all calls since the cache was empty.
    package var isWhole = true

    private struct Base: Sendable, Equatable {
        var request = 0
        var time: Int64 = 0
    }

    /// Creates an empty list.
    ///
    /// - Parameter most: the most calls, at least 16.
    package init(most: Int = CacheCalls.most) { self.most = max(most, Self.chunkCount) }

    private var chunkLength: Int { most / Self.chunkCount }

    /// Adds a call; in place of the oldest ones, if there are too many.
    package mutating func append(_ call: Call) {
        if chunks.isEmpty || lastCount == chunkLength {
            if chunks.count == Self.chunkCount {
                chunks.removeFirst()
                count -= chunkLength
                isWhole = false
            }
            chunks.append([])
            (lastCount, previous) = (0, Base())
        }
        Self.write(call, after: &previous, to: &chunks[chunks.count - 1])
        lastCount += 1
        count += 1
    }

    /// Calls `body` with each call.
    package func forEach(_ body: (Call) -> Void) {
        for chunk in chunks {
            var (place, base) = (0, Base())
            while let call = Self.read(chunk, &place, after: &base) { body(call) }
        }
    }

    /// Returns the calls that `change` returns in place of these.
    package func mapped(_ change: (Call) -> Call?) -> CacheCalls {
        var result = CacheCalls(most: most)
        result.isWhole = isWhole
        forEach { if let call = change($0) { result.append(call) } }
        return result
    }

    /// Removes all calls.
    package mutating func removeAll() {
        self = CacheCalls(most: most)
        isWhole = false
    }

    /// Removes the accesses of a user.
    package mutating func remove(user: UInt32) {
        let before = count
        self = mapped { $0.access.user == user ? nil : $0 }
        if count < before { isWhole = false }
    }

    // MARK: - The state of a cache

    /// Brings an empty cache to the state of the one that received these calls, and then to some residents. What that
    /// takes is added to these calls.
    ///
    /// - Parameters:
    ///   - residents: the entries that are there, in the order of their last access.
    ///   - end: a number above those of all entries.
    ///   - model: the model that the policy of the cache has started with; `nil` for none.
    package mutating func replay(
        on cache: AnyCache, residents: [Resident], end: EntryID, model: [UInt8]? = nil
    ) {
        let kept = self
        self = CacheCalls(most: most)
        isWhole = kept.isWhole
        var victims: [EntryID] = []
        if !isWhole {
            // Residents without a call here were accessed before these calls.
            var (first, named): (Int64?, Set<EntryID>) = (nil, [])
            kept.forEach { call in
                named.insert(call.access.entry)
                if call.kind != .remove { first = first ?? call.access.time }
            }
            for one in residents where !named.contains(one.access.entry) && one.access.time <= first ?? .max {
                perform(Call(.store, one.access, deadline: one.deadline), on: cache, &victims)
            }
        }
        kept.forEach { perform($0, on: cache, &victims) }
        let wanted = Set(residents.map(\.access.entry))
        for entry in 0..<end where cache.contains(entry) && !wanted.contains(entry) {
            perform(.removal(of: entry), on: cache, &victims)
        }
        for one in residents {
            let entry = one.access.entry
            if cache.contains(entry), cache.lastSize(of: entry) == one.access.size,
                cache.deadline(of: entry) == one.deadline
            {
                continue
            }
            perform(Call(.store, one.access, deadline: one.deadline), on: cache, &victims)
        }
        cache.takeVictims(into: &victims)
        // It has learned from these calls already.
        if let model { cache.adopt(trainedModel: model) }
    }

    /// Performs a call and adds it.
    private mutating func perform(_ call: Call, on cache: AnyCache, _ victims: inout [EntryID]) {
        var (call, access) = (call, call.access)
        // The store of this entry was dropped.
        if call.kind == .hit, !isWhole, !cache.contains(access.entry) { call.kind = .store }
        append(call)
        victims.removeAll(keepingCapacity: true)
        switch call.kind {
        case .request: _ = cache.access(access)
        case .store: _ = cache.store(access, deadline: call.deadline, victims: &victims)
        case .hit:
            access.size = 0
            _ = cache.hit(access, deadline: call.deadline, victims: &victims)
        case .remove: cache.remove(access.entry)
        case .limit: cache.limit(capacity: access.size, count: call.count, at: now(access), victims: &victims)
        case .trim: cache.trim(to: access.size, count: call.count, at: now(access), victims: &victims)
        case .reconsider: cache.reconsider(access, isLikely: call.isLikely)
        }
    }

    /// The time of a call that is not about an entry.
    private func now(_ access: Access) -> Access {
        Access(entry: .none, requestNumber: access.requestNumber, time: access.time, size: 0)
    }

    // MARK: - Bytes

    /// The bytes held.
    package var byteCount: Int { chunks.reduce(0) { $0 + $1.count } }

    /// The calls as bytes.
    package var bytes: [UInt8] {
        var bytes: [UInt8] = [isWhole ? 1 : 0]
        for chunk in chunks {
            Self.write(UInt64(chunk.count), to: &bytes)
            bytes += chunk
        }
        return bytes
    }

    /// Reads calls from bytes; `nil` if these are no calls, or their numbers are too large.
    ///
    /// - Parameters:
    ///   - entries: the number of entry numbers.
    ///   - sets: the number of category sets.
    ///   - users: the number of users.
    package init?(
        _ bytes: [UInt8], most: Int = CacheCalls.most, entries: Int = .max, sets: Int = .max, users: Int = .max
    ) {
        self.init(most: most)
        guard let first = bytes.first, first < 2 else { return nil }
        var place = 1
        while place < bytes.count {
            guard let length = Self.read(bytes, &place), length <= bytes.count - place else { return nil }
            let chunk = Array(bytes[place..<place + Int(length)])
            place += Int(length)
            var (inside, base) = (0, Base())
            while inside < chunk.count {
                guard let call = Self.read(chunk, &inside, after: &base) else { return nil }
                let access = call.access
                guard access.entry < entries || access.entry == .none && [.limit, .trim].contains(call.kind),
                    access.categories < sets, access.user == .max || access.user < users, access.size >= 0,
                    call.count >= 0
                else { return nil }
                append(call)
            }
        }
        isWhole = isWhole && first == 1
    }

    /// Writes a call. Times and request numbers are written as differences.
    private static func write(_ call: Call, after base: inout Base, to bytes: inout [UInt8]) {
        let access = call.access
        let hasDeadline = call.deadline != .max
        bytes.append(
            call.kind.rawValue | (access.isPrefetch ? 8 : 0) | (call.isLikely ? 16 : 0) | (hasDeadline ? 32 : 0))
        write(UInt64(access.entry), to: &bytes)
        if call.kind == .remove { return }
        write(folded(Int64(access.requestNumber &- base.request)), to: &bytes)
        write(folded(access.time &- base.time), to: &bytes)
        write(UInt64(bitPattern: Int64(access.size)), to: &bytes)
        write(UInt64(access.categories), to: &bytes)
        write(UInt64(access.user &+ 1), to: &bytes)
        if hasDeadline { write(folded(call.deadline &- access.time), to: &bytes) }
        if call.kind == .limit || call.kind == .trim { write(UInt64(bitPattern: Int64(call.count)), to: &bytes) }
        base = Base(request: access.requestNumber, time: access.time)
    }

    /// Reads a call; `nil` at the end, and if there is none.
    private static func read(_ bytes: [UInt8], _ place: inout Int, after base: inout Base) -> Call? {
        guard place < bytes.count, bytes[place] < 64, let kind = Call.Kind(rawValue: bytes[place] & 7) else {
            return nil
        }
        let flags = bytes[place]
        place += 1
        guard let entry = read(bytes, &place), let entry = EntryID(exactly: entry) else { return nil }
        if kind == .remove { return .removal(of: entry) }
        guard let request = read(bytes, &place), let time = read(bytes, &place), let size = read(bytes, &place),
            let set = read(bytes, &place), let set = CategorySetID(exactly: set), let user = read(bytes, &place),
            let user = UInt32(exactly: user)
        else { return nil }
        base = Base(request: base.request &+ Int(unfolded(request)), time: base.time &+ unfolded(time))
        var call = Call(
            kind,
            Access(
                entry: entry, requestNumber: base.request, time: base.time, size: Int(Int64(bitPattern: size)),
                categories: set, user: user &- 1, isPrefetch: flags & 8 != 0), isLikely: flags & 16 != 0)
        if flags & 32 != 0 {
            guard let span = read(bytes, &place) else { return nil }
            call.deadline = base.time &+ unfolded(span)
        }
        if kind == .limit || kind == .trim {
            guard let count = read(bytes, &place) else { return nil }
            call.count = Int(Int64(bitPattern: count))
        }
        return call
    }

    /// Writes a number in groups of seven bits, the lowest first (LEB128).
    private static func write(_ number: UInt64, to bytes: inout [UInt8]) {
        var rest = number
        while rest >= 128 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 128)
            rest >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: rest))
    }

    private static func read(_ bytes: [UInt8], _ place: inout Int) -> UInt64? {
        var (number, shift): (UInt64, UInt64) = (0, 0)
        while place < bytes.count, shift < 64 {
            let byte = bytes[place]
            place += 1
            number |= UInt64(byte & 127) << shift
            if byte < 128 { return number }
            shift += 7
        }
        return nil
    }

    /// A number near 0, of either sign, as a small one without a sign.
    private static func folded(_ number: Int64) -> UInt64 { UInt64(bitPattern: number << 1 ^ number >> 63) }

    private static func unfolded(_ number: UInt64) -> Int64 {
        Int64(bitPattern: number >> 1) ^ -Int64(bitPattern: number & 1)
    }
}
