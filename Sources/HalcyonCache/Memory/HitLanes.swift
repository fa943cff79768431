import CProcessor
import Foundation
import HalcyonEviction
import HalcyonSupport
import Synchronization

/// A reader-writer lock whose readers on different processors do not slow each other down.
///
/// A reader holds one *lane*, the lane of the processor that it runs on. A writer holds all lanes. Readers therefore
/// write to different cache lines, whereas the single word of a common lock would move between cores with each reader
/// (the "big-reader lock" of Linux 2.4). Each lane has a buffer for the work that its readers leave to the next
/// writer: hits that the policy has not received yet. This is the design of Caffeine's read buffers (Manes, 2015),
/// except that no hit is ever dropped.
///
/// There is one lane at first. When a reader finds another reader in its lane, the number of lanes doubles, up to the
/// number of processors (like the cells of Java's `LongAdder`). A cache that one thread uses therefore pays for one
/// lane only.
///
/// Every writer must hold a mutex beside the lock; the methods under "Writers" require it. A reader holds a lane for
/// some hundred nanoseconds, or for as long as the policy takes if there is one lane only. No thread waits for a lane
/// while it holds another.
///
/// A lane does not donate priority. A thread that waits for a lane yields, then sleeps for 20 microseconds at a time
/// (`halcyon_wait`), so that a holder of a lower priority runs. Readers that wait for a writer wait for its mutex,
/// which donates priority where the system does.
///
/// See `WaitingHitTests.fullLanesPassOnEveryHit()`.
struct HitLanes: ~Copyable {
    /// The states of a lane.
    private enum Word {
        static let free: UInt32 = 0
        static let read: UInt32 = 1
        static let closed: UInt32 = 2
    }

    /// A lane: its word and its buffer, at the start of cache lines of their own. They are accessed separately,
    /// because one thread may read the word while another changes the buffer.
    struct Lane {
        fileprivate let address: UnsafeMutableRawPointer

        @inline(__always)
        fileprivate var word: UnsafeMutablePointer<Atomic<UInt32>> {
            address.assumingMemoryBound(to: Atomic<UInt32>.self)
        }

        @inline(__always)
        var buffer: UnsafeMutablePointer<HitBuffer> { (address + 16).assumingMemoryBound(to: HitBuffer.self) }

        /// Changes the word of a free lane, and returns whether the lane was free.
        @inline(__always)
        fileprivate func turn(to new: UInt32) -> Bool {
            word.pointee.compareExchange(
                expected: Word.free, desired: new, successOrdering: .acquiring, failureOrdering: .relaxed
            ).exchanged
        }

        /// Initializes the lane as closed. It is opened once the number of lanes includes it.
        fileprivate func initialize() {
            address.bindMemory(to: Atomic<UInt32>.self, capacity: 1).initialize(to: Atomic(Word.closed))
            (address + 16).bindMemory(to: HitBuffer.self, capacity: 1).initialize(to: HitBuffer())
        }

        fileprivate func deinitialize() {
            word.deinitialize(count: 1)
            buffer.deinitialize(count: 1)
        }
    }

    /// Two cache lines of 64 bytes, which processors fetch together, or one of 128 bytes.
    private static let stride = 128

    /// The maximum number of lanes.
    let most: Int
    private let memory: UnsafeMutableRawPointer

    /// - Parameter most: the maximum number of lanes; rounded up to a power of two.
    init(most: Int = min(ProcessInfo.processInfo.activeProcessorCount, 32)) {
        precondition(16 + MemoryLayout<HitBuffer>.size <= HitLanes.stride)
        var power = 2
        while power < most { power *= 2 }
        self.most = power
        // The number of lanes has a cache line of its own before the lanes: all readers load it, and it rarely
        // changes.
        memory = .allocate(byteCount: HitLanes.stride * (power + 1), alignment: HitLanes.stride)
        memory.bindMemory(to: Atomic<Int>.self, capacity: 1).initialize(to: Atomic(1))
        for number in 0..<power { lane(number).initialize() }
        open()
    }

    deinit {
        for number in 0..<most { lane(number).deinitialize() }
        memory.deallocate()
    }

    @inline(__always)
    private var number: UnsafeMutablePointer<Atomic<Int>> { memory.assumingMemoryBound(to: Atomic<Int>.self) }

    @inline(__always)
    private func lane(_ number: Int) -> Lane { Lane(address: memory + HitLanes.stride &* (number &+ 1)) }

    // MARK: - Readers

    /// Takes the lane of this processor; `nil` if it is not free. The caller must give it back by ``leave(_:)`` soon.
    @inline(__always)
    func enter() -> Lane? {
        let count = number.pointee.load(ordering: .acquiring)
        let lane = lane(count == 1 ? 0 : Int(halcyon_processor()) & (count &- 1))
        return lane.turn(to: Word.read) ? lane : nil
    }

    /// Takes any free lane, beginning with this processor's; `nil` if none is free or the lanes are closed.
    func enterAny() -> Lane? {
        let count = number.pointee.load(ordering: .acquiring)
        let own = Int(halcyon_processor())
        for step in 0..<count {
            let lane = lane((own + step) & (count - 1))
            // Load before the exchange: an exchange that fails would slow down the holder of the lane.
            if lane.word.pointee.load(ordering: .relaxed) == Word.free && lane.turn(to: Word.read) { return lane }
        }
        return nil
    }

    /// Whether there is one lane only, so that its holder reads and writes alone. The answer holds as long as the
    /// caller holds a lane.
    @inline(__always)
    var isOnly: Bool { number.pointee.load(ordering: .relaxed) == 1 }

    /// The number of lanes if there should be more, because another reader holds this processor's lane; `nil`
    /// otherwise, and if a writer holds it.
    var crowded: Int? {
        let count = number.pointee.load(ordering: .acquiring)
        if count == most { return nil }
        return lane(Int(halcyon_processor()) & (count - 1)).word.pointee.load(ordering: .relaxed) == Word.read
            ? count : nil
    }

    /// Gives a lane back.
    @inline(__always)
    func leave(_ lane: Lane) { lane.word.pointee.store(Word.free, ordering: .releasing) }

    // MARK: - Writers, under their mutex

    /// The number of lanes.
    var count: Int { number.pointee.load(ordering: .relaxed) }

    /// Waits for the readers and closes all lanes. O(lanes) plus the wait.
    @inline(__always)
    func close() {
        for number in 0..<count {
            let lane = lane(number)
            var tries: UInt32 = 0
            while !lane.turn(to: Word.closed) {
                halcyon_wait(tries)
                tries &+= 1
            }
        }
    }

    /// Opens all lanes.
    @inline(__always)
    func open() {
        for number in 0..<count { lane(number).word.pointee.store(Word.free, ordering: .releasing) }
    }

    /// Doubles the number of lanes, unless another thread has already. The lanes must be closed; the new lanes are
    /// closed, too.
    func grow(from found: Int) {
        guard count == found, found < most else { return }
        for number in 0..<found * 2 { lane(number).buffer.pointee.prepare() }
        number.pointee.store(found * 2, ordering: .releasing)
    }

    /// The number of waiting hits in all lanes. The lanes must be closed.
    var waiting: Int { (0..<count).reduce(0) { $0 + lane($1).buffer.pointee.count } }

    /// Whether any buffer has content. The lanes must be closed.
    @inline(__always)
    var anyWaits: Bool {
        for number in 0..<count where !lane(number).buffer.pointee.isEmpty { return true }
        return false
    }

    /// Forgets the number of a user in all lanes. The lanes must be closed.
    func forget(user: String) {
        for number in 0..<count { lane(number).buffer.pointee.forget(user: user) }
    }

    /// Whether a lane has the name of a user. The lanes must be closed.
    func knows(user: String) -> Bool { (0..<count).contains { lane($0).buffer.pointee.user?.name == ByteName(user) } }

    /// Removes all waiting hits from the lanes, and returns the number of misses in them. The lanes must be closed.
    ///
    /// Hits are passed to `serve` in the order in which they were served: the order of the buffer within a lane, and
    /// the order of the stamps between lanes. O(hits × lanes).
    @inline(__always)
    func takeAll(_ serve: (WaitingHit) -> Void) -> Int {
        let count = count
        while true {
            var (earliest, least) = (0, UInt64.max)
            for number in 0..<count {
                let stamp = lane(number).buffer.pointee.firstStamp
                if stamp < least { (earliest, least) = (number, stamp) }
            }
            if least == .max { break }
            lane(earliest).buffer.pointee.takeFirst(serve)
        }
        return (0..<count).reduce(0) { $0 + lane($1).buffer.pointee.empty() }
    }
}

/// The hits, in order, and the number of misses that the readers of a lane leave to the next writer.
///
/// Every operation is O(1). Memory: 56 bytes, and 4 KB more once it is in use.
struct HitBuffer: ~Copyable {
    /// The maximum number of waiting hits. Passing so many to the policy takes some microseconds, during which no
    /// reader runs; a smaller buffer would interrupt readers more often.
    static let capacity = 128

    private var hits: UnsafeMutablePointer<WaitingHit>?
    private var taken = 0
    private var end = 0
    private var misses = 0
    fileprivate private(set) var user: (name: ByteName, number: UInt32)?

    deinit { hits?.deallocate() }

    /// Allocates memory for the hits. Without it, the buffer counts as full.
    mutating func prepare() {
        if hits == nil { hits = .allocate(capacity: HitBuffer.capacity) }
    }

    /// The number of hits.
    var count: Int { end - taken }
    @inline(__always)
    var isEmpty: Bool { end == 0 && misses == 0 }
    @inline(__always)
    var isFull: Bool { end == HitBuffer.capacity || hits == nil }

    /// Appends a hit. The buffer must not be full.
    @inline(__always)
    mutating func append(_ hit: WaitingHit) {
        hits?[end] = hit
        end &+= 1
    }

    /// Counts a miss.
    @inline(__always)
    mutating func miss() { misses &+= 1 }

    /// Returns the number of a user. The last user's number is cached here, so that repeated requests of one user do
    /// not take the common lock of `users`.
    @inline(__always)
    mutating func number(of name: String, _ users: UserNumbers) -> UInt32 {
        if let user, user.name == name { return user.number }
        let number = users.number(of: name)
        user = (ByteName(name), number)
        return number
    }

    /// Forgets the number of a user. Hits that wait keep it.
    mutating func forget(user name: String) { if user?.name == ByteName(name) { user = nil } }

    /// The stamp of the first hit that was not taken; `UInt64.max` if there is none.
    @inline(__always)
    var firstStamp: UInt64 {
        guard taken < end, let hits else { return .max }
        return hits[taken].stamp
    }

    /// Removes the first hit and passes it to `serve`.
    @inline(__always)
    mutating func takeFirst(_ serve: (WaitingHit) -> Void) {
        guard taken < end, let hits else { return }
        taken &+= 1
        serve(hits[taken &- 1])
    }

    /// Empties the buffer, whose hits must all be taken, and returns the number of misses.
    mutating func empty() -> Int {
        defer { (taken, end, misses) = (0, 0, 0) }
        return misses
    }
}

/// A hit that was served to the caller but that the policy has not received yet. 32 bytes.
struct WaitingHit: BitwiseCopyable {
    /// The time of the hit in microseconds since 1970.
    let time: Int64
    /// The order of hits in different lanes; see `halcyon_stamp`.
    let stamp: UInt64
    let entry: EntryID
    /// The categories that the caller named; ``notNamed`` keeps the entry's categories.
    let set: CategorySetID
    /// The number of the user; by default `UInt32.max`, no user.
    var user = UInt32.max
    /// Whether the hit restarts the entry's time to live.
    let extends: Bool
    /// Whether the request comes from an ``ImageCache``.
    let isTiered: Bool

    static let notNamed = CategorySetID.max
}
