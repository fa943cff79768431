/// Segmented LRU: a stack of equal LRU segments; a newcomer enters at the bottom, a hit lifts an entry one segment up, and
/// a segment that outgrows its share hands its oldest entries down, the lowest one out.
///
/// With 4 segments this is the S4LRU of Huang et al., with 2 the SLRU of Karedla et al. but for the size of the parts.
/// Neither says where a newcomer goes while upper segments are not full yet. By default it enters the lowest segment
/// with room (`entry=first-with-room`), which gives the counts of libCacheSim 0.3.5 exactly; `entry=lowest` puts every
/// newcomer at the bottom, which may use all the room that the others leave (0.9 % more misses on average over eight public
/// traces, most of it on a loop). An entry larger than a segment is refused.
/// A hit and an eviction are O(segments) a moved entry. Bytes an entry: 9, and 8 more where sizes vary.
public struct SLRU: ~Copyable, CataloguedPolicy {
    /// Where a newcomer enters.
    public enum Entrance: String, CaseIterable, Sendable {
        /// In the lowest segment that has room.
        case firstWithRoom = "first-with-room"
        /// At the bottom in any case.
        case lowest
    }

    /// What can be set.
    public struct Parameters: PolicyParameters {
        /// The number of segments.
        public var segments = 4
        /// Where a newcomer enters.
        public var entry = Entrance.firstWithRoom

        public init() {}

        public static let table = [
            Parameter<Parameters>.integer("segments", \.segments, in: 1...255, "number of segments, of equal size"),
            Parameter<Parameters>.choice("entry", \.entry, "where a newcomer enters while upper segments have room"),
        ]
    }

    public static let info = PolicyInfo(
        name: "slru", summary: "LRU in segments that hits climb",
        source: "Karedla, Love, Wherry: Caching strategies to improve disk system performance, 1994; Huang et al.: An "
            + "analysis of Facebook photo caching, 2013",
        traits: .hasAdmission)

    private var stack: ListFamily
    private let top: UInt8
    private let leastLimit: Int
    private var limit = 0
    private let entrance: Entrance
    /// Whether the bottom was handed more than it may hold.
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

    /// Hands the oldest entries down, from each segment that holds too much to the one below it.
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
