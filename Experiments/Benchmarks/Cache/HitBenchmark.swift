import Foundation
import Halcyon
import HalcyonEviction

/// Hits from 1, 4 and 8 tasks through each layer of the cache, beside a dictionary with LRU behind a lock.
///
/// All subjects hold the same images under the same keys and serve the same sequence of keys, each task from its own offset.
/// One round measures every subject once; rounds follow each other, so that a slow minute of the machine meets all subjects.
struct HitBenchmark {
    private static let rounds = 21
    private static let hits = 80_000
    private static let taskCounts = [1, 4, 8]

    private let keys: [String]
    private let order: [Int]
    private let resources: [Resource]
    /// The same without categories and a user.
    private let plain: [Resource]
    private let images: [Bitmap]

    init() {
        let keys = CacheBenchmark.keys(2_000)
        self.keys = keys
        var random = SplitMix64(seed: 7)
        order = (0..<(1 << 15)).map { _ in random.next(below: keys.count) }
        let urls = keys.compactMap { URL(string: $0) }
        resources = urls.map { Resource($0, categories: ["shoes"], user: "u1") }
        plain = urls.map { Resource($0) }
        // Each has bytes of its own, whose references are counted apart.
        images = keys.compactMap { _ in
            Bitmap(width: 8, height: 8, color: PixelColor(red: 1, green: 2, blue: 3))
        }
    }

    /// Prints the nanoseconds of a hit (time of all hits ÷ their number), and the ratio to the faster of the two dictionaries.
    func run() async throws {
        try await withSubjects { subjects in
            var times = [[[Double]]](
                repeating: Array(repeating: [], count: Self.taskCounts.count), count: subjects.count)
            for round in 0..<Self.rounds {
                for place in subjects.indices {
                    // Each round begins with another subject.
                    let number = (place + round) % subjects.count
                    for (column, tasks) in Self.taskCounts.enumerated() {
                        let time = try await time(subjects[number], tasks: tasks)
                        times[number][column].append(time / Double(Self.hits) * 1e9)
                    }
                }
            }
            table(subjects.map(\.name), times)
        }
    }

    /// Serves rounds of hits through the subjects whose names begin so, from one task; for a tool that counts instructions.
    func count(_ prefix: String, rounds: Int) async throws {
        try await withSubjects { subjects in
            for subject in subjects where subject.name.hasPrefix(prefix) {
                for _ in 0..<rounds { _ = try await time(subject, tasks: 1) }
            }
        }
    }

    private func withSubjects(_ work: ([Subject]) async throws -> Void) async throws {
        precondition(
            images.count == keys.count && resources.count == keys.count, "an image and an address for each key")
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("halcyon-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let memory = MemoryStorage<Bitmap>(config: .init(totalCostLimit: 1 << 30))
        let mutexed = MutexDictionary<Bitmap>(limit: 1 << 30)
        let composed = MutexDictionary<Bitmap>(limit: 1 << 30)
        let locked = LockDictionary<Bitmap>(limit: 1 << 30)
        let cache = ImageCache(
            memory: .init(totalCostLimit: 1 << 30), disk: .init(name: "hits", directory: folder),
            serializer: BitmapSerializer(), triggers: [])
        let manager = HalcyonManager(cache: cache)
        var now = ImageOptions()
        now.callbackQueue = .untouch
        let options = CacheOptions(categories: ["shoes"], user: "u1")
        for (key, image) in zip(keys, images) {
            memory.store(value: image, forKey: key, context: options.context)
            mutexed.store(image, cost: image.cacheCost, forKey: key)
            locked.store(image, cost: image.cacheCost, forKey: key)
            await cache.store(image, forKey: key, toDisk: false, options: options)
        }
        let (keys, resources, plain, context, callbacks) = (keys, resources, plain, options.context, now)
        let processor = DownsamplingImageProcessor(size: PixelSize(width: 200, height: 200))
        let thumbnails = ImageOptions(processor: processor)
        for (key, image) in zip(keys, images) {
            let variant = EntryKey(key, processorIdentifier: processor.identifier)
            await cache.store(image, forKey: variant, toDisk: false, options: options)
            composed.store(image, cost: image.cacheCost, forKey: variant.computed)
        }
        try await work([
            Subject("dictionary, Mutex") { mutexed.value(forKey: keys[$0]) != nil },
            Subject("dictionary, NSLock") { locked.value(forKey: keys[$0]) != nil },
            Subject("dictionary, keys composed") {
                composed.value(forKey: "\(keys[$0])@\(processor.identifier)") != nil
            },
            Subject("MemoryStorage.value") { memory.value(forKey: keys[$0], context: context) != nil },
            Subject("ImageCache.imageInMemory") { cache.imageInMemory(forKey: keys[$0], options: options) != nil },
            Subject(waiting: "ImageCache.image, async") {
                try await cache.image(forKey: keys[$0], options: options).image != nil
            },
            Subject("HalcyonManager.imageInMemory") { manager.imageInMemory(for: resources[$0]) != nil },
            Subject("the same, no category, no user") { manager.imageInMemory(for: plain[$0]) != nil },
            Subject("the same with a processor") {
                manager.imageInMemory(for: resources[$0], options: thumbnails) != nil
            },
            Subject("HalcyonManager.retrieveImage, callback") {
                manager.retrieveImage(with: resources[$0], options: callbacks) { _ in }
                return true
            },
            Subject(waiting: "HalcyonManager.image, async") {
                try await manager.image(for: resources[$0]).cacheType == .memory
            },
        ])
    }

    private func time(_ subject: Subject, tasks: Int) async throws -> Double {
        let (share, order) = (Self.hits / tasks, order)
        let start = ContinuousClock.now
        let found = try await withThrowingTaskGroup(of: Int.self) { group in
            for task in 0..<tasks {
                group.addTask { try await subject.serve(order, task &* 4_099, share) }
            }
            return try await group.reduce(0, +)
        }
        let (whole, rest) = (ContinuousClock.now - start).components
        precondition(found == share * tasks, "\(subject.name): every look-up is a hit")
        return Double(whole) + Double(rest) * 1e-18
    }

    private func table(_ names: [String], _ times: [[[Double]]]) {
        let medians = times.map { $0.map { $0.sorted()[$0.count / 2] } }
        let minima = times.map { $0.map { $0.min() ?? 0 } }
        let title = "ns a hit, median (minimum) of \(Self.rounds)".padding(toLength: 42, withPad: " ", startingAt: 0)
        print(title + Self.taskCounts.map { "        \($0) tasks        " }.joined() + " over dictionary")
        for (number, name) in names.enumerated() {
            var line = name.padding(toLength: 42, withPad: " ", startingAt: 0)
            for column in Self.taskCounts.indices {
                line += String(format: "%10.1f (%8.1f) ", medians[number][column], minima[number][column])
            }
            for column in Self.taskCounts.indices {
                line += String(format: " %5.2f", medians[number][column] / min(medians[0][column], medians[1][column]))
            }
            print(line)
        }
    }
}

/// One layer that serves hits.
private struct Subject: Sendable {
    let name: String
    /// Serves hits of an order from an offset, so many; returns how many were found.
    let serve: @Sendable (_ order: [Int], _ offset: Int, _ count: Int) async throws -> Int

    init(_ name: String, _ hit: @escaping @Sendable (Int) -> Bool) {
        self.name = name
        serve = { order, offset, count in
            var found = 0
            for step in 0..<count where hit(order[(offset &+ step) & (order.count &- 1)]) { found += 1 }
            return found
        }
    }

    init(waiting name: String, _ hit: @escaping @Sendable (Int) async throws -> Bool) {
        self.name = name
        serve = { order, offset, count in
            var found = 0
            for step in 0..<count where try await hit(order[(offset &+ step) & (order.count &- 1)]) { found += 1 }
            return found
        }
    }
}
