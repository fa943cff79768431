import Foundation
import Halcyon
import HalcyonEviction
import HalcyonSupport
import HalcyonTestSupport
import Synchronization
import Testing

@testable import HalcyonCache

@Suite("Image cache", .timeLimit(.minutes(20)))
struct ImageCacheTests {
    @Test("Memory, disk and hybrid cache each work alone and store any type")
    func eachLayerWorksAlone() async throws {
        let folder = try TemporaryFolder()
        let memory = MemoryStorage<Data>()
        let disk = try DiskStorage(config: .init(name: "alone", directory: URL(fileURLWithPath: folder.path)))
        let cache = try ImageCache<Data>(name: "both", cacheDirectoryURL: URL(fileURLWithPath: folder.path))
        memory.store(value: bytes(1), forKey: "a")
        try disk.store(value: bytes(2), forKey: "a")
        await cache.store(bytes(3), forKey: "a")
        #expect(memory.value(forKey: "a") == bytes(1))
        #expect(try disk.value(forKey: "a") == bytes(2))
        #expect(try await cache.image(forKey: "a").image == bytes(3))
    }

    @Test("A look-up tries memory, then disk; a disk hit is in memory before it returns")
    func lookUpTriesMemoryThenDisk() async throws {
        let fixture = try CacheFixture()
        let cache = fixture.cache
        await cache.store(Blob("v"), forKey: "a")
        #expect(try await cache.image(forKey: "a").cacheType == .memory)
        cache.clearMemoryCache()
        let found = try await cache.image(forKey: "a")
        #expect(found.cacheType == .disk && found.image == Blob("v"))
        #expect(cache.imageCachedType(forKey: "a") == .memory)
        #expect(try await cache.image(forKey: "a").cacheType == .memory)
        #expect(try await cache.image(forKey: "b").cacheType == .none)
    }

    @Test("fromMemoryCacheOrRefresh does not read the disk")
    func memoryOnlyLookUpSkipsDisk() async throws {
        let fixture = try CacheFixture()
        await fixture.cache.store(Blob("v"), forKey: "a")
        fixture.cache.clearMemoryCache()
        var options = CacheOptions()
        options.fromMemoryCacheOrRefresh = true
        let before = fixture.cache.diskStorage?.statistics.lookUps
        #expect(try await fixture.cache.image(forKey: "a", options: options).cacheType == .none)
        #expect(fixture.cache.imageInMemory(forKey: "a") == nil)
        #expect(fixture.cache.diskStorage?.statistics.lookUps == before)
        #expect(try await fixture.cache.image(forKey: "a").cacheType == .disk)
    }

    @Test("Memory is stored at once and disk in call order; a value that cannot be serialized is in memory only")
    func storesKeepOrderOnDisk() async throws {
        let fixture = try CacheFixture(memory: .lasting(cost: 1_000))
        let cache = fixture.cache
        let order = Mutex<[Int]>([])
        await withCheckedContinuation { continuation in
            for number in 0..<20 {
                cache.store(Blob("v\(number)", cost: 5), forKey: "a", toDisk: true) { _ in
                    let count = order.withLock { order in
                        order.append(number)
                        return order.count
                    }
                    if count == 20 { continuation.resume() }
                }
                #expect(cache.imageInMemory(forKey: "a") == Blob("v\(number)", cost: 5))
            }
        }
        #expect(order.withLock { $0 } == Array(0..<20))
        cache.clearMemoryCache()
        #expect(try await cache.image(forKey: "a").image?.name == "v19")

        let result = await cache.store(Blob("unserializable"), forKey: "b")
        guard case .failure(let error) = result.diskCacheResult, case CacheError.cannotSerialize("b") = error else {
            Issue.record("\(result.diskCacheResult)")
            return
        }
        #expect(cache.imageCachedType(forKey: "b") == .memory)
        #expect(cache.statistics.diskFailures == 1)
        await cache.store(Blob("v"), forKey: "c", toDisk: false)
        cache.clearMemoryCache()
        #expect(!cache.isCached(forKey: "c"))
    }

    @Test("An older file is removed if a newer value was kept in memory only")
    func olderFileIsRemovedForNewerMemoryValue() async throws {
        let fixture = try CacheFixture()
        let cache = fixture.cache
        for key in ["memory only", "not serialized", "other"] { await cache.store(Blob("old"), forKey: key) }
        let gate = DispatchSemaphore(value: 0)
        await cache.store(Blob("new"), forKey: "memory only", toDisk: false)
        let result = await cache.store(Blob("unserializable"), forKey: "not serialized")
        guard case .failure(CacheError.cannotSerialize) = result.diskCacheResult else {
            Issue.record("\(result.diskCacheResult)")
            return
        }
        #expect(cache.imageInMemory(forKey: "memory only") == Blob("new"))
        #expect(cache.imageInMemory(forKey: "not serialized") == Blob("unserializable"))
        // A store that has not been written yet.
        cache.disk.queue.async { gate.wait() }
        cache.store(Blob("old"), forKey: "pending", completionHandler: nil)
        cache.store(Blob("new"), forKey: "pending", toDisk: false, completionHandler: nil)
        gate.signal()
        // Another extension means another file.
        let text = EntryKey("other", forcedExtension: "txt")
        await cache.store(Blob("text"), forKey: text)
        await cache.store(Blob("new"), forKey: text, toDisk: false)
        cache.clearMemoryCache()
        for key in ["memory only", "not serialized", "pending"] {
            #expect(try await cache.image(forKey: key).image == nil, "\(key)")
        }
        #expect(try await cache.image(forKey: "other").image == Blob("old"))
        #expect(try fixture.files().count == 1)
    }

    @Test("A store that waits to be written counts as cached, and a removal as made, as a look-up finds them")
    func queuedStoreCountsAsCached() async throws {
        let fixture = try CacheFixture()
        let (cache, queue) = (fixture.cache, fixture.cache.disk.queue)
        let webp = EntryKey("new", forcedExtension: "webp")
        await cache.store(Blob(cost: 1_000), forKey: "old")
        queue.suspend()
        // Memory refuses these values.
        cache.store(Blob(cost: 1_000), forKey: "new", completionHandler: nil)
        cache.store(Blob(cost: 1_000), forKey: webp, completionHandler: nil)
        #expect(cache.imageCachedType(forKey: "new") == .disk && cache.isCached(forKey: webp))
        #expect(!cache.isCached(forKey: EntryKey("new", forcedExtension: "png")) && !cache.isCached(forKey: "none"))
        cache.removeImage(forKey: "new")
        cache.removeImage(forKey: "old")
        #expect(!cache.isCached(forKey: "new") && cache.isCached(forKey: webp))
        #expect(!cache.isCached(forKey: "old"))
        cache.clearDiskCache(callbackQueue: .untouch)
        cache.store(Blob(cost: 1_000), forKey: "last", completionHandler: nil)
        #expect(!cache.isCached(forKey: webp) && cache.isCached(forKey: "last"))
        let asked = ["new", "old", "last"].map { key in Task { try await cache.image(forKey: key).cacheType } }
        queue.resume()
        #expect(try await [asked[0].value, asked[1].value, asked[2].value] == [.none, .none, .disk])
    }

    @Test("A value of an empty key is kept nowhere, and the result says why")
    func emptyKeyIsRefused() async throws {
        let fixture = try CacheFixture()
        for key in [EntryKey(""), EntryKey("", processorIdentifier: "small")] {
            for toDisk in [true, false] {
                let stored = await fixture.cache.store(Blob(cost: 1), forKey: key, toDisk: toDisk)
                guard case .failure(CacheError.emptyKey) = stored.diskCacheResult else {
                    Issue.record("\(stored)")
                    continue
                }
                #expect(!fixture.cache.isCached(forKey: key))
                #expect(try await fixture.cache.image(forKey: key).image == nil)
            }
        }
        #expect(fixture.cache.diskStorage?.totalSize == 0)
    }

    @Test("A forgotten user's name is in no table that numbers requests, and the user gets another number")
    func forgottenUserHasNoNumber() async throws {
        let fixture = try CacheFixture()
        let (cache, core) = (fixture.cache, fixture.cache.memoryStorage.core)
        core.takeAllLanes()
        await cache.store(Blob(), forKey: "a", options: CacheOptions(categories: [], user: "u7"))
        _ = try await cache.image(forKey: "a", options: CacheOptions(categories: [], user: "u7"))
        cache.clearMemoryCache()
        _ = try await cache.image(forKey: "a", options: CacheOptions(categories: [], user: "u7"))
        _ = try await cache.image(forKey: "a", options: CacheOptions(categories: [], user: "u7"))
        let disk = try #require(cache.diskStorage)
        func knows() -> [Bool] {
            [
                core.withLock { $0.entries.lastUser?.name == ByteName("u7") },
                core.withLock { _ in core.lanes.knows(user: "u7") },
                disk.state.withLock { $0.entries.lastUser?.name == ByteName("u7") },
            ]
        }
        let users = core.withLock { $0.entries.users }
        let number = users.number(of: "u7")
        #expect(knows() == [true, true, true])
        try await cache.forget(user: "u7") {}
        #expect(knows() == [false, false, false])
        #expect(users.number(of: "u7") != number)
    }

    @Test("A load between the two tiers' changes finds no older value and leaves none in memory")
    func loadBetweenTiersFindsNoOlderValue() async throws {
        let fixture = try CacheFixture()
        let cache = fixture.cache
        var options = CacheOptions(categories: ["c"])
        options.loadDiskFileSynchronously = true
        let found = Mutex<Blob?>(nil)
        let names = ["stored", "removed", "cleared", "category", "variants", "private"]
        for name in names {
            let key = name == "private" ? EntryOrigin.privateKey(name, of: "u") : name
            await cache.store(Blob("old"), forKey: key, options: options)
            cache.clearMemoryCache()
            // A tier reads the time when it changes. The first that does once the disk is requested to change is memory.
            let clock = fixture.clock
            cache.disk.queue.suspend()
            clock.whenRead.withLock {
                $0 = { [cache, options] in
                    guard cache.disk.pendingCount > 0 else { return }
                    clock.whenRead.withLock { $0 = nil }
                    cache.retrieveImage(forKey: key, options: options, callbackQueue: .untouch) { result in
                        found.withLock { $0 = try? result.get().image }
                    }
                    cache.disk.queue.resume()
                }
            }
            switch name {
            // Memory refuses this value, so that a value promoted by the load would stay.
            case "stored": await cache.store(Blob("new", cost: 1_000), forKey: key)
            case "removed": await cache.remove(forKey: key)
            case "cleared": await cache.clear()
            case "category": await cache.remove(category: "c")
            case "variants": await cache.removeVariants(ofKey: key)
            default: await cache.removePrivate(ofUser: "u")
            }
            let expected: Blob? = name == "stored" ? Blob("new", cost: 1_000) : nil
            #expect(found.withLock { $0 } == expected, "\(name)")
            #expect(cache.imageInMemory(forKey: key) == nil, "\(name)")
            #expect(try await cache.image(forKey: key).image == expected, "\(name)")
        }
    }

    @Test("Variants of a key are separate entries")
    func variantsAreSeparateEntries() async throws {
        let fixture = try CacheFixture()
        let cache = fixture.cache
        #expect("a".computedKey(with: "") == "a")
        #expect("a".computedKey(with: "round") == "a@round")
        await cache.store(Blob("plain"), forKey: "a")
        let round = EntryKey("a", processorIdentifier: "round")
        await cache.store(Blob("round"), forKey: round)
        cache.clearMemoryCache()
        #expect(try await cache.image(forKey: "a").image?.name == "plain")
        #expect(try await cache.image(forKey: round).image?.name == "round")
        await cache.remove(forKey: "a")
        #expect(!cache.isCached(forKey: "a"))
        #expect(cache.isCached(forKey: round))
    }

    @Test("A cache by name refuses a bad directory or policy; one by configuration works in memory")
    func badDirectoryIsRefused() async throws {
        let folder = try TemporaryFolder()
        let blocked = URL(fileURLWithPath: try folder.file("blocked", "a file"))
        #expect(throws: CacheError.self) { try ImageCache<Data>(name: "x", cacheDirectoryURL: blocked) }
        #expect(throws: PolicyError.self) {
            try ImageCache<Data>(name: "x", cacheDirectoryURL: URL(fileURLWithPath: folder.path), policyNamed: "lrv")
        }
        let cache = ImageCache<Data>(
            disk: .init(name: "x", directory: blocked), serializer: TransformingSerializer(), triggers: [])
        let result = await cache.store(bytes(1), forKey: "a")
        #expect(throws: CacheError.self) { try result.diskCacheResult.get() }
        #expect(try await cache.image(forKey: "a").cacheType == .memory)
        cache.clearMemoryCache()
        #expect(try await cache.image(forKey: "a").cacheType == .none)
        #expect(ImageCache<Data>.default === ImageCache<Data>.default)
    }

    @Test("An unavailable disk is opened again after ten seconds")
    func unavailableDiskIsRetried() async throws {
        let folder = try TemporaryFolder()
        let path = try folder.file("later", "a file")
        let clock = ManualClock()
        let cache = ImageCache<Data>(
            disk: .init(name: "x", directory: URL(fileURLWithPath: path)), serializer: TransformingSerializer(),
            clock: clock, triggers: [])
        #expect(cache.diskStorage == nil)
        try FileManager.default.removeItem(atPath: path)
        await cache.store(bytes(1), forKey: "a")
        #expect(cache.diskStorage == nil)
        clock.advance(by: 10)
        try await cache.store(bytes(1), forKey: "a").diskCacheResult.get()
        #expect(cache.diskStorage?.isCached(forKey: "a") == true)
    }

    @Test("The disk is read on the caller's thread only with loadDiskFileSynchronously")
    func synchronousLoadReadsOnCallersThread() async throws {
        let fixture = try CacheFixture()
        await fixture.cache.store(Blob("v"), forKey: "a")
        fixture.cache.clearMemoryCache()
        var options = CacheOptions()
        options.loadDiskFileSynchronously = true
        let found = Mutex<CacheType?>(nil)
        fixture.cache.retrieveImage(forKey: "a", options: options, callbackQueue: .untouch) { result in
            found.withLock { $0 = try? result.get().cacheType }
        }
        #expect(found.withLock { $0 } == .disk)
        fixture.cache.clearMemoryCache()
        let gate = DispatchSemaphore(value: 0)
        fixture.serializer.wait(for: gate)
        found.withLock { $0 = nil }
        await withCheckedContinuation { continuation in
            fixture.cache.retrieveImage(forKey: "a", callbackQueue: .untouch) { result in
                found.withLock { $0 = try? result.get().cacheType }
                continuation.resume()
            }
            // If the disk were read here, the gate would never open.
            #expect(found.withLock { $0 } == nil)
            gate.signal()
        }
        #expect(found.withLock { $0 } == .disk)
    }

    @Test("A value that is replaced or removed during its read is not promoted into memory")
    func changedValueIsNotPromoted() async throws {
        let fixture = try CacheFixture()
        let cache = fixture.cache
        let options = CacheOptions(categories: ["c"])
        for key in ["removed", "replaced", "cleared", "category", "variants", "private", "read"] {
            await cache.store(Blob("old"), forKey: key, options: options)
            cache.clearMemoryCache()
            let gate = DispatchSemaphore(value: 0)
            fixture.serializer.wait(for: gate)
            async let read = cache.image(forKey: key)
            // Wait until the value is being read: after an earlier removal it would not be found at all.
            await waitUntil { fixture.serializer.readers == 1 }
            switch key {
            case "removed": cache.removeImage(forKey: key)
            case "replaced": cache.store(Blob("new"), forKey: key, completionHandler: nil)
            case "cleared": cache.clearMemoryCache()
            case "category": await cache.remove(category: "c")
            case "variants": await cache.removeVariants(ofKey: key)
            case "private": await cache.removePrivate(ofUser: "u")
            default: break
            }
            gate.signal()
            #expect(try await read.image == Blob("old"))
            fixture.serializer.wait(for: nil)
            let expected: Blob? = key == "read" ? Blob("old") : key == "replaced" ? Blob("new") : nil
            #expect(cache.imageInMemory(forKey: key) == expected, "\(key)")
        }
    }

    @Test("A removal reaches memory, disk or both, with one completion on its queue")
    func removalReachesStatedTiers() async throws {
        let fixture = try CacheFixture()
        let cache = fixture.cache
        for key in ["both", "memory", "disk"] { await cache.store(Blob(key), forKey: key) }
        await cache.remove(forKey: "both")
        await cache.remove(forKey: "memory", fromDisk: false)
        await cache.remove(forKey: "disk", fromMemory: false)
        #expect(cache.imageCachedType(forKey: "both") == .none)
        #expect(cache.imageCachedType(forKey: "memory") == .disk)
        #expect(cache.imageCachedType(forKey: "disk") == .memory)
        #expect(cache.diskStorage?.isCached(forKey: "disk") == false)
        let queue = DispatchQueue(label: "test")
        let marker = DispatchSpecificKey<Bool>()
        queue.setSpecific(key: marker, value: true)
        let calls = Mutex(0)
        for (memory, disk) in [(true, true), (true, false), (false, true), (false, false)] {
            let isThere = await withCheckedContinuation { continuation in
                cache.removeImage(forKey: "x", fromMemory: memory, fromDisk: disk, callbackQueue: .dispatch(queue)) {
                    calls.withLock { $0 += 1 }
                    continuation.resume(returning: DispatchQueue.getSpecific(key: marker) == true)
                }
            }
            #expect(isThere)
        }
        #expect(calls.withLock { $0 } == 4)
    }

    @Test("Removals and clearings need no completion")
    func removalsNeedNoCompletion() async throws {
        let fixture = try CacheFixture()
        let cache = fixture.cache
        for key in ["a", "b"] { await cache.store(Blob(key), forKey: key) }
        // Called from a synchronous closure, without `await`.
        let callers: [@Sendable () -> Void] = [
            { cache.removeImage(forKey: "a") }, { cache.cleanExpiredDiskCache() }, { cache.clearDiskCache() },
        ]
        for (number, call) in callers.enumerated() {
            call()
            await cache.settleDisk()
            #expect(cache.diskStorage?.count == (number < 2 ? 1 : 0))
        }
    }

    @Test("The four callback queues run a block once where they state")
    func callbackQueuesRunWhereStated() async {
        let queue = DispatchQueue(label: "test")
        let marker = DispatchSpecificKey<Bool>()
        queue.setSpecific(key: marker, value: true)
        // On Linux the main queue need not run on the main thread.
        let main = DispatchSpecificKey<Bool>()
        DispatchQueue.main.setSpecific(key: main, value: true)
        func place(_ callback: CallbackQueue) async -> (main: Bool, own: Bool) {
            await withCheckedContinuation { continuation in
                queue.async {
                    callback.execute {
                        continuation.resume(
                            returning: (
                                DispatchQueue.getSpecific(key: main) == true,
                                DispatchQueue.getSpecific(key: marker) == true
                            ))
                    }
                }
            }
        }
        #expect(await place(.untouch) == (false, true))
        #expect(await place(.dispatch(DispatchQueue(label: "other"))) == (false, false))
        #expect(await place(.mainAsync) == (true, false))
        #expect(await place(.mainCurrentOrAsync) == (true, false))
        let isAtOnce = await MainActor.run {
            let flag = Mutex(false)
            CallbackQueue.mainCurrentOrAsync.execute { flag.withLock { $0 = true } }
            return flag.withLock { $0 }
        }
        #expect(isAtOnce)
    }

    @Test("Every path resumes exactly once, also with an error and a cancellation")
    func everyPathResumesOnce() async throws {
        let fixture = try CacheFixture()
        let cache = fixture.cache
        await cache.store(Blob("v"), forKey: "a")
        cache.clearMemoryCache()
        let cancelled = Task {
            while !Task.isCancelled { await Task.yield() }
            return try await cache.image(forKey: "a")
        }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        let storage = try #require(cache.diskStorage)
        let url = storage.cacheFileURL(forKey: "a")
        try FileManager.default.removeItem(at: url)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
        await #expect(throws: CacheError.self) { try await cache.image(forKey: "a") }
        let calls = Mutex(0)
        await withCheckedContinuation { continuation in
            cache.retrieveImage(forKey: "a", callbackQueue: .untouch) { result in
                calls.withLock { $0 += 1 }
                #expect(throws: CacheError.self) { try result.get() }
                continuation.resume()
            }
        }
        #expect(calls.withLock { $0 } == 1)
        #expect(!cache.memoryStorage.core.withLock { $0.reads.isPending("a") })
    }

    @Test("A default object is created once; setting one waits for no creation and replaces it")
    func setDefaultReplacesCreation() async throws {
        let slot = SettableDefault<String>()
        let (creating, mayGoOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let created = Mutex<[String]>([])
        let group = DispatchGroup()
        for _ in 0..<2 {
            DispatchQueue.global().async(group: group) {
                let value = slot.value {
                    creating.signal()
                    mayGoOn.wait()
                    return "created"
                }
                created.withLock { $0.append("\(value)") }
            }
        }
        try await CallbackQueue.dispatch(DispatchQueue(label: "test")).result { creating.wait() }
        slot.set("set")
        #expect("\(slot.value { "another" })" == "set")
        mayGoOn.signal()
        await withCheckedContinuation { continuation in group.notify(queue: .global()) { continuation.resume() } }
        #expect(created.withLock { $0 } == ["set", "set"])
    }
}
