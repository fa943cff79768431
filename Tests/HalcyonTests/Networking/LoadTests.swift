import Foundation
import HalcyonTestSupport
import Testing

@Suite("Downloader under load", .timeLimit(.minutes(20)))
struct LoadTests {
    @Test(
        "every load of many tasks ends once, with its image or the right error, and nothing is left",
        arguments: [[], ["manager"]])
    func load(_ through: [String]) async throws {
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
        // Faults were met, and most loads were not.
        #expect((counts["image"] ?? 0) > loads * 3 / 4 && (counts["status"] ?? 0) > 0 && (counts["truncated"] ?? 0) > 0)
        #expect(counts["waiting"] == 0)
        #if os(Linux)
            #expect((counts["descriptorsLeft"] ?? .max) <= 0 && counts["networkThreadsLeft"] == 0)
            // The system's pools of threads breathe: a manager's have up to 64, each with some 50 kB of the heap in use.
            let isManaged = !through.isEmpty
            #expect((counts["threadsLeft"] ?? .max) <= (isManaged ? 64 : 16))
            // A quarter of a megabyte is in use beside them, however many loads there were; what is resident besides, the heap's
            // arenas hold free.
            #expect((counts["heapKilobytesLeft"] ?? .max) <= (isManaged ? 4 : 1) << 10)
            #expect((counts["residentKilobytesLeft"] ?? .max) <= 32 << 10)
        #endif
    }
}
