import Foundation
import HalcyonTestSupport
import Testing

@Suite("Downloader under load", .timeLimit(.minutes(20)))
struct LoadTests {
    @Test(
        "Every load of many tasks ends once with its image or the right error, and nothing leaks",
        arguments: [[], ["manager"]])
    func everyLoadEndsOnceAndLeaksNothing(_ through: [String]) async throws {
        let (loads, tasks, urls, rounds) = SoakLength.isLong ? (10_000, 200, 2_000, 4) : (1_000, 50, 200, 1)
        let process = try ChildProcess(
            BuiltExecutable.url("NetworkLoadProcess").path,
            through + [loads, tasks, urls, 5, rounds].map(String.init),
            output: .pipe)
        let text = await process.output()
        #expect(await process.ended() == .exited(0))
        let counts = try JSONDecoder().decode([String: Int].self, from: text)
        print("load: \(String(decoding: text, as: UTF8.self))")
        let good = ["image", "cancelled", "truncated", "lost", "status", "garbage", "timed out"]
        let other = [
            "requests", "waiting", "over the limits", "descriptorsLeft", "networkThreadsLeft", "threadsLeft",
            "residentKilobytesLeft",
            "heapKilobytesLeft",
        ]
        #expect(good.reduce(0) { $0 + (counts[$1] ?? 0) } == loads)
        #expect(Set(counts.keys).subtracting(good).subtracting(other).isEmpty)
        // Some loads met faults, most did not.
        #expect((counts["image"] ?? 0) > loads * 3 / 4 && (counts["status"] ?? 0) > 0 && (counts["truncated"] ?? 0) > 0)
        #expect(counts["waiting"] == 0)
        #if os(Linux)
            #expect((counts["descriptorsLeft"] ?? .max) <= 0 && counts["networkThreadsLeft"] == 0)
            // The system's thread pools vary in size: a manager's have up to 64 threads, each with some 50 kB of
            // heap.
            let isManaged = !through.isEmpty
            #expect((counts["threadsLeft"] ?? .max) <= (isManaged ? 64 : 16))
            // Beside them, a quarter of a megabyte is in use for any number of loads. The other resident pages are
            // free heap arenas.
            #expect((counts["heapKilobytesLeft"] ?? .max) <= (isManaged ? 4 : 1) << 10)
            #expect((counts["residentKilobytesLeft"] ?? .max) <= 32 << 10)
        #endif
    }
}
