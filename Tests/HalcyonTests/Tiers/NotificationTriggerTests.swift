import Foundation
import Halcyon
import HalcyonTestSupport
import Synchronization
import Testing

@testable import HalcyonCache

@Suite("Notifications as cache triggers", .timeLimit(.minutes(20)))
struct NotificationTriggerTests {
    private static let warning = Notification.Name("test.memoryWarning")
    private static let background = Notification.Name("test.background")
    private static let termination = Notification.Name("test.termination")

    /// The events of a subscriber and the calls to the system, in order.
    private final class Log: Sendable {
        private let entries = Mutex<[String]>([])

        var all: [String] { entries.withLock { $0 } }

        func add(_ entry: String) { entries.withLock { $0.append(entry) } }
    }

    private func trigger(_ center: NotificationCenter, _ log: Log) -> NotificationTrigger {
        NotificationTrigger(
            center: center, memoryWarnings: [Self.warning], backgrounds: [Self.background],
            terminations: [Self.termination], terminationLimit: .seconds(300)
        ) {
            log.add("begin")
            return { log.add("end") }
        }
    }

    @Test("Warning, background and termination are reported until the subscription is cancelled")
    func notificationsAreReportedUntilCancelled() {
        let (center, log) = (NotificationCenter(), Log())
        let subscription = trigger(center, log).subscribe { event in
            switch event {
            case .memoryPressure(let pressure): log.add("memory \(pressure)")
            case .enterBackground(let done):
                log.add("background")
                done()
            }
        }
        center.post(name: Self.warning, object: nil)
        #expect(log.all == ["memory full"])
        center.post(name: Self.background, object: nil)
        #expect(log.all == ["memory full", "begin", "background", "end"])
        center.post(name: Self.termination, object: nil)
        #expect(log.all.suffix(1) == ["background"] && log.all.count == 5)
        center.post(name: Notification.Name("test.other"), object: nil)
        subscription.cancel()
        for name in [Self.warning, Self.background, Self.termination] { center.post(name: name, object: nil) }
        #expect(log.all.count == 5)
    }

    @Test("The thread that posts the termination waits for the disks")
    func terminationWaitsForDisks() async {
        let (center, log) = (NotificationCenter(), Log())
        let subscription = trigger(center, log).subscribe { event in
            guard case .enterBackground(let done) = event else { return }
            Thread.detachNewThread {
                log.add("flushed")
                done()
            }
        }
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                center.post(name: Self.termination, object: nil)
                log.add("posted")
                continuation.resume()
            }
        }
        #expect(log.all == ["flushed", "posted"])
        subscription.cancel()
    }

    @Test("A termination limit of zero does not wait")
    func zeroLimitDoesNotWait() {
        let center = NotificationCenter()
        let trigger = NotificationTrigger(center: center, terminations: [Self.termination], terminationLimit: .zero)
        let subscription = trigger.subscribe { _ in }
        center.post(name: Self.termination, object: nil)
        subscription.cancel()
    }

    @Test("A cache empties its memory on a warning and requests background time once")
    func warningEmptiesMemory() async throws {
        let (center, log) = (NotificationCenter(), Log())
        let folder = try TemporaryFolder()
        let cache = ImageCache<Bitmap>(
            memory: MemoryStorageConfig(totalCostLimit: 1 << 20, expiration: .never, cleanInterval: .zero),
            disk: DiskStorageConfig(name: "test", directory: URL(fileURLWithPath: folder.path), cleanInterval: .zero),
            serializer: BitmapSerializer(), triggers: [trigger(center, log)])
        let sample = try EncodedPicture()
        await cache.store(sample.picture, original: sample.file, forKey: "a", toDisk: true)
        await cache.settleDisk()
        #expect(cache.imageCachedType(forKey: "a") == .memory)
        center.post(name: Self.warning, object: nil)
        await waitUntil { cache.imageCachedType(forKey: "a") == .disk }
        #expect(cache.imageCachedType(forKey: "a") == .disk)
        center.post(name: Self.background, object: nil)
        await waitUntil { log.all == ["begin", "end"] }
        #expect(log.all == ["begin", "end"])
    }
}
