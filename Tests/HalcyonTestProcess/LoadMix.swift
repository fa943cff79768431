import Foundation
import Halcyon
import HalcyonAccessLog
import HalcyonEviction
import HalcyonTestSupport
import Synchronization

/// What the threads of a ``LoadRun`` did, to be held against the counts of the cache and its log.
final class LoadTallies: Sendable {
    private let stepCount = Atomic<Int>(0)
    private let recordCount = Atomic<Int>(0)
    private let missCount = Atomic<Int>(0)
    /// What was asked for and is not done yet.
    let pending = DispatchGroup()

    var steps: Int { stepCount.load(ordering: .relaxed) }
    /// The accesses and events that the log received from others than look-ups.
    var records: Int { recordCount.load(ordering: .relaxed) }
    /// The look-ups in the image cache that found nothing.
    var misses: Int { missCount.load(ordering: .relaxed) }

    func step() { stepCount.add(1, ordering: .relaxed) }
    func record() { recordCount.add(1, ordering: .relaxed) }
    func miss() { missCount.add(1, ordering: .relaxed) }
}

/// One thread of a ``LoadRun``: everything that can be done, at random.
struct LoadMix {
    static let keys = 200
    /// Small values, so that time goes into what is tested and not into making them.
    static let words: UInt64 = 200

    let memory: MemoryStorage<Data>
    let disk: DiskStorage
    let cache: ImageCache<Data>
    let reopened: ReopenedCache
    let log: AccessLog
    let trigger: ManualTrigger
    let tallies: LoadTallies
    /// Which of the threads it is.
    let number: Int
    var random: SplitMix64
    private var version = 0

    init(
        memory: MemoryStorage<Data>, disk: DiskStorage, cache: ImageCache<Data>, reopened: ReopenedCache,
        log: AccessLog, trigger: ManualTrigger, tallies: LoadTallies, number: Int, random: SplitMix64
    ) {
        self.memory = memory
        self.disk = disk
        self.cache = cache
        self.reopened = reopened
        self.number = number
        self.log = log
        self.trigger = trigger
        self.tallies = tallies
        self.random = random
    }

    mutating func step() throws {
        tallies.step()
        switch random.next(below: 4) {
        case 0: memoryStep()
        case 1: try diskStep()
        case 2: cacheStep()
        default: logStep()
        }
    }

    private mutating func key() -> String { "key-\(random.next(below: Self.keys))" }

    private mutating func context() -> AccessContext {
        AccessContext(categories: ["c\(random.next(below: 4))"], user: "u\(random.next(below: 5))")
    }

    private mutating func expiration() -> StorageExpiration { random.next(below: 6) == 0 ? .seconds(0.01) : .never }

    private mutating func value(_ key: String) -> Data {
        version += 1
        return SelfDescribingValue.bytes(key: key, version: version, words: Self.words)
    }

    private static func check(_ data: Data?, _ key: String) {
        if let data, SelfDescribingValue.version(of: data, key: key, words: words) == nil {
            Main.fail("\(key) reads as \(data.count) bytes that nobody stored")
        }
    }

    private mutating func memoryStep() {
        let key = key()
        switch random.next(below: 40) {
        case 0: memory.removeExpired()
        case 1: memory.trim(toCost: 30_000)
        case 2: memory.remove(category: "c3")
        case 3: memory.withConfig { $0.totalCostLimit = $0.totalCostLimit == 100_000 ? 60_000 : 100_000 }
        case 4: memory.withConfig { $0.countLimit = $0.countLimit == 0 ? 40 : 0 }
        case 5: memory.enterBackground()
        case 6: memory.removeAll()
        case 7: if memory.statistics.cost < 0 || memory.totalCost > 100_000 { Main.fail("memory is over its limit") }
        case 8...10: memory.remove(forKey: key)
        case 11...22:
            memory.store(value: value(key), forKey: key, expiration: expiration(), context: context())
        case 23...25: _ = memory.isCached(forKey: key)
        default: Self.check(memory.value(forKey: key, context: context()), key)
        }
    }

    private mutating func diskStep() throws {
        let key = key()
        switch random.next(below: 40) {
        case 0: disk.removeExpiredValues()
        case 1: disk.trim(toSize: 200_000)
        case 2: disk.remove(category: "c3")
        case 3: disk.withConfig { $0.sizeLimit = $0.sizeLimit == 500_000 ? 300_000 : 500_000 }
        case 4: disk.removeSizeExceededValues()
        case 5: disk.flush()
        case 6 where random.next(below: 5) == 0: disk.removeAll()
        case 7: if disk.totalSize > 500_000 || disk.count < 0 { Main.fail("the disk is over its limit") }
        case 8...10: disk.remove(forKey: key)
        case 11...20:
            try disk.store(value: value(key), forKey: key, expiration: expiration(), context: context())
        case 21...24: _ = disk.isCached(forKey: key)
        default: Self.check(try disk.value(forKey: key, context: context()), key)
        }
    }

    private mutating func cacheStep() {
        let (key, tallies, mayBeClosed) = (key(), tallies, random.next(below: 3) == 0)
        let cache = mayBeClosed ? reopened.current : cache
        var options = CacheOptions()
        options.context = context()
        options.memoryCacheExpiration = expiration()
        options.diskCacheExpiration = expiration()
        options.loadDiskFileSynchronously = random.next(below: 3) == 0
        options.fromMemoryCacheOrRefresh = random.next(below: 8) == 0
        options.isPrefetch = random.next(below: 8) == 0
        switch random.next(below: 40) {
        case 0: later { await cache.clean() }
        case 1: later { await cache.enterBackground() }
        case 2: later { await cache.remove(category: "c3") }
        case 3 where random.next(below: 5) == 0: later { await cache.clear() }
        case 4: trigger.pressMemory(.some)
        case 5:
            later {
                let events = cache.events(bufferingNewest: 2)
                _ = cache.imageInMemory(forKey: "absent")
                tallies.miss()
                for await _ in events.prefix(1) {}
            }
        case 6: if cache.statistics.memory.cost > 100_000 { Main.fail("the cache is over its limit") }
        case 7:
            tallies.record()
            cache.recordMiss(forKey: key, options: options)
        case 8...10:
            tallies.pending.enter()
            cache.removeImage(forKey: key) { tallies.pending.leave() }
        case 11...20:
            // A prefetch is no access, but an event of the log.
            tallies.record()
            tallies.pending.enter()
            cache.store(value(key), forKey: key, options: options) { result in
                Self.check(result, mayBeClosed)
                tallies.pending.leave()
            }
        case 21...22: _ = cache.isCached(forKey: key)
        case 23...24: cancelledLookUp(cache, key, options)
        case 25 where random.next(below: 20) == 0: clearBesideLoads(cache, options, mayBeClosed)
        case 26 where random.next(below: 40) == 0:
            let reopened = reopened
            later { await reopened.reopen() }
        default: lookUp(cache, key, options)
        }
    }

    private static func check(_ result: CacheStoreResult, _ mayBeClosed: Bool) {
        guard case .failure(let error) = result.diskCacheResult else { return }
        if mayBeClosed, case CacheError.closed = error { return }
        Main.fail("\(error)")
    }

    /// A load that is cancelled at some time, or has ended before.
    private mutating func cancelledLookUp(_ cache: ImageCache<Data>, _ key: String, _ options: CacheOptions) {
        let (tallies, turns) = (tallies, random.next(below: 4))
        later {
            let load = Task { try await cache.image(forKey: key, options: options) }
            for _ in 0..<turns { await Task.yield() }
            load.cancel()
            await Self.note(load, key, tallies)
        }
    }

    /// Clears a cache while a key that no other thread knows is loaded, after which it must be nowhere.
    private mutating func clearBesideLoads(
        _ cache: ImageCache<Data>, _ options: CacheOptions, _ mayBeClosed: Bool
    ) {
        version += 1
        let (key, tallies) = ("own-\(number)-\(version)", tallies)
        let value = value(key)
        var options = options
        options.fromMemoryCacheOrRefresh = false
        options.loadDiskFileSynchronously = false
        options.isPrefetch = false
        tallies.record()
        later { [options] in
            Self.check(await cache.store(value, forKey: key, options: options), mayBeClosed)
            cache.memoryStorage.remove(forKey: key)
            let loads = (0..<4).map { _ in Task { try await cache.image(forKey: key, options: options) } }
            await Task.yield()
            loads.last?.cancel()
            await cache.clear()
            let isThere = cache.isCached(forKey: key)
            for load in loads { await Self.note(load, key, tallies) }
            if isThere || cache.isCached(forKey: key) {
                Main.fail("\(key) is there after a clearing\(mayBeClosed ? " of a cache that may be closed" : "")")
            }
        }
    }

    private static func note(
        _ load: Task<ImageCacheResult<Data>, any Error>, _ key: String, _ tallies: LoadTallies
    ) async {
        do {
            let found = try await load.value
            check(found.image, key)
            if found.image == nil { tallies.miss() }
        } catch is CancellationError {
        } catch {
            Main.fail("\(error)")
        }
    }

    private mutating func lookUp(_ cache: ImageCache<Data>, _ key: String, _ options: CacheOptions) {
        let done = DispatchSemaphore(value: 0)
        let tallies = tallies
        cache.retrieveImage(forKey: key, options: options, callbackQueue: .untouch) { result in
            switch result {
            case .success(let found):
                Self.check(found.image, key)
                if found.image == nil { tallies.miss() }
            case .failure(let error): Main.fail("\(error)")
            }
            done.signal()
        }
        done.wait()
    }

    private mutating func logStep() {
        let log = log
        switch random.next(below: 400) {
        case 0: later { try? await log.flush() }
        case 1: log.beginSession()
        case 2: later { _ = try? await log.deleteAccesses(ofUser: "u1") }
        case 3: later { _ = try? await log.deleteAccesses(inCategory: "c1") }
        case 4: _ = log.statistics
        default:
            tallies.record()
            let context = context()
            log.record(key(), cost: 1, categories: context.categories, outcome: .memory, user: context.user)
        }
    }

    /// Begins something that this thread does not wait for.
    private func later(_ work: @escaping @Sendable () async -> Void) {
        tallies.pending.enter()
        let pending = tallies.pending
        Task {
            await work()
            pending.leave()
        }
    }
}
