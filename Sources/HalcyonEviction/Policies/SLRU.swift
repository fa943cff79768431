/// SLRU (segmented LRU) has several LRU segments of equal size. New objects enter the lowest segment, and a hit moves
/// an entry one segment up. A segment above its share moves its least recently used entries one segment down; the
/// lowest segment evicts them.
///
/// With 4 segments this is the S4LRU of Huang et al. With 2 it is the SLRU of Karedla et al., apart from the sizes of
/// the segments. Neither paper states where a new object enters while upper segments have room. By default it enters
/// the lowest segment with room (`entry=first-with-room`), and the miss counts equal those of libCacheSim 0.3.5. With
/// `entry=lowest` every new object enters the lowest segment, which may use all the room of the others. That gives 0.9
/// % more misses on average over eight public traces, mostly on a loop. An entry larger than a segment is not
/// admitted.
///
/// A hit and an eviction are O(segments) a moved entry. Bytes an entry: 9, and 8 more for variable sizes.
public struct SLRU: ~Copyable, CataloguedPolicy {
    /// The segment that a new object enters.
    public enum Entrance: String, CaseIterable, Sendable {
        /// The lowest segment with room.
        case firstWithRoom = "first-with-room"
        /// Always the lowest segment.
        case lowest
    }

    /// The parameters of the policy.
    public struct Parameters: PolicyParameters {
        /// The number of segments.
        public var segments = 4
        /// The segment that a new object enters.
        public var entry = Entrance.firstWithRoom

        public init() {}

        public static let table = [
            Parameter<Parameters>.integer("segments", \.segments, in: 1...255, "number of segments, of equal size"),
            Parameter<Parameters>.choice(
                "entry", \.entry, "segment that a new object enters while upper segments have room"),
        ]
    }

    public static let info = PolicyInfo(
        name: "slru", summary: "LRU in segments; a hit moves an entry one segment up",
        source: "Karedla, Love, Wherry: Caching strategies to improve disk system performance, 1994; Huang et al.: An "
            + "analysis of Facebook photo caching, 2013",
        traits: .hasAdmission,
        admissionRule: "refuses an object larger than a segment (capacity / segments)")

    private var stack: ListFamily
    private let top: UInt8
    private let leastLimit: Int
    private var limit = 0
    private let entrance: Entrance
    /// Whether the lowest segment received more than it may hold.
    public private(set) var overflows = false
    public static let mayOverflow = true

    public init(_ parameters: Parameters, context: PolicyContext) {
        stack = ListFamily(count: parameters.segments, context: context)
        top = UInt8(parameters.segments - 1)
        leastLimit = context.usesUniformSizes ? 1 : 0
        entrance = parameters.entry
        resize(to: context.capacity)
    }

    public mutating func resize(to capacity: Int) { limit = max(capacity / (Int(top) + 1), leastLimit) }

    public mutating func hit(_ access: Access) {
        let segment = min(stack.list(of: access.entry) &+ 1, top)
        stack.moveToHead(access.entry, of: segment)
        coolDown(from: segment)
    }

    public mutating func admit(_ access: Access) -> Bool { access.size <= limit }

    public mutating func victim(for access: Access) -> EntryID {
        var lowest: UInt8 = 0
        while stack.isEmpty(lowest) { lowest &+= 1 }
        let victim = stack.popTail(ofList: lowest)
        overflows = overflows && stack.size(ofList: 0) > limit
        return victim
    }

    public mutating func insert(_ access: Access) {
        var segment: UInt8 = 0
        if entrance == .firstWithRoom {
            while segment < top && !hasRoom(segment, for: access) { segment &+= 1 }
            if !hasRoom(segment, for: access) { segment = 0 }
        }
        stack.pushHead(access.entry, size: access.size, to: segment)
    }

    public mutating func remove(_ entry: EntryID) { stack.remove(entry) }
    public var metadataBytes: MetadataBytes { stack.metadataBytes }

    @inline(__always)
    private func hasRoom(_ segment: UInt8, for access: Access) -> Bool {
        stack.size(ofList: segment) &+ access.size <= limit
    }

    /// Moves the least recently used entries of each segment above its share one segment down.
    @inline(__always)
    private mutating func coolDown(from highest: UInt8) {
        var segment = highest
        while segment > 0 && stack.size(ofList: segment) > limit {
            while stack.size(ofList: segment) > limit { stack.moveTail(ofList: segment, to: segment &- 1) }
            segment &-= 1
            if segment == 0 { overflows = stack.size(ofList: 0) > limit }
        }
    }
}
