import Foundation
import Halcyon
import Synchronization

/// The disk storage.
struct DiskBenchmark {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("halcyon-\(UUID().uuidString)")

    func run() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        try throughput()
        cacheThroughput()
        try beside()
        try start()
    }

    /// Stores and loads through the image cache; memory holds nothing, so that each load reads the disk.
    private func cacheThroughput() {
        let cache = ImageCache<Data>(
            memory: .init(totalCostLimit: 1), disk: .init(name: "cache", directory: folder),
            serializer: TransformingSerializer(), triggers: [])
        let (names, image) = (keys(3_000), Data(repeating: 7, count: 40_000))
        let stored = seconds {
            let group = DispatchGroup()
            for key in names {
                group.enter()
                cache.store(image, forKey: key) { _ in group.leave() }
            }
            group.wait()
        }
        report("image cache, disk stores of 40 KB", Double(names.count) / stored, "/s")
        let hits = Atomic<Int>(0)
        for isSynchronous in [false, true] {
            var options = CacheOptions()
            options.loadDiskFileSynchronously = isSynchronous
            let loaded = seconds {
                let group = DispatchGroup()
                for key in names {
                    group.enter()
                    cache.retrieveImage(forKey: key, options: options, callbackQueue: .untouch) { result in
                        if case .success(.disk) = result { hits.add(1, ordering: .relaxed) }
                        group.leave()
                    }
                }
                group.wait()
            }
            let kind = isSynchronous ? "synchronous" : "asynchronous"
            report("image cache, \(kind) disk loads of 40 KB", Double(names.count) / loaded, "/s")
        }
        precondition(hits.load(ordering: .relaxed) == 2 * names.count)
    }

    /// Synchronous loads beside 40 stores whose serializer takes 50 ms each.
    private func beside() throws {
        let cache = ImageCache<Data>(
            memory: .init(totalCostLimit: 1), disk: .init(name: "beside", directory: folder),
            serializer: SlowSerializer(), triggers: [])
        let group = DispatchGroup()
        group.enter()
        cache.store(Data("there".utf8), forKey: "there") { _ in group.leave() }
        group.wait()
        var options = CacheOptions()
        options.loadDiskFileSynchronously = true
        var latencies: [Double] = []
        let stored = seconds {
            for number in 0..<40 {
                group.enter()
                cache.store(Data("\(number)".utf8), forKey: "\(number)") { _ in group.leave() }
            }
            for _ in 0..<100 {
                latencies.append(
                    seconds {
                        cache.retrieveImage(forKey: "there", options: options, callbackQueue: .untouch) { _ in }
                    })
                usleep(1_000)
            }
            group.wait()
        }
        latencies.sort()
        report("40 stores, each serialized in 50 ms", stored * 1e3, "ms")
        report("a synchronous load beside them, median", latencies[50] * 1e3, "ms")
        report("a synchronous load beside them, longest", latencies[99] * 1e3, "ms")
    }

    private func throughput() throws {
        let disk = try DiskStorage(config: .init(name: "throughput", directory: folder))
        let names = keys(isShort ? 300 : 3_000)
        let image = Data(repeating: 7, count: 40_000)
        let stored = try seconds { for key in names { try disk.store(value: image, forKey: key) } }
        report("disk stores of 40 KB", Double(names.count) / stored, "/s")
        let read = try seconds { for key in names { _ = try disk.value(forKey: key) } }
        report("disk reads of 40 KB, warm", Double(names.count) / read, "/s")
        let absent = keys(isShort ? 2_000 : 200_000).map { $0 + "?" }
        let missed = try seconds { for key in absent { _ = try disk.value(forKey: key) } }
        report("disk, absent key", missed / Double(absent.count) * 1e9, "ns")
    }

    private func start() throws {
        let config = DiskStorageConfig(name: "start", directory: folder)
        var disk: DiskStorage? = try DiskStorage(config: config)
        for key in keys(isShort ? 2_000 : 100_000) { try disk?.store(value: Data("x".utf8), forKey: key) }
        disk?.flush()
        disk = nil
        let opened = ContinuousClock().now
        disk = try DiskStorage(config: config)
        let returned = ContinuousClock().now
        let count = disk?.count ?? 0
        let listed = ContinuousClock().now
        func milliseconds(_ duration: Duration) -> Double {
            Double(duration.components.seconds) * 1e3 + Double(duration.components.attoseconds) * 1e-15
        }
        report("start on \(count) files, on the caller's thread", milliseconds(returned - opened), "ms")
        report("start on \(count) files, until all are known", milliseconds(listed - opened), "ms")
        try cleaning(disk, count)
        disk?.config.sizeLimit = (disk?.totalSize ?? 0)
        let evicting = try seconds {
            for key in keys(500) { try disk?.store(value: Data("x".utf8), forKey: key + "#") }
        }
        report("disk store that evicts one of \(count)", evicting / 500 * 1e6, "us")
    }
}

extension DiskBenchmark {
    /// Look-ups while all files are measured.
    private func cleaning(_ disk: DiskStorage?, _ count: Int) throws {
        let isDone = Atomic<Bool>(false)
        var longest = 0.0
        let cleaned = Mutex(0.0)
        let group = DispatchGroup()
        group.enter()
        DispatchQueue.global().async {
            let took = seconds { disk?.removeSizeExceededValues() }
            cleaned.withLock { $0 = took }
            isDone.store(true, ordering: .relaxed)
            group.leave()
        }
        let names = keys(1_000)
        while !isDone.load(ordering: .relaxed) {
            for key in names { longest = max(longest, seconds { _ = disk?.isCached(forKey: key) }) }
        }
        group.wait()
        report("cleaning of \(count) files", cleaned.withLock { $0 } * 1e3, "ms")
        report("isCached beside it, longest", longest * 1e3, "ms")
    }
}

/// A serializer that takes 50 ms a value.
private struct SlowSerializer: CacheSerializer {
    func data(with value: Data, original: Data?) -> Data? {
        if value != Data("there".utf8) { usleep(50_000) }
        return value
    }

    func value(with data: Data) -> Data? { data }
}
