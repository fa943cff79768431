/// The state machine of a bounded cache: who is resident, at what cost, until when; who is admitted; who is evicted.
///
/// There is one of these in every storage and one in the replayer, so that what is measured is what ships. All verbs are
/// O(1) beside what the policy takes. Bytes an entry beside the policy's own: 8 where costs differ, otherwise 1; 8 more
/// where entries expire.
///
/// `used` never exceeds `capacity`.
public struct BoundedIndex<Policy: EvictionPolicy & ~Copyable>: ~Copyable {
    /// Who stays.
    public var policy: Policy
    /// What may be used, in the unit of ``Access/cost``.
    public let capacity: Int
    /// What is used.
    public private(set) var used = 0
    /// The number of resident entries.
    public private(set) var count = 0
    /// How many entries were evicted to make room.
    public private(set) var evictions = 0
    /// How many residents were found expired or of another size.
    public private(set) var expirations = 0

    private let behaviour: CacheBehaviour
    private let roomLimit: Int
    private let everyCostIsOne: Bool
    private var resident: SlotArray<Bool>
    private var costs: SlotArray<Int>
    private var deadlines: SlotArray<Int64>

    /// An empty cache.
    ///
    /// - Parameters:
    ///   - capacity: what may be used; nothing is ever kept in a cache of 0 or less.
    ///   - everyCostIsOne: whether every access will cost 1, which saves 8 bytes an entry.
    ///   - entries: how many entries to make room for from the start.
    ///   - lifetime: how long an entry lives in microseconds, hits starting that anew; `nil` leaves it to the policy.
    public init(
        policy: consuming Policy, capacity: Int, everyCostIsOne: Bool = false, entries: Int = 0,
        lifetime: Int64? = nil
    ) {
        var behaviour = policy.behaviour
        if let lifetime {
            behaviour.lifetime = lifetime
            behaviour.hitsExtendLifetime = true
        }
        self.behaviour = behaviour
        self.policy = policy
        self.capacity = max(capacity, 0)
        self.everyCostIsOne = everyCostIsOne
        roomLimit = Int((Double(max(capacity, 0)) * behaviour.lowWaterMark).rounded(.down))
        resident = SlotArray(repeating: false, capacity: entries)
        costs = SlotArray(repeating: 0, capacity: everyCostIsOne ? 0 : entries)
        deadlines = SlotArray(repeating: .max, capacity: behaviour.lifetime == nil ? 0 : entries)
    }

    /// The heap bytes of bookkeeping, the policy's included.
    public var metadataBytes: Int {
        policy.metadataBytes + resident.byteCount + costs.byteCount + deadlines.byteCount
    }

    /// Whether an entry is resident (it may have expired).
    @inline(__always)
    public func contains(_ entry: EntryID) -> Bool { resident[entry] }

    /// What a resident entry costs; 0 for one that is not resident.
    public func cost(of entry: EntryID) -> Int {
        guard resident[entry] else { return 0 }
        return everyCostIsOne ? 1 : costs[entry]
    }

    /// Serves one access: a hit, or a miss that brings the entry in and evicts whoever must go.
    @inline(__always)
    public mutating func access(_ access: Access) -> AccessOutcome {
        if resident[access.entry] {
            if isFresh(access) {
                if behaviour.hitsExtendLifetime, let lifetime = behaviour.lifetime {
                    deadlines[access.entry] = access.time &+ lifetime
                }
                policy.hit(access)
                while policy.overflows && count > 0 { evict(policy.victim(for: access)) }
                return .hit
            }
            remove(access.entry)
            expirations &+= 1
            return bringIn(access) ? .stale : .refused
        }
        return bringIn(access) ? .miss : .refused
    }

    /// Takes an entry out, if it is resident, without counting an eviction.
    public mutating func remove(_ entry: EntryID) {
        guard resident[entry] else { return }
        policy.remove(entry)
        release(entry)
    }

    @inline(__always)
    private func isFresh(_ access: Access) -> Bool {
        if !everyCostIsOne && costs[access.entry] != access.cost { return false }
        return behaviour.lifetime == nil || access.time < deadlines[access.entry]
    }

    @inline(__always)
    private mutating func bringIn(_ access: Access) -> Bool {
        guard policy.admit(access), access.cost <= capacity, access.cost >= 0 else { return false }
        if used &+ access.cost > capacity || policy.overflows {
            guard makeRoom(for: access) else { return false }
        }
        resident[access.entry] = true
        if !everyCostIsOne { costs[access.entry] = access.cost }
        if let lifetime = behaviour.lifetime { deadlines[access.entry] = access.time &+ lifetime }
        used &+= access.cost
        count &+= 1
        policy.insert(access)
        return true
    }

    @inline(__always)
    private mutating func makeRoom(for access: Access) -> Bool {
        let limit = used &+ access.cost > capacity ? max(roomLimit, access.cost) : capacity
        while (used &+ access.cost > limit || policy.overflows) && count > 0 {
            let victim = policy.victim(for: access)
            if victim == access.entry { return false }
            evict(victim)
        }
        return true
    }

    @inline(__always)
    private mutating func evict(_ victim: EntryID) {
        precondition(resident[victim], "the policy evicted an entry that is not resident")
        release(victim)
        evictions &+= 1
    }

    @inline(__always)
    private mutating func release(_ entry: EntryID) {
        used &-= everyCostIsOne ? 1 : costs[entry]
        resident[entry] = false
        count &-= 1
    }
}
