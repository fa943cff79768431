import CProcessor
import Foundation
import HalcyonEviction
import Synchronization

/// A lock that many may hold to read and one to write, and that costs readers on different processors nothing for each other.
///
/// A reader holds one *lane*, the one of the processor that it runs on, and a writer all of them; so readers write to different
/// cache lines, where the one word of a common lock would move from core to core with each of them (the "big-reader lock" of
/// Linux 2.4). Each lane has a buffer with it, in which its readers leave what the next writer is to do for them: hits that the
/// policy has not been told of, as in Caffeine's read buffers (Manes, 2015), but none is ever dropped.
///
/// There is one lane at first. When a reader finds another one in its lane the number doubles, up to that of the processors
/// (as the cells of Java's `LongAdder`), so that a cache which one thread uses pays for one.
///
/// It belongs beside a mutex that writers hold all the while: what is under "Writers" is theirs. A lane is held for some hundred
/// nanoseconds, or for as long as the policy takes where it is the only one, and nobody waits for a lane while holding another.
///
/// A lane does not donate priority. A thread that waits for one yields, then sleeps for 20 microseconds at a time (`halcyon_wait`), so
/// that a holder of a lower priority runs; readers who wait for a writer wait for its mutex, which donates where the system does.
struct HitLanes: ~Copyable {
    /// What a lane's word says.
    private enum Word {
        static let free: UInt32 = 0
        static let read: UInt32 = 1
        static let closed: UInt32 = 2
    }

    /// A lane: a word and a buffer side by side at the begin of cache lines of their own. They are two things, because one is
    /// looked at while somebody changes the other.
    struct Lane {
        fileprivate let address: UnsafeMutableRawPointer

        @inline(__always)
        fileprivate var word: UnsafeMutablePointer<Atomic<UInt32>> {
            address.assumingMemoryBound(to: Atomic<UInt32>.self)
        }

        @inline(__always)
        var buffer: UnsafeMutablePointer<HitBuffer> { (address + 16).assumingMemoryBound(to: HitBuffer.self) }

        /// Makes the word say this, where it says that the lane is free; whether it did.
        @inline(__always)
        fileprivate func turn(to new: UInt32) -> Bool {
            word.pointee.compareExchange(
                expected: Word.free, desired: new, successOrdering: .acquiring, failureOrdering: .relaxed
            ).exchanged
        }

        /// Closed, until there are as many lanes.
        fileprivate func initialize() {
            address.bindMemory(to: Atomic<UInt32>.self, capacity: 1).initialize(to: Atomic(Word.closed))
            (address + 16).bindMemory(to: HitBuffer.self, capacity: 1).initialize(to: HitBuffer())
        }

        fileprivate func deinitialize() {
            word.deinitialize(count: 1)
            buffer.deinitialize(count: 1)
        }
    }

    /// Two lines of 64 bytes, which processors fetch together, or one of 128.
    private static let stride = 128

    /// The most lanes.
    let most: Int
    private let memory: UnsafeMutableRawPointer

    /// - Parameter most: the most lanes; taken up to a power of two.
    init(most: Int = min(ProcessInfo.processInfo.activeProcessorCount, 32)) {
        precondition(16 + MemoryLayout<HitBuffer>.size <= HitLanes.stride)
        var power = 2
        while power < most { power *= 2 }
        self.most = power
        // The number of lanes has a line of its own before them: everybody reads it, and it hardly ever changes.
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

    /// Takes the lane of this processor, to be given back by ``leave(_:)`` at once; `nil` if it is not free.
    @inline(__always)
    func enter() -> Lane? {
        let count = number.pointee.load(ordering: .acquiring)
        let lane = lane(count == 1 ? 0 : Int(halcyon_processor()) & (count &- 1))
        return lane.turn(to: Word.read) ? lane : nil
    }

    /// Takes any lane, the next ones to this processor's first; `nil` if none is free, or they are closed.
    func enterAny() -> Lane? {
        let count = number.pointee.load(ordering: .acquiring)
        let own = Int(halcyon_processor())
        for step in 0..<count {
            let lane = lane((own + step) & (count - 1))
            // Looked at before it is taken, because taking it in vain would slow down who has it.
            if lane.word.pointee.load(ordering: .relaxed) == Word.free && lane.turn(to: Word.read) { return lane }
        }
        return nil
    }

    /// Whether who holds a lane holds the only one, and so reads and writes alone. It stays so as long as the lane is held.
    @inline(__always)
    var isOnly: Bool { number.pointee.load(ordering: .relaxed) == 1 }

    /// How many lanes there are, if there should be more of them: another reader has this processor's, and no writer.
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

    /// Waits for the readers and lets no other in. O(lanes) beside that.
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

    /// Lets readers in again.
    @inline(__always)
    func open() {
        for number in 0..<count { lane(number).word.pointee.store(Word.free, ordering: .releasing) }
    }

    /// Doubles the number of lanes, which are closed, unless somebody else has done so. The new ones are closed, too.
    func grow(from found: Int) {
        guard count == found, found < most else { return }
        for number in 0..<found * 2 { lane(number).buffer.pointee.prepare() }
        number.pointee.store(found * 2, ordering: .releasing)
    }

    /// How many hits wait in all lanes, which are closed.
    var waiting: Int { (0..<count).reduce(0) { $0 + lane($1).buffer.pointee.count } }

    /// Whether there is anything in any lane; they are closed.
    @inline(__always)
    var anyWaits: Bool {
        for number in 0..<count where !lane(number).buffer.pointee.isEmpty { return true }
        return false
    }

    /// Takes all hits that wait out of the lanes, which are closed, and returns how many look-ups found nothing.
    ///
    /// They come in the order in which they were served: those of one lane in that of the lane, of several by their stamps.
    /// O(hits × lanes).
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

/// What the readers of a lane leave to the next writer, in their order: hits, and how many look-ups found nothing.
///
/// O(1) each. Bytes: 56, and 4 KB once it is in use.
struct HitBuffer: ~Copyable {
    /// How many hits wait at most. Short enough that telling them takes some microseconds, in which nobody else reads, and long
    /// enough that this is seldom.
    static let capacity = 128

    private var hits: UnsafeMutablePointer<WaitingHit>?
    private var taken = 0
    private var end = 0
    private var misses = 0
    private var user: (name: String, number: UInt32)?

    deinit { hits?.deallocate() }

    /// Takes memory for the hits; without, it is full.
    mutating func prepare() {
        if hits == nil { hits = .allocate(capacity: HitBuffer.capacity) }
    }

    /// The number of hits.
    var count: Int { end - taken }
    @inline(__always)
    var isEmpty: Bool { end == 0 && misses == 0 }
    @inline(__always)
    var isFull: Bool { end == HitBuffer.capacity || hits == nil }

    /// Adds a hit to a buffer that is not full.
    @inline(__always)
    mutating func append(_ hit: WaitingHit) {
        hits?[end] = hit
        end &+= 1
    }

    /// Counts a look-up that found nothing.
    @inline(__always)
    mutating func miss() { misses &+= 1 }

    /// The number of a user, which of the one asked for last is known here: for that, nobody has to wait for a common lock.
    @inline(__always)
    mutating func number(of name: String, _ users: UserNumbers) -> UInt32 {
        if let user, user.name == name { return user.number }
        let number = users.number(of: name)
        user = (name, number)
        return number
    }

    /// The stamp of the first hit that was not taken; the largest number if there is none.
    @inline(__always)
    var firstStamp: UInt64 {
        guard taken < end, let hits else { return .max }
        return hits[taken].stamp
    }

    /// Takes that hit.
    @inline(__always)
    mutating func takeFirst(_ serve: (WaitingHit) -> Void) {
        guard taken < end, let hits else { return }
        taken &+= 1
        serve(hits[taken &- 1])
    }

    /// Forgets everything, when all hits were taken, and returns the number of look-ups that found nothing.
    mutating func empty() -> Int {
        defer { (taken, end, misses) = (0, 0, 0) }
        return misses
    }
}

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
