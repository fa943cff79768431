import Foundation
import Halcyon
import HalcyonTestSupport
import HalcyonTrace
import Testing

@Suite("The README's image cache", .timeLimit(.minutes(20)))
struct ReadmeTests {
    @Test("The README's code compiles, caches and records")
    func readmeCodeCachesAndRecords() async throws {
        let temporary = try TemporaryFolder()
        let folder = URL(fileURLWithPath: temporary.path)
        let url = try #require(URL(string: "https://shop.example/a.jpg"))
        for shown in [[], [Data("a".utf8)]] {
            try await serve(folder, url, shown)
        }
        let trace = try Trace.load("\(temporary.path)/access.sqlite")
        #expect(trace.entries == [0, 0] && trace.distinctSize == 1)
    }

    @Test("The README prints the tested code")
    func readmePrintsTestedCode() throws {
        var root = URL(fileURLWithPath: #filePath)
        for _ in 0..<4 { root.deleteLastPathComponent() }
        let readme = try String(contentsOf: root.appendingPathComponent("README.md"), encoding: .utf8)
        let chapter = try #require(readme.components(separatedBy: "whose accesses are recorded for replay:\n").last)
        let printed = chapter.split(separator: "\n").drop { $0 != "```swift" }.dropFirst().prefix { $0 != "```" }
            .filter { !$0.hasPrefix("import ") }
        let source = try String(contentsOfFile: #filePath, encoding: .utf8)
        let body = source.split(separator: "\n").drop { $0 != "        // As printed:" }.dropFirst()
        let compiled = body.prefix { $0 != "    }" }.map { $0.dropFirst(8) }
        #expect(printed == compiled && printed.count > 10)
    }

    private func serve(_ folder: URL, _ url: URL, _ shown: [Data]) async throws {
        func show(_ image: Data) { #expect(shown == [image]) }
        func download(_ url: URL) async throws -> Data {
            #expect(shown.isEmpty)
            return Data("a".utf8)
        }
        // As printed:
        let log = AccessLog(path: folder.path + "/access.sqlite")
        let cache = try ImageCache<Data>(
            memory: .init(totalCostLimit: 64 << 20),
            disk: .init(name: "images", directory: folder, sizeLimit: 500 << 20),
            memoryPolicyNamed: "learned", diskPolicyNamed: "s3-fifo", in: .standard, recorder: log)
        let options = CacheOptions(categories: ["shoes"], user: "u7")
        if let image = try await cache.image(forKey: url.absoluteString, options: options).image {
            show(image)
        } else {
            await cache.store(try await download(url), forKey: url.absoluteString, options: options)
        }
        try await log.close()
    }
}
