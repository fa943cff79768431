import CProcessor
import HalcyonEviction

extension EntryIndex {
    /// The result of a look-up that changes only what hits change.
    enum Found {
        /// The hit. It must be passed to ``serve(_:)`` before any other operation except further hits.
        case hit(WaitingHit)
        /// A miss; ``missed(_:)`` counts it.
        case nothing
        /// The look-up needs ``load(_:at:extending:context:)``.
        case unknown
    }

    /// Looks a key up without changing anything. Several threads may do so at once.
    ///
    /// The result is valid although the policy has not received the waiting hits, because these cannot evict an entry
    /// or shorten its expiration.
    @inline(__always)
    func find(
        _ key: HashedKey, at time: Int64, extending: ExpirationExtending, categories names: [String], hasUser: Bool,
        kind: LookUpKind
    ) -> Found {
        let extends: Bool
        switch extending {
        case .none: extends = false
        case .cacheTime: extends = true
        case .expirationTime: return .unknown
        }
        let entry = keys.number(of: key)
        if entry == .none { return names.isEmpty || kind == .probe ? .nothing : .unknown }
        let note = notes[entry]
        if note.mayHaveMark { return .unknown }
        let deadline = extends ? note.renewal.deadline(from: time) : nil
        switch partitions[note.partition].hits.standing(of: entry, at: time, deadline: deadline) {
        case .deferrable: break
        case .absent:
            // A policy may remember the key, and then the time of this look-up matters.
            return names.isEmpty && !hasUser ? .nothing : .unknown
        case .immediate: return .unknown
        }
        var set = WaitingHit.notNamed
        if !names.isEmpty {
            if categories.isSet(note.set, of: names) {
                set = note.set
            } else {
                guard let known = categories.knownSet(of: names) else { return .unknown }
                set = known
            }
        }
        return .hit(
            WaitingHit(
                time: time, stamp: halcyon_stamp(), entry: entry, set: set, extends: extends,
                isTiered: kind.isTiered))
    }

    /// Passes a waiting hit to the policy and counts it.
    @inline(__always)
    mutating func serve(_ hit: WaitingHit) {
        let isNamed = hit.set != WaitingHit.notNamed
        if isNamed { reclassify(hit.entry, as: hit.set) }
        let note = notes[hit.entry]
        if hit.isTiered { counters.tierHit(isNamed ? hit.set : 0) }
        let access = Access(
            entry: hit.entry, requestNumber: requests, time: hit.time, size: 0, categories: note.set, user: hit.user)
        let deadline = hit.extends ? note.renewal.deadline(from: hit.time) : nil
        // The entry is absent only if a policy evicts on a hit, contrary to its declaration. It was a hit all the
        // same.
        if !serve(access, note, deadline: deadline) { counters.hit(note.set) }
    }

    /// Serves a load: returns the key's number, or `nil` on a miss. An expired entry is removed.
    mutating func load(_ key: HashedKey, at time: Int64, extending: ExpirationExtending, context: AccessContext)
        -> EntryID?
    {
        count(context.requestNumber)
        return load(
            key, at: time, extending: extending, categories: context.categories, user: context.user,
            isPrefetch: context.isPrefetch)
    }

    /// Serves a load that the index numbers itself.
    @inline(__always)
    mutating func load(
        _ key: HashedKey, at time: Int64, extending: ExpirationExtending, categories names: [String], user: String?,
        isPrefetch: Bool = false, kind: LookUpKind = .storage
    ) -> EntryID? {
        let entry = keys.number(of: key)
        guard entry != .none else {
            if kind != .probe { miss(names) }
            return nil
        }
        if !names.isEmpty, !categories.isSet(notes[entry].set, of: names),
            !categories.isFull || categories.knownSet(of: names) != nil,
            partitions[notes[entry].partition].hits.contains(entry, freshAt: time)
        {
            let set = set(of: names)
            reclassify(entry, as: set)
        }
        let note = notes[entry]
        let access = Access(
            entry: entry, requestNumber: requests, time: time, size: 0, categories: note.set, user: number(of: user),
            isPrefetch: isPrefetch)
        guard serve(access, note, deadline: extending.deadline(from: time, renewal: note.renewal)) else {
            if cache(of: entry).contains(entry) { remove(entry, reason: .expired) }
            if kind != .probe { miss(names) }
            return nil
        }
        if kind.isTiered { counters.tierHit(names.isEmpty ? 0 : note.set) }
        return entry
    }

    /// Passes a request to the policy whose load has joined that of an entry. Without it, a prefetched entry would stay unused for the
    /// policy. It has no effect if the key is not resident.
    ///
    /// - Returns: whether the policy received it.
    mutating func joined(_ key: String, _ context: AccessContext, at time: Int64) -> Bool {
        guard let entry = resident(key) else { return false }
        let access = Access(
            entry: entry, requestNumber: requests, time: time, size: 0, categories: notes[entry].set,
            user: number(of: context.user))
        return serve(access, notes[entry], deadline: nil)
    }

    /// Counts a miss of a look-up that named these categories.
    mutating func miss(_ names: [String]) { counters.missed(named: names, in: &categories) }

    /// Counts misses for which no categories were named.
    mutating func missed(_ count: Int) { counters.missed(count) }

    /// Adds a hit to ``calls``, with what the entry has.
    @inline(never)
    private mutating func note(hit access: Access) {
        let cache = partitions[0].cache
        var access = access
        access.size = cache.lastSize(of: access.entry)
        calls?.append(CacheCalls.Call(.hit, access, deadline: cache.deadline(of: access.entry)))
    }

    @inline(__always)
    private mutating func serve(_ access: Access, _ note: Note, deadline: Int64?) -> Bool {
        guard partitions[note.partition].hits.hit(access, deadline: deadline, victims: &victims) else { return false }
        if calls != nil, note.partition == 0 { self.note(hit: access) }
        requests &+= 1
        counters.hit(note.set)
        if !victims.isEmpty { settle() }
        return true
    }
}
