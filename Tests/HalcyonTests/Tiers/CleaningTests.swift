import Foundation
import Halcyon
import HalcyonTestSupport
import Synchronization
import Testing

@testable import HalcyonCache

@Suite("Image cache: cleaning and triggers", .timeLimit(.minutes(20)))
struct CleaningTests {
    @Test("Cleaning removes expired values and reports their hashes; a manual clear reports nothing")
    func cleaningReportsExpiredHashes() async throws {
        let fixture = try CacheFixture { $0.expiration = .seconds(10) }
        let cache = fixture.cache
        let events = cache.events()
        await cache.store(Blob("old", cost: 5), forKey: "old")
        fixture.clock.advance(by: 6)
        await cache.store(Blob("new", cost: 5), forKey: "new")
        #expect(await cache.cleanExpiredDiskCache() == [])
        fixture.clock.advance(by: 5)
        let hash = try #require(cache.hash(forKey: "old"))
        #expect(await cache.cleanExpiredDiskCache() == [hash])
        #expect(try fixture.files() == [try #require(cache.hash(forKey: "new"))])
        await cache.clear()
        #expect(try fixture.files() == [])
        await cache.store(Blob("last"), forKey: "last")
        var cleaned: [[String]] = []
        for await event in events {
            if case .cleaned(let hashes) = event { cleaned.append(hashes) }
            if event == .store(key: "last", categories: []) { break }
        }
        #expect(cleaned == [[hash]])
    }

    @Test("The notification carries the hashes that its cache removed")
    func notificationCarriesRemovedHashes() async throws {
        let fixture = try CacheFixture { $0.expiration = .seconds(10) }
        await fixture.cache.store(Blob("old", cost: 5), forKey: "notified")
        let hash = try #require(fixture.cache.hash(forKey: "notified"))
        let heard = Mutex<[String]>([])
        // The notification's object is the cache: cleanings of another cache are not received.
        let other = try CacheFixture { $0.expiration = .seconds(10) }
        await other.cache.store(Blob("old", cost: 5), forKey: "another's")
        let token = NotificationCenter.default.addObserver(
            forName: .halcyonDidCleanDiskCache, object: fixture.cache, queue: nil
        ) { note in
            let hashes = note.userInfo?["cleanedHashes"] as? [String] ?? []
            heard.withLock { $0 += hashes }
        }
        fixture.clock.advance(by: 10)
        other.clock.advance(by: 10)
        #expect(await other.cache.cleanExpiredDiskCache().count == 1)
        await fixture.cache.cleanExpiredDiskCache()
        NotificationCenter.default.removeObserver(token)
        #expect(heard.withLock { $0 } == [hash])
    }

    @Test("Cleaning measures files that grew outside the cache and evicts to the limit")
    func cleaningMeasuresGrownFiles() async throws {
        let fixture = try CacheFixture { $0.sizeLimit = 20_000 }
        for key in ["a", "b"] {
            await fixture.cache.store(Blob(key, cost: 5_000), forKey: key)
            fixture.clock.advance(by: 1)
        }
        let storage = try #require(fixture.cache.diskStorage)
        try bytes(15_000).write(to: storage.cacheFileURL(forKey: "b"))
        #expect(await fixture.cache.cleanExpiredDiskCache() == [fixture.cache.hash(forKey: "a")])
        #expect(storage.totalSize == 16_384)
    }

    @Test("Memory pressure trims or clears memory; entering the background cleans the disk")
    func triggersTrimMemoryAndCleanDisk() async throws {
        let trigger = ManualTrigger()
        let fixture = try CacheFixture(triggers: [trigger]) { $0.expiration = .seconds(10) }
        let cache = fixture.cache
        for number in 0..<10 { await cache.store(Blob(cost: 10), forKey: "k\(number)") }
        trigger.pressMemory(.some)
        #expect(cache.memoryStorage.totalCost == 50)
        #expect(cache.memoryStorage.isCached(forKey: "k9") && !cache.memoryStorage.isCached(forKey: "k4"))
        #expect(cache.memoryStorage.config.totalCostLimit == 100)
        trigger.pressMemory(.full)
        #expect(cache.memoryStorage.count == 0)
        await cache.store(Blob(), forKey: "stays", options: .keeping)
        await cache.store(Blob(), forKey: "goes")
        fixture.clock.advance(by: 10)
        await trigger.enterBackground()
        #expect(cache.memoryStorage.isCached(forKey: "stays") && !cache.memoryStorage.isCached(forKey: "goes"))
        #expect(try fixture.files() == [])
    }

    @Test("enterBackground clears memory except kept entries and cleans the disk")
    func enterBackgroundCleansTiers() async throws {
        let fixture = try CacheFixture { $0.expiration = .seconds(10) }
        await fixture.cache.store(Blob(), forKey: "a")
        await fixture.cache.store(Blob(), forKey: "b", options: .keeping)
        fixture.clock.advance(by: 10)
        await fixture.cache.enterBackground()
        #expect(fixture.cache.memoryStorage.count == 1)
        #expect(try fixture.files() == [])
    }

    @Test("A trigger stops when its cache ends")
    func triggerStopsWithItsCache() throws {
        let trigger = ManualTrigger()
        do {
            let fixture = try CacheFixture(triggers: [trigger])
            #expect(trigger.isStarted)
            _ = fixture
        }
        #expect(!trigger.isStarted)
    }

    @Test("Cancelled loads from disk neither read, decode nor promote")
    func cancelledLoadsReadNothing() async throws {
        let fixture = try CacheFixture(memory: .lasting(cost: 10_000))
        let cache = fixture.cache
        for number in 0..<300 { await cache.store(Blob("x", cost: 10), forKey: "k\(number)") }
        cache.clearMemoryCache()
        cache.disk.queue.suspend()
        let loads = (0..<300).map { number in Task { try await cache.image(forKey: "k\(number)") } }
        // Most loads have requested the read by now; the others are cancelled before.
        try await Task.sleep(for: .milliseconds(20))
        for load in loads { load.cancel() }
        cache.disk.queue.resume()
        for load in loads {
            await #expect(throws: CancellationError.self) { try await load.value }
        }
        #expect(cache.memoryStorage.count == 0)
        #expect(cache.statistics.lookUps.disk == 0 && cache.statistics.disk.lookUps.hits == 0)
        #expect(try await cache.image(forKey: "k1").cacheType == .disk)
    }

    @Test("A load cancelled between reading and decoding is not decoded")
    func loadCancelledBeforeDecodingIsNotDecoded() async throws {
        let fixture = try CacheFixture()
        let cache = fixture.cache
        await cache.store(Blob("x", cost: 10), forKey: "a")
        cache.clearMemoryCache()
        let hasRead = Mutex(false)
        let gate = DispatchSemaphore(value: 0)
        fixture.serializer.decode(
            on: .custom { decode in
                hasRead.withLock { $0 = true }
                DispatchQueue.global().async {
                    gate.wait()
                    decode()
                }
            })
        let load = Task { try await cache.image(forKey: "a") }
        await waitUntil { hasRead.withLock { $0 } }
        load.cancel()
        gate.signal()
        await #expect(throws: CancellationError.self) { try await load.value }
        #expect(fixture.serializer.readCount == 0 && cache.memoryStorage.count == 0)
        fixture.serializer.decode(on: nil)
        #expect(try await cache.image(forKey: "a").cacheType == .disk)
    }

    @Test("A load cancelled during decoding is neither promoted nor counted as a hit")
    func loadCancelledDuringDecodingIsNotPromoted() async throws {
        let fixture = try CacheFixture()
        let cache = fixture.cache
        await cache.store(Blob("x", cost: 10), forKey: "a")
        cache.clearMemoryCache()
        let gate = DispatchSemaphore(value: 0)
        fixture.serializer.wait(for: gate)
        let load = Task { try await cache.image(forKey: "a") }
        await waitUntil { fixture.serializer.readers == 1 }
        load.cancel()
        gate.signal()
        await #expect(throws: CancellationError.self) { try await load.value }
        #expect(cache.memoryStorage.count == 0 && cache.statistics.lookUps.disk == 0)
    }

    @Test("A cache has the standard triggers by default: memory pressure, but not SIGTERM")
    func standardTriggersWatchMemoryPressure() throws {
        let folder = try DiskFixture().folder
        func cache(_ name: String, _ triggers: [any CacheTrigger]?) -> ImageCache<Blob> {
            let disk = DiskStorageConfig(name: name, directory: URL(fileURLWithPath: folder.path))
            return triggers.map { ImageCache(disk: disk, serializer: BlobSerializer(), triggers: $0) }
                ?? ImageCache(disk: disk, serializer: BlobSerializer())
        }
        let count = cache("standard", nil).subscriptions.withLock { $0.count }
        #expect(count == CacheTriggers.standard.count && cache("none", []).subscriptions.withLock { $0.isEmpty })
        #if os(Linux)
            #expect(count == 1 && CacheTriggers.standard.first as AnyObject === MemoryPressureTrigger.shared)
        #endif
    }

    @Test("A file stored with a forced extension is found and removed with it")
    func forcedExtensionFindsAndRemovesFile() async throws {
        let fixture = try CacheFixture()
        let cache = fixture.cache
        let webp = EntryKey("a", forcedExtension: "webp")
        await cache.store(Blob("x", cost: 10), forKey: webp)
        cache.clearMemoryCache()
        #expect(cache.imageCachedType(forKey: webp) == .disk)
        #expect(cache.isCached(forKey: webp) && !cache.isCached(forKey: "a"))
        #expect(try fixture.files() == [cache.hash(forKey: webp)])
        await cache.remove(forKey: webp)
        #expect(try await cache.image(forKey: webp).image == nil)
        #expect(try fixture.files() == [])
    }

    @Test("One trigger serves two caches and continues when one of them ends")
    func triggerServesTwoCaches() async throws {
        let trigger = ManualTrigger()
        let first = try CacheFixture(triggers: [trigger])
        await first.cache.store(Blob(cost: 10), forKey: "a")
        do {
            let second = try CacheFixture(triggers: [trigger])
            await second.cache.store(Blob(cost: 10), forKey: "a")
            trigger.pressMemory(.full)
            #expect(first.cache.memoryStorage.count == 0 && second.cache.memoryStorage.count == 0)
        }
        await first.cache.store(Blob(cost: 10), forKey: "a")
        trigger.pressMemory(.full)
        #expect(first.cache.memoryStorage.count == 0)
    }

    @Test("Entering the background returns after the cache ended")
    func enteringBackgroundReturnsWithoutCache() async throws {
        let trigger = ManualTrigger()
        let kept = Mutex<(@Sendable (CacheTriggerEvent) -> Void)?>(nil)
        // A trigger that keeps the handler of a cache that ended.
        struct Keeping: CacheTrigger {
            let trigger: ManualTrigger
            let keep: @Sendable (@escaping @Sendable (CacheTriggerEvent) -> Void) -> Void
            func subscribe(_ handler: @escaping @Sendable (CacheTriggerEvent) -> Void) -> TriggerSubscription {
                keep(handler)
                return trigger.subscribe(handler)
            }
        }
        let keeping = Keeping(trigger: trigger) { handler in kept.withLock { $0 = handler } }
        do {
            let fixture = try CacheFixture(triggers: [keeping])
            _ = fixture
        }
        let handler = try #require(kept.withLock { $0 })
        await withCheckedContinuation { continuation in
            handler(.enterBackground { continuation.resume() })
        }
        await trigger.enterBackground()
    }

    @Test("SIGTERM cleans the disk and then calls the handler")
    func terminationCleansDiskFirst() async throws {
        let ended = Mutex(false)
        let trigger = TerminationTrigger { ended.withLock { $0 = true } }
        let fixture = try CacheFixture(triggers: [trigger]) { $0.expiration = .seconds(10) }
        await fixture.cache.store(Blob(), forKey: "a")
        fixture.clock.advance(by: 10)
        // Another trigger that comes and goes does not give the signal back to the system.
        TerminationTrigger {}.subscribe { _ in }.cancel()
        await waitUntil { TerminationSignal.shared.isHandled }
        kill(getpid(), SIGTERM)
        await waitUntil { ended.withLock { $0 } }
        #expect(try fixture.files() == [])
        withExtendedLifetime(fixture) {}
    }

    #if os(Linux)
        @Test("A trigger lasts as long as a cache subscribes to it")
        func subscriptionKeepsItsTrigger() throws {
            let folder = try TemporaryFolder()
            weak var kept: (any CacheTrigger & AnyObject)?
            for make in [{ TerminationTrigger {} }, { MemoryPressureTrigger(root: folder.path) }]
                as [() -> any CacheTrigger & AnyObject]
            {
                let subscription = { () -> TriggerSubscription in
                    let trigger = make()
                    kept = trigger
                    return trigger.subscribe { _ in }
                }()
                #expect(kept != nil)
                subscription.cancel()
                #expect(kept == nil)
            }
        }
    #endif

    @Test("After a termination, a cache that does not end delays the end for a limited time only")
    func terminationHasALimitOfTime() async throws {
        let ended = Mutex(0)
        let calls = Mutex(0)
        let trigger = TerminationTrigger(limit: .zero) { ended.withLock { $0 += 1 } }
        // It neither ends nor keeps what would say so. The signal itself would reach the triggers of other tests.
        let subscription = trigger.subscribe { _ in calls.withLock { $0 += 1 } }
        trigger.clean()
        await waitUntil { ended.withLock { $0 } == 1 && calls.withLock { $0 } == 1 }
        subscription.cancel()
        #expect(TerminationTrigger().limit == .seconds(5))
    }

    @Test("Memory pressure and the background reach other holders of memory until they leave")
    func triggersReachOtherHoldersOfMemory() async throws {
        let trigger = ManualTrigger()
        let fixture = try CacheFixture(triggers: [trigger])
        let heard = Mutex<[MemoryPressure]>([])
        let holder = fixture.cache.addMemoryHolder { pressure in heard.withLock { $0.append(pressure) } }
        trigger.pressMemory(.some)
        trigger.pressMemory(.full)
        #expect(heard.withLock { $0 } == [.some, .full])
        await trigger.enterBackground()
        await fixture.cache.enterBackground()
        #expect(heard.withLock { $0 } == [.some, .full, .full, .full])
        holder.cancel()
        trigger.pressMemory(.full)
        #expect(heard.withLock { $0.count } == 4)
    }

    @Test("A cancelled read of another kind neither reads nor promotes", arguments: CancelledRead.allCases)
    func cancelledReadsOfOtherKindsReadNothing(read: CancelledRead) async throws {
        let fixture = try CacheFixture()
        let cache = fixture.cache
        await cache.store(Blob("x", cost: 10), forKey: "a")
        cache.clearMemoryCache()
        let compared = Atomic<Int>(0)
        let perform: @Sendable () async -> Bool = {
            switch read {
            case .original: return await cache.original(forKey: "a", options: CacheOptions()) != nil
            case .promotion:
                await cache.promote("a", serializer: nil, options: CacheOptions())
                return cache.memoryStorage.count > 0
            case .comparison:
                return await cache.holds("a") { _ in
                    compared.add(1, ordering: .relaxed)
                    return true
                }
            }
        }
        cache.disk.queue.suspend()
        let load = Task(operation: perform)
        load.cancel()
        cache.disk.queue.resume()
        #expect(await load.value == false)
        #expect(compared.load(ordering: .relaxed) == 0 && fixture.serializer.readCount == 0)
        #expect(cache.memoryStorage.count == 0)
        #expect(cache.statistics.disk.lookUps == HitCounts())
        #expect(await perform())
    }

    #if os(Linux)
        @Test("Memory pressure is read from stalls, else from the control group's use, else not at all")
        func pressureSourceFallsBackToUse() throws {
            let folder = try DiskFixture().folder
            let group = folder.path + "/sys/fs/cgroup/g"
            #expect(MemoryPressureTrigger(root: folder.path).source == .nothing)
            for path in ["/proc/self", "/proc/pressure", "/sys/fs/cgroup/g"] {
                try FileManager.default.createDirectory(
                    atPath: folder.path + path, withIntermediateDirectories: true)
            }
            _ = try folder.file("proc/self/cgroup", "0::/g\n")
            _ = try folder.file("sys/fs/cgroup/g/memory.current", "960\n")
            _ = try folder.file("sys/fs/cgroup/g/memory.max", "1000\n")
            let byUse = MemoryPressureTrigger(root: folder.path, interval: 1_000)
            #expect(byUse.source == .use(current: group + "/memory.current", limit: 1_000))
            let heard = DispatchSemaphore(value: 0)
            let subscription = byUse.subscribe { if case .memoryPressure(.some) = $0 { heard.signal() } }
            #expect(heard.wait(timeout: .now() + 60) == .success)
            subscription.cancel()
            // A file that refuses the threshold, as the kernel's may.
            let refusing = folder.path + "/proc/pressure/memory"
            try FileManager.default.createSymbolicLink(atPath: refusing, withDestinationPath: "/dev/full")
            #expect(MemoryPressureTrigger(root: folder.path).source == byUse.source)
            try FileManager.default.removeItem(atPath: refusing)
            _ = try folder.file("proc/pressure/memory", "")
            #expect(
                MemoryPressureTrigger(root: folder.path).source == .stalls(path: folder.path + "/proc/pressure/memory"))
            _ = try folder.file("sys/fs/cgroup/g/memory.pressure", "")
            #expect(MemoryPressureTrigger(root: folder.path).source == .stalls(path: group + "/memory.pressure"))
        }

        @Test("The kernel accepts a watch of its stalls without privileges, if it has them")
        func kernelAcceptsPressureWatch() throws {
            let path = "/proc/pressure/memory"
            guard access(path, W_OK) == 0 else {
                print("skipped: this system has no \(path) that may be watched")
                return
            }
            let watches = try [MemoryPressure.some, .full].map { try #require(PressureWatch(path: path, kind: $0)) }
            // The test makes no stall; it checks that the kernel accepts the thresholds and that the wait ends.
            #expect(PressureWatch.wait(watches, milliseconds: 10) != nil)
            let source = MemoryPressureTrigger.shared.source
            #expect(source != .nothing)
        }

        @Test("A watch without a stall times out, and a folder cannot be watched")
        func watchWithoutStallTimesOut() throws {
            let folder = try DiskFixture().folder
            _ = try folder.file("pressure", "")
            let watch = try #require(PressureWatch(path: folder.path + "/pressure", kind: .some))
            #expect(PressureWatch.wait([watch], milliseconds: 1) == [])
            #expect(PressureWatch(path: folder.path, kind: .some) == nil)
            // This file can be opened and refuses the threshold. A descriptor that is closed twice fails an
            // assertion.
            for _ in 0..<50 { #expect(PressureWatch(path: "/dev/full", kind: .some) == nil) }
        }

        @Test("A stall counts if the total grew by the threshold within the window")
        func stallsCountWithinWindow() {
            let start = ContinuousClock.now
            var stalls = StallWindow(threshold: .milliseconds(150), window: .seconds(1))
            func grew(_ total: Int64, at milliseconds: Int64) -> Bool {
                stalls.record(.microseconds(total), at: start + .milliseconds(milliseconds))
            }
            // Stalls before the watch and a growth of 50 µs do not count.
            #expect(!grew(5_000_000, at: 0))
            #expect(!grew(5_000_050, at: 200))
            #expect(grew(5_150_000, at: 700))
            // At 1.8 s the window begins at 0.8 s; the last reading before it is that of 0.7 s.
            #expect(!grew(5_200_000, at: 1_800))
            #expect(!grew(5_299_999, at: 2_400))
            #expect(grew(5_349_999, at: 2_600))
            // After a long pause only the reading before it can be compared with.
            #expect(grew(5_500_000, at: 60_000))
            #expect(!grew(5_500_000, at: 61_500))
        }

        @Test("The total is read from the line of its kind; without one the watch gives no answer")
        func totalIsReadFromItsLine() throws {
            let text =
                "some avg10=0.00 avg60=0.00 avg300=0.00 total=2634090\nfull avg10=0.00 avg60=0.00 total=1617624\n"
            #expect(PressureWatch.total(text, kind: .some) == .microseconds(2_634_090))
            #expect(PressureWatch.total(text, kind: .full) == .microseconds(1_617_624))
            #expect(PressureWatch.total("some total=x\n", kind: .some) == nil)
            #expect(PressureWatch.total("", kind: .full) == nil)
            let folder = try DiskFixture().folder
            let path = folder.path + "/pressure"
            _ = try folder.file("pressure", "")
            let watch = try #require(PressureWatch(path: path, kind: .full))
            // The watch writes its threshold, as to the kernel's file, and finds no total yet.
            #expect(try String(contentsOfFile: path, encoding: .utf8).hasPrefix("full 150000 1000000\0"))
            let start = ContinuousClock.now
            for (total, isExceeded) in [(1_000_000, false), (1_149_999, false), (1_150_000, true)] {
                try Data("full total=\(total)\n".utf8).write(to: URL(fileURLWithPath: path))
                #expect(watch.isExceeded(at: start) == isExceeded)
            }
            try Data().write(to: URL(fileURLWithPath: path))
            #expect(watch.isExceeded(at: start) == nil)
        }

        @Test("When the watched file ends, the use of the limit is watched")
        func endedWatchFallsBackToUse() throws {
            // A terminal whose other side is closed reports POLLERR and POLLHUP, as a pressure file of a removed
            // group does.
            let terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY)
            var (unlocked, number) = (CInt(0), CInt(0))
            // TIOCSPTLCK and TIOCGPTN, which Swift does not import.
            try #require(terminal >= 0 && ioctl(terminal, 0x4004_5431, &unlocked) == 0)
            try #require(ioctl(terminal, 0x8004_5430, &number) == 0)
            let folder = try DiskFixture().folder
            for path in ["/proc/self", "/sys/fs/cgroup/g"] {
                try FileManager.default.createDirectory(
                    atPath: folder.path + path, withIntermediateDirectories: true)
            }
            _ = try folder.file("proc/self/cgroup", "0::/g\n")
            _ = try folder.file("sys/fs/cgroup/g/memory.current", "990\n")
            _ = try folder.file("sys/fs/cgroup/g/memory.max", "1000\n")
            let stalls = folder.path + "/sys/fs/cgroup/g/memory.pressure"
            try FileManager.default.createSymbolicLink(atPath: stalls, withDestinationPath: "/dev/pts/\(number)")
            let trigger = MemoryPressureTrigger(root: folder.path, interval: 1_000)
            #expect(trigger.source == .stalls(path: stalls))
            let heard = DispatchSemaphore(value: 0)
            let subscription = trigger.subscribe { if case .memoryPressure(.full) = $0 { heard.signal() } }
            close(terminal)
            #expect(heard.wait(timeout: .now() + 60) == .success)
            #expect(
                trigger.source == .use(current: folder.path + "/sys/fs/cgroup/g/memory.current", limit: 1_000))
            subscription.cancel()
        }

        @Test("Reclaimable file pages are not used memory, and the group with the lowest limit counts")
        func reclaimablePagesAreNotUsed() throws {
            let folder = try DiskFixture().folder
            for path in ["/proc/self", "/sys/fs/cgroup/a/b", "/sys/fs/cgroup/memory/x"] {
                try FileManager.default.createDirectory(
                    atPath: folder.path + path, withIntermediateDirectories: true)
            }
            _ = try folder.file("proc/self/cgroup", "0::/a/b\n")
            _ = try folder.file("sys/fs/cgroup/a/b/memory.max", "5000\n")
            _ = try folder.file("sys/fs/cgroup/a/b/memory.current", "10\n")
            _ = try folder.file("sys/fs/cgroup/a/memory.max", "1000\n")
            let current = try folder.file("sys/fs/cgroup/a/memory.current", "990\n")
            #expect(MemoryPressureTrigger.used(current: current) == 990)
            let trigger = MemoryPressureTrigger(root: folder.path, interval: 1_000)
            #expect(trigger.source == .use(current: current, limit: 1_000))
            let statistics = "anon 50\nfile 940\nactive_file 100\ninactive_file 840\n"
            _ = try folder.file("sys/fs/cgroup/a/memory.stat", statistics)
            #expect(MemoryPressureTrigger.used(current: current) == 150)
            // There is no report while only file pages fill the group, and one once other pages do.
            let heard = Mutex<[MemoryPressure]>([])
            let subscription = trigger.subscribe { event in
                if case .memoryPressure(let pressure) = event { heard.withLock { $0.append(pressure) } }
            }
            Thread.sleep(forTimeInterval: 0.05)
            #expect(heard.withLock { $0 } == [])
            // The file is replaced atomically, because the watch may read at any time.
            let next = try folder.file("sys/fs/cgroup/a/next.stat", "anon 950\ninactive_file 40\n")
            #expect(rename(next, folder.path + "/sys/fs/cgroup/a/memory.stat") == 0)
            let end = Date() + 60
            while heard.withLock({ $0.isEmpty }), Date() < end { usleep(1_000) }
            #expect(heard.withLock { $0.first } == .some(.some))
            subscription.cancel()
            // Control groups of version 1.
            _ = try folder.file("proc/self/cgroup", "4:memory:/x\n")
            _ = try folder.file("sys/fs/cgroup/memory/x/memory.limit_in_bytes", "1000\n")
            let usage = try folder.file("sys/fs/cgroup/memory/x/memory.usage_in_bytes", "900\n")
            _ = try folder.file("sys/fs/cgroup/memory/x/memory.stat", "inactive_file 1\ntotal_inactive_file 800\n")
            #expect(MemoryPressureTrigger(root: folder.path).source == .use(current: usage, limit: 1_000))
            #expect(MemoryPressureTrigger.used(current: usage) == 100)
        }

        @Test("Memory pressure begins at nine tenths of the limit")
        func pressureBeginsAtNineTenths() {
            #expect(MemoryPressureTrigger.pressure(used: 899, limit: 1_000) == nil)
            #expect(MemoryPressureTrigger.pressure(used: 900, limit: 1_000) == .some)
            #expect(MemoryPressureTrigger.pressure(used: 970, limit: 1_000) == .full)
        }
    #endif
}

extension CacheOptions {
    /// Options of an entry that stays in memory in the background.
    static var keeping: CacheOptions {
        var options = CacheOptions()
        options.keepInBackground = true
        return options
    }
}

/// The reads of a cache beside look-ups.
enum CancelledRead: CaseIterable { case original, promotion, comparison }
