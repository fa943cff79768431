import Foundation
import Halcyon
import HalcyonTrace
import Synchronization

/// Synthetic users who look at a shop's pictures: who asks for what, when, and how large it is. The same each time.
struct BrowsingSession {
    private let trace: Trace

    init(requests: Int) throws {
        var model = BrowsingModel.informative
        model.requests = requests
        model.medianSize = 12_000
        trace = try model.generate(seed: 1)
    }

    /// Asks a cache for one picture after the other, and stores what it does not have, as an app that loads it would.
    func browse(_ cache: ImageCache<Data>, clock: SessionClock) async throws {
        for request in 0..<trace.count {
            clock.set(trace.times[request])
            let key = "https://shop.example/\(trace.names.keys[trace.entries[request]]).jpg"
            let categories = trace.categorySets[trace.categorySet(ofRequest: request)].map {
                trace.names.categories[$0]
            }
            let options = CacheOptions(
                categories: categories, user: trace.names.users[trace.user(ofRequest: request)])
            let found = try await cache.image(forKey: key, options: options)
            if found.image == nil {
                let picture = Data(count: Int(trace.size(ofRequest: request)))
                try await cache.store(picture, forKey: key, options: options).diskCacheResult.get()
            }
        }
    }
}

/// The time at which the users browse, so that days pass in seconds.
final class SessionClock: CacheClock {
    /// The session begins on the first of January 2026.
    private static let start: Int64 = 1_767_225_600_000_000
    private let time = Atomic<Int64>(start)

    var now: Int64 { time.load(ordering: .relaxed) }

    /// Sets the microseconds since the session began.
    func set(_ microseconds: Int64) { time.store(Self.start + microseconds, ordering: .relaxed) }

    /// Nobody waits for this clock: what expires is noticed when it is asked for.
    func sleep(microseconds: Int64) async throws {
        while true { try await Task.sleep(for: .seconds(3_600)) }
    }
}
