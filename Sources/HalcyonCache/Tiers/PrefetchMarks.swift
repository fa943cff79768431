import HalcyonSupport
import Synchronization

/// The numbers of prefetches and of their uses.
public struct PrefetchCounts: Sendable, Equatable {
    /// The values that were prefetched: stored, or promoted to memory, before any request for them.
    public var prefetched = 0
    /// The prefetched values that were requested, and were in the cache then.
    public var used = 0
    /// The prefetched values that were evicted, expired, cleared or not admitted, from all tiers that had them, before
    /// any request.
    public var wasted = 0

    /// Creates counts, by default 0.
    public init(prefetched: Int = 0, used: Int = 0, wasted: Int = 0) {
        self.prefetched = prefetched
        self.used = used
        self.wasted = wasted
    }

    /// The ratio of used to used and wasted values; `nil` if there are none.
    public var precision: Double? { used + wasted == 0 ? nil : Double(used) / Double(used + wasted) }
}

/// The keys that were prefetched and not requested since, and the tiers that have them: the one place where a cache
/// keeps this fact, and where its prefetches are counted. All operations are O(length of the key).
///
/// A hit on disk always asks here. A hit in memory takes no lock, so it asks only if its entry has the bit
/// `EntryIndex.Note.mayHaveMark`: a store or promotion of a prefetched value sets it, and so does a prefetch that only
/// the disk got while memory has a value of the key. The bit is a hint. A mark decides, also if it was taken meanwhile.
///
/// Two other sets are different facts:
///
/// - A tier's core lists the residents that its *policy* does not know, in their order of eviction
///   (`PrefetchedEntries`). A value that replaces a requested one has a mark and is not listed. An entry that the
///   policy refuses at its first request is listed and has no mark. A key has one mark and an entry in each tier.
/// - A prefetcher lists the unused objects of its *plans*, by user and in the order in which it reconsiders them
///   (`UnusedPrefetches`). It does not know prefetches of others, such as those of an `ImagePrefetcher`.
///
/// See `PrefetchMarksTests`.
package final class PrefetchMarks: Sendable {
    private struct Mark {
        var isInMemory: Bool
        /// The name of the file, by which the disk reports its removal; `nil` if the disk does not have the value.
        var fileName: String?
    }

    private struct State {
        var marks: [ByteName: Mark] = [:]
        var keys: [ByteName: String] = [:]
        var counts = PrefetchCounts()

        mutating func take(_ key: String) -> Mark? {
            guard let mark = marks.removeValue(forKey: key) else { return nil }
            if let name = mark.fileName { keys[name] = nil }
            return mark
        }

        /// Notes that a tier does not have the value of a key.
        ///
        /// - Parameter isWaste: whether an unused value that no tier has counts as wasted.
        mutating func leave(_ key: String, _ tier: CacheType, isWaste: Bool) {
            guard var mark = take(key) else { return }
            if tier == .memory { mark.isInMemory = false } else { mark.fileName = nil }
            if mark.isInMemory || mark.fileName != nil {
                marks[key] = mark
                if let name = mark.fileName { keys[name] = key }
            } else if isWaste {
                counts.wasted += 1
            }
        }
    }

    /// The maximum number of marks. When it is reached, each new mark replaces another one, whose next hit counts as
    /// an ordinary hit.
    static let bound = 1 << 16

    private let state = Mutex(State())
    private let hasMarks = Atomic<Bool>(false)

    package init() {}

    /// Whether there are marks.
    var hasAny: Bool { hasMarks.load(ordering: .relaxed) }

    /// The counts since the cache was created.
    package var counts: PrefetchCounts { state.withLock { $0.counts } }

    /// Marks a key as prefetched.
    ///
    /// - Parameters:
    ///   - inMemory: whether the value is stored in memory.
    ///   - fileName: the name of the file if the value is stored on disk.
    package func mark(_ key: String, inMemory: Bool, fileName: String?) {
        state.withLock { state in
            if let known = state.take(key) {
                state.marks[key] = Mark(
                    isInMemory: known.isInMemory || inMemory, fileName: fileName ?? known.fileName)
            } else {
                if state.marks.count >= Self.bound, let other = state.marks.first { _ = state.take(other.key.text) }
                state.marks[key] = Mark(isInMemory: inMemory, fileName: fileName)
                state.counts.prefetched += 1
            }
            if let name = state.marks[key]?.fileName { state.keys[name] = key }
            hasMarks.store(true, ordering: .relaxed)
        }
    }

    /// Removes the mark of a key that is stored or removed by a request.
    package func take(_ key: String) { change { _ = $0.take(key) } }

    /// Removes the mark of a key that is requested and found, counts the use, and returns whether there was a mark.
    package func use(_ key: String) -> Bool {
        change { state in
            guard state.take(key) != nil else { return false }
            state.counts.used += 1
            return true
        } ?? false
    }

    /// Notes that a tier did not admit a prefetched value.
    package func refused(_ key: String, by tier: CacheType) { change { $0.leave(key, tier, isWaste: true) } }

    /// Notes removals from a tier.
    package func removed(_ tier: CacheType, _ removals: [Removal]) {
        change { state in
            for removal in removals {
                guard let key = tier == .memory ? removal.key : state.keys[removal.key] else { continue }
                state.leave(key, tier, isWaste: removal.reason != .removed)
            }
        }
    }

    /// Changes the marks, if there are any; otherwise it returns `nil` without taking the lock.
    @discardableResult
    private func change<Result: Sendable>(_ body: (inout State) -> Result) -> Result? {
        guard hasAny else { return nil }
        return state.withLock { state in
            defer { hasMarks.store(!state.marks.isEmpty, ordering: .relaxed) }
            return body(&state)
        }
    }
}
