import Foundation
import HalcyonViews

/// The time from the request of a cached image until the view shows it. From disk, it is measured with the file in the
/// system's cache and without. From memory, it is measured beside a look-up without a binding.
@MainActor
struct HitBenchmark {
    private let images = isShort ? 5 : 200
    private let hits = isShort ? 1_000 : 200_000

    func run() async throws {
        try await withFolder { folder in
            let file = try photograph(width: 400, height: 300)
            let manager = manager(in: folder)
            let resources = (0..<images).map { Resource(.data(file, cacheKey: "\($0)")) }
            let options = ImageOptions { $0.waitForCache = true }
            for resource in resources { _ = try await manager.image(for: resource, options: options) }
            print("a cached JPEG of 400 × 300 (\(file.count) bytes), until the view shows it")
            for isCold in [false, true] {
                let times = try await fromDisk(resources, manager, isCold)
                let name = isCold ? "cold" : "warm"
                report("  from disk, \(name): median of \(images)", median(times), "ms")
                report("  from disk, \(name): 99th percentile", times.sorted()[images * 99 / 100], "ms")
            }
            fromMemory(resources[0], manager)
        }
    }

    private func fromDisk(_ resources: [Resource], _ manager: HalcyonManager, _ isCold: Bool) async throws -> [Double] {
        manager.cache.clearMemoryCache()
        if isCold {
            for resource in resources { forget(manager.cache.diskStorage?.cacheFileURL(forKey: resource.cacheKey)) }
        }
        var times: [Double] = []
        for resource in resources {
            let view = PlainView(manager)
            let start = ContinuousClock.now
            var end: ContinuousClock.Instant?
            view.images.setImage(with: resource) { result in
                if case .success(let result) = result, result.cacheType == .disk { end = .now }
            }
            while end == nil { await Task.yield() }
            if let end { times.append(milliseconds(end - start)) }
        }
        return times
    }

    /// Removes a file from the system's cache.
    private func forget(_ file: URL?) {
        #if os(Linux)
            guard let file else { return }
            let descriptor = open(file.path, O_RDONLY)
            guard descriptor >= 0 else { return }
            fsync(descriptor)
            posix_fadvise(descriptor, 0, 0, Int32(POSIX_FADV_DONTNEED))
            close(descriptor)
        #endif
    }

    private func fromMemory(_ resource: Resource, _ manager: HalcyonManager) {
        let view = PlainView(manager)
        let clock = ContinuousClock()
        var (bound, plain): ([Double], [Double]) = ([], [])
        for _ in 0..<5 {
            bound.append(
                milliseconds(clock.measure { for _ in 0..<hits { view.images.setImage(with: resource) } }))
            plain.append(
                milliseconds(
                    clock.measure {
                        for _ in 0..<hits {
                            if let found = manager.imageInMemory(for: resource) {
                                view.display(found.image, transition: .none)
                            }
                        }
                    }))
        }
        report("  from memory, by a binding: median of 5 × \(hits)", median(bound) / Double(hits) * 1e6, "ns")
        report("  from memory, without a binding", median(plain) / Double(hits) * 1e6, "ns")
    }
}
