import Foundation
import Halcyon
import HalcyonCurl
import HalcyonEviction
import HalcyonTestSupport
import Synchronization

/// Many loads by many tasks through a manager over a cache that has room for some of the pictures. Some answers of the server are
/// faults. The loads have options at random, some are cancelled, and entries are prefetched and removed meanwhile. Some private answers
/// show their user by the colour of the picture, so that an answer to another user is a wrong image.
struct ManagerLoad {
    let loads: Int
    let tasks: Int
    let urls: Int
    let faults: Int

    /// Runs it, and returns how often each thing came of a load; each ends in one count.
    func run() async throws -> [String: Int] {
        let requests = Atomic<Int>(0)
        let server = try HostileServer { [faults] visit in
            let number = requests.wrappingAdd(1, ordering: .relaxed).newValue
            let picture = Int(visit.path.dropFirst()) ?? 0
            let control = ["no-store", "private, max-age=60", "no-cache", "max-age=60", "max-age=60"][picture % 5]
            let user = visit.headers["x-user"]
            visit.answer(
                of: Self.file(picture, user), fault: number % 100 < faults ? number / 100 % 6 : nil,
                headers: ["ETag: \"\(picture)\(user ?? "")\"", "Cache-Control: \(control)"])
        }
        let folder = try TemporaryFolder()
        let cache = ImageCache<Bitmap>(
            memory: MemoryStorageConfig(totalCostLimit: 50_000),
            disk: DiskStorageConfig(name: "load", directory: URL(fileURLWithPath: folder.path), sizeLimit: 2_000_000),
            serializer: BitmapSerializer(), triggers: [])
        let downloader = NetworkLoad.downloader()
        let manager = HalcyonManager(cache: cache, downloader: downloader)
        var counts = await withTaskGroup(of: [String: Int].self) { group in
            for task in 0..<tasks { group.addTask { await loads(of: task, manager, server) } }
            return await group.reduce(into: [:]) { $0.merge($1) { $0 + $1 } }
        }
        await cache.close()
        counts["requests"] = server.visits.count
        counts["waiting"] = downloader.waiterCount + downloader.transferCount
        counts["over the limits"] = [
            cache.statistics.memory.cost > 50_000, cache.statistics.disk.cost > 2_000_000,
        ].count { $0 }
        return counts
    }

    /// The loads of one task, one after the other.
    private func loads(of task: Int, _ manager: HalcyonManager, _ server: HostileServer) async -> [String: Int] {
        var counts: [String: Int] = [:]
        var random = SplitMix64(seed: UInt64(task) + 1)
        for _ in 0..<loads / tasks {
            let number = random.next(below: urls)
            let user = "u\(random.next(below: 3))"
            let resource = Resource(server.url("/\(number)"), user: user)
            // Half of the private pictures; of the others users share transfers.
            let shown = number % 10 == 1 ? user : nil
            var options = ImageOptions()
            if random.next(below: 3) == 0 { options.processor = BlackWhiteImageProcessor() }
            if random.next(below: 2) == 0 { options.freshness = FreshnessPolicy() }
            options.forceRefresh = random.next(below: 20) == 0
            options.cacheOriginalImage = random.next(below: 2) == 0
            options.waitForCache = random.next(below: 4) == 0
            switch random.next(below: 40) {
            case 0: await manager.remove(resource.source.url ?? server.url("/"))
            case 1: manager.cache.clearMemoryCache()
            case 2: await manager.cache.remove(forKey: resource.cacheKey)
            case 3:
                let next = (0..<3).map { Resource(server.url("/\((number + $0) % urls)")) }
                _ = await ImagePrefetcher(resources: next, manager: manager, options: options).run()
            default: break
            }
            let isCancelled = random.next(below: 20) == 0
            let pause = random.next(below: 3_000)
            if let shown {
                options.requestModifier = AnyModifier { request in
                    var request = request
                    request.headers["X-User"] = shown
                    return request
                }
            }
            let load = Task { [options] in try await manager.image(for: resource, options: options).image }
            if isCancelled {
                try? await Task.sleep(for: .microseconds(pause))
                load.cancel()
            }
            let name =
                switch await load.result {
                case .success(let image):
                    image == Self.picture(number, shown, options.processor) ? "image" : "wrong image"
                case .failure(let error): NetworkLoad.name(of: error, isCancelled)
                }
            counts[name, default: 0] += 1
        }
        return counts
    }

    /// The picture of a URL for a user, different for each URL up to 65,536, and what a processor makes of it.
    private static func picture(
        _ number: Int, _ user: String?, _ processor: (any ImageProcessor)? = nil
    ) -> Bitmap? {
        let blue: UInt8 =
            switch user {
            case "u0": 20
            case "u1": 160
            case "u2": 230
            default: 90
            }
        let color = PixelColor(
            red: UInt8(truncatingIfNeeded: number), green: UInt8(truncatingIfNeeded: number >> 8), blue: blue)
        guard let picture = Bitmap(width: 8, height: 6, color: color) else { return nil }
        guard let processor else { return picture }
        return try? processor.process(.image(picture), decoder: ImageDecoder())
    }

    private static func file(_ number: Int, _ user: String?) -> [UInt8] {
        picture(number, user).flatMap { try? ImageEncoder.png().encode($0) }.map { Array($0) } ?? []
    }
}
