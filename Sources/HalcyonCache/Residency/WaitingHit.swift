import CProcessor
import HalcyonEviction

/// A hit that was served and that the policy has not been told of: 32 bytes.
struct WaitingHit: BitwiseCopyable {
    /// When it was, in microseconds since 1970.
    let time: Int64
    /// The order in which hits were served that wait in different places; see `halcyon_stamp`.
    let stamp: UInt64
    let entry: EntryID
    /// The categories that the caller named; ``notNamed``: as they were.
    let set: CategorySetID
    /// Nobody, until the caller says otherwise.
    var user = UInt32.max
    /// Whether the time for which it was stored starts anew.
    let extends: Bool
    /// Whether an ``ImageCache`` asked.
    let isTiered: Bool

    static let notNamed = CategorySetID.max
}

extension EntryIndex {
    /// What a load finds that changes nothing but what hits change.
    enum Found {
        /// The number of the key, and the hit, of which ``serve(_:)`` must be told before anything else is asked or changed but
        /// such hits.
        case hit(WaitingHit)
        /// Nothing is held under the key; ``missed(_:)`` counts it.
        case nothing
        /// Only ``load(_:at:extending:context:)`` can serve it.
        case unknown
    }

    /// Looks a key up without changing anything, and also while others do the same.
    ///
    /// What it says holds, although the hits that wait have not been told: they cannot make any entry leave or expire sooner.
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
        if note.isPrefetched { return .unknown }
        let deadline = extends ? note.renewal.deadline(from: time) : nil
        switch partitions[note.partition].hits.standing(of: entry, at: time, deadline: deadline) {
        case .deferrable: break
        case .absent:
            // A policy may remember the key, whose look-up counts as a moment then.
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

    /// Tells the policy of a hit that waited, and counts it.
    @inline(__always)
    mutating func serve(_ hit: WaitingHit) {
        let isNamed = hit.set != WaitingHit.notNamed
        if isNamed { reclassify(hit.entry, as: hit.set) }
        let note = notes[hit.entry]
        if hit.isTiered { counters.tierHit(isNamed ? hit.set : 0) }
        let access = Access(
            entry: hit.entry, requestNumber: requests, time: hit.time, size: 0, categories: note.set, user: hit.user)
        let deadline = hit.extends ? note.renewal.deadline(from: hit.time) : nil
        // Only where a policy evicts for a hit and has said that it never does is the entry gone; the hit was one all the same.
        if !serve(access, note, deadline: deadline) { counters.hit(note.set) }
    }

    /// Serves a load: the number of the key, or `nil` on a miss. One that has expired leaves.
    mutating func load(_ key: HashedKey, at time: Int64, extending: ExpirationExtending, context: AccessContext)
        -> EntryID?
    {
        count(context.requestNumber)
        return load(
            key, at: time, extending: extending, categories: context.categories, user: context.user,
            isPrefetch: context.isPrefetch)
    }

    /// The same for a request that the entries counts.
    ///
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

    /// Serves a load of what is known to be absent.
    mutating func miss(_ context: AccessContext) { miss(context.categories) }

    private mutating func miss(_ names: [String]) { counters.missed(named: names, in: &categories) }

    /// Counts so many loads of what is absent, for which no categories were named.
    mutating func missed(_ count: Int) { counters.missed(count) }

    @inline(__always)
    private mutating func serve(_ access: Access, _ note: Note, deadline: Int64?) -> Bool {
        guard partitions[note.partition].hits.hit(access, deadline: deadline, victims: &victims) else { return false }
        requests &+= 1
        counters.hit(note.set)
        if !victims.isEmpty { settle() }
        return true
    }
}
