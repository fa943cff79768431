import CProcessor
import HalcyonEviction

/// A hit that was served and that the policy has not been told of: 40 bytes.
struct WaitingHit: BitwiseCopyable {
    /// When it was, in microseconds since 1970.
    let time: Int64
    /// The order in which hits were served that wait in different places; see `halcyon_stamp`.
    let stamp: UInt64
    /// How many requests came before it, as the caller says; -1: the ledger counts.
    let requestNumber: Int
    let entry: EntryID
    /// The categories that the caller named; ``notNamed``: as they were.
    let set: CategorySetID
    /// Nobody, until the caller says otherwise.
    var user = UInt32.max
    /// Whether the time for which it was stored starts anew.
    let extends: Bool
    let isPrefetch: Bool

    static let notNamed = CategorySetID.max
}

extension Ledger {
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
    func find(_ key: HashedKey, at time: Int64, extending: ExpirationExtending, context: AccessContext) -> Found {
        let extends: Bool
        switch extending {
        case .none: extends = false
        case .cacheTime: extends = true
        case .expirationTime: return .unknown
        }
        let entry = keys.number(of: key)
        if entry == .none { return context.categories.isEmpty ? .nothing : .unknown }
        let note = notes[entry]
        // Among the parts while this lasts; see `serve(_:_:deadline:)`.
        unowned(unsafe) let index = partitions[Int(note.partition)].index
        let deadline = extends ? note.renewal.deadline(from: time) : nil
        switch index.standing(of: entry, at: time, deadline: deadline) {
        case .deferrable: break
        case .absent:
            // A policy may remember the key, whose look-up counts as a moment then.
            let saysNothing = context.categories.isEmpty && context.requestNumber == nil && context.user == nil
            return saysNothing ? .nothing : .unknown
        case .immediate: return .unknown
        }
        var set = WaitingHit.notNamed
        if !context.categories.isEmpty {
            guard let known = categories.knownSet(of: context.categories) else { return .unknown }
            set = known
        }
        return .hit(
            WaitingHit(
                time: time, stamp: halcyon_stamp(), requestNumber: context.requestNumber ?? -1, entry: entry, set: set,
                extends: extends, isPrefetch: context.isPrefetch))
    }

    /// Tells the policy of a hit that waited, and counts it.
    @inline(__always)
    mutating func serve(_ hit: WaitingHit) {
        if hit.requestNumber >= 0 { count(hit.requestNumber) }
        if hit.set != WaitingHit.notNamed { reclassify(hit.entry, as: hit.set) }
        let note = notes[hit.entry]
        let access = Access(
            entry: hit.entry, requestNumber: requests, time: hit.time, size: 0, categories: note.set, user: hit.user,
            isPrefetch: hit.isPrefetch)
        let deadline = hit.extends ? note.renewal.deadline(from: hit.time) : nil
        // Only where a policy evicts for a hit and has said that it never does is the entry gone; the hit was one all the same.
        if !serve(access, note, deadline: deadline) { tallies.hit(note.set) }
    }

    /// Serves a load: the number of the key, or `nil` on a miss. One that has expired leaves.
    mutating func load(_ key: HashedKey, at time: Int64, extending: ExpirationExtending, context: AccessContext)
        -> EntryID?
    {
        let entry = keys.number(of: key)
        guard entry != .none else {
            miss(context)
            return nil
        }
        if !context.categories.isEmpty, index(of: entry).contains(entry, freshAt: time) {
            let set = set(of: context.categories)
            reclassify(entry, as: set)
        }
        let note = notes[entry]
        count(context.requestNumber)
        let access = Access(
            entry: entry, requestNumber: requests, time: time, size: 0, categories: note.set,
            user: users.number(of: context.user), isPrefetch: context.isPrefetch)
        guard serve(access, note, deadline: extending.deadline(from: time, renewal: note.renewal)) else {
            if index(of: entry).contains(entry) { depart(entry, .expired) }
            miss(context)
            return nil
        }
        return entry
    }

    /// Serves a load of what is known to be absent.
    mutating func miss(_ context: AccessContext) { tallies.missed(named: context.categories, in: &categories) }

    /// Counts so many loads of what is absent, for which no categories were named.
    mutating func missed(_ count: Int) { tallies.missed(count) }

    @inline(__always)
    private mutating func serve(_ access: Access, _ note: Note, deadline: Int64?) -> Bool {
        // Among the parts while this lasts, which keeps it; retaining it for each hit would cost a tenth of the hit.
        unowned(unsafe) let index = partitions[Int(note.partition)].index
        guard index.hit(access, deadline: deadline, victims: &victims) else { return false }
        requests &+= 1
        tallies.hit(note.set)
        if !victims.isEmpty { settle() }
        return true
    }
}
