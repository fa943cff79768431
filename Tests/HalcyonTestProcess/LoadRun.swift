import Foundation
import Halcyon
import HalcyonAccessLog
import HalcyonEviction
import HalcyonLearning

/// Eight threads at once at a memory storage, a disk storage, two image caches, one of which is closed and opened again and again, and
/// their log, for some time; then every cost and count is held against what is there.
struct LoadRun {
    static let threads = 8
    static let logRows = 50_000

    let memory: MemoryStorage<Data>
    let disk: DiskStorage
    let cache: ImageCache<Data>
    let reopened: ReopenedCache
    let log: AccessLog
    let seed: UInt64

    /// The seed also chooses the policies.
    init(directory: URL, seed: UInt64) throws {
        self.seed = seed
        let names = ["lru", "s3-fifo", "learned", "gdsf", "w-tinylfu", "arc"]
        let policy = try names.map { try PolicyCatalogue.standard.policy($0) }
        let policies = (0..<3).map { policy[(Int(seed % 64) + 2 + $0) % policy.count] }
        func policyNumber(_ number: Int) -> ConfiguredPolicy { policy[(Int(seed % 64) + number) % policy.count] }
        let rules = ["c1": CategoryRule(costLimit: 30_000, priority: 1), "c2": CategoryRule(isProtected: true)]
        let limits = MemoryStorageConfig(
            totalCostLimit: 100_000, expiration: .never, cleanInterval: .seconds(0.01), categoryRules: rules)
        memory = MemoryStorage(config: limits, configured: policyNumber(0), onRemoval: { _ in })
        disk = try DiskStorage(
            config: .init(name: "disk", directory: directory, sizeLimit: 500_000, categoryRules: rules),
            configured: policyNumber(1))
        var logging = AccessLog.Configuration()
        logging.bounds = AccessLog.Bounds(rows: Self.logRows, bytes: nil, days: nil)
        logging.flushInterval = .milliseconds(50)
        log = AccessLog(path: directory.appendingPathComponent("access.sqlite").path, logging)
        let (log, trigger) = (log, trigger)
        @Sendable func cache(_ name: String, _ number: Int) -> ImageCache<Data> {
            ImageCache(
                memory: limits, disk: .init(name: name, directory: directory, sizeLimit: 500_000),
                memoryPolicy: policies[number], diskPolicy: policies[number + 1], serializer: TransformingSerializer(),
                recorder: log, triggers: [trigger])
        }
        self.cache = cache("cache", 0)
        reopened = ReopenedCache { cache("reopened", 1) }
    }

    let trigger = ManualTrigger()

    func run(seconds: Double) throws {
        let end = Date(timeIntervalSinceNow: seconds)
        let tallies = LoadTallies()
        let running = DispatchGroup()
        Main.say("ready")
        for number in 0..<Self.threads {
            running.enter()
            let (memory, disk, cache, reopened) = (memory, disk, cache, reopened)
            let (log, trigger, seed) = (log, trigger, seed)
            Thread.detachNewThread {
                var mix = LoadMix(
                    memory: memory, disk: disk, cache: cache, reopened: reopened, log: log, trigger: trigger,
                    tallies: tallies, number: number, random: SplitMix64(seed: seed &* 1_000 &+ UInt64(number)))
                do {
                    while Date() < end { for _ in 0..<20 { try mix.step() } }
                } catch {
                    Main.fail("\(error)")
                }
                running.leave()
            }
        }
        running.wait()
        tallies.pending.wait()
        // What expires does so at once or never; nothing that may expire is left after this.
        Thread.sleep(forTimeInterval: 0.1)
        try LoadCheck(run: self, tallies: tallies).check()
        Main.say(
            "\(tallies.steps) steps by \(Self.threads) threads, \(log.statistics.recorded) accesses recorded, "
                + "\(reopened.all.count) caches opened")
    }
}
