import Foundation
import Halcyon
import HalcyonEviction
import HalcyonLearning
import HalcyonPrefetch
import HalcyonTestSupport
import Synchronization
import Testing

@testable import HalcyonCache
@testable import HalcyonNetworking
@testable import HalcyonPipeline
@testable import HalcyonPrediction

@Suite("The file of the latest accesses is bounded and tolerates any content", .timeLimit(.minutes(20)))
struct KeptAccessesTests: PredictiveTests {
    /// A policy that records its accesses.
    private final class Listener: PrefetchPolicy {
        private(set) var heard: [Access] = []
        func note(_ access: Access, isHit: Bool) { heard.append(access) }
        func plan(after access: Access, outlook: PrefetchOutlook, into plan: inout PrefetchPlan) {}
        var metadataBytes: Int { 0 }
    }

    let notes = ScriptedPolicy.Notes()

    /// Returns what is kept of accesses to objects with a URL, one access a second.
    private func remembered(_ keys: [String], user: String? = nil, url: (String) -> URL? = fake) -> KeptAccesses {
        var memory = AccessMemory()
        var catalogue = ObjectCatalogue()
        for (second, key) in keys.enumerated() {
            guard let object = catalogue.intern(key, fileName: { _ in nil }) else { continue }
            if let url = url(key) { catalogue.set(Resource(url, cacheKey: key), of: object) }
            let access = Access(entry: object, time: Int64(second) * 1_000_000)
            memory.note(access, user: user, cost: second, isHit: second % 2 == 0)
        }
        return memory.latest(KeptAccesses.most, in: catalogue)
    }

    private func recalled(_ kept: KeptAccesses, now: Int64 = .max) -> (accesses: [Access], again: KeptAccesses) {
        var memory = AccessMemory()
        var catalogue = ObjectCatalogue()
        let policy = Listener()
        memory.recall(kept, into: &catalogue, telling: policy, now: now, fileName: { _ in nil })
        #expect(memory.recalledCount == policy.heard.count)
        return (policy.heard, memory.latest(KeptAccesses.most, in: catalogue))
    }

    @Test("The latest 4,096 accesses are kept in order, also over a second restart")
    func latestAccessesAreKeptInOrder() throws {
        let count = KeptAccesses.most + 1_000
        let kept = remembered((0..<count).map { "\($0 % 5_000)" }, user: "u")
        #expect(kept.accesses.map(\.cost) == Array(1_000..<count) && kept.isSound)
        #expect(kept.accesses.map { kept.objects[$0.object].key } == (1_000..<count).map { "\($0 % 5_000)" })
        #expect(kept.users == ["u"] && kept.objects.count == KeptAccesses.most)
        let (accesses, again) = recalled(kept)
        #expect(
            accesses.map(\.size) == Array(1_000..<count)
                && accesses.map(\.requestNumber) == Array(0..<KeptAccesses.most))
        #expect(accesses.map(\.time) == (1_000..<count).map { Int64($0) * 1_000_000 })
        #expect(again == kept)
    }

    @Test("A file has at most 4 MB: long names reduce the kept accesses, overlong names are dropped")
    func longNamesReduceKeptAccesses() throws {
        let folder = try TemporaryFolder()
        let file = KeptAccessesFile(folder: URL(fileURLWithPath: folder.path))
        let long = String(repeating: "\u{1}", count: 1_000)
        let keys = (0..<1_500).map { "\(long)\($0)" }
        let kept = remembered(keys, url: { _ in nil })
        #expect(kept.accesses.count == 1_500)
        var counts: [Int] = []
        try file.write { count in
            counts.append(count)
            var part = kept
            part.accesses = kept.accesses.suffix(count)
            part.objects = count < 1_500 ? kept.objects.suffix(count) : kept.objects
            for index in part.accesses.indices { part.accesses[index].object = index }
            return part
        }
        #expect(counts == [4_096, 2_048, 1_024, 512])
        let read = try #require(try file.read())
        #expect(read.accesses.count == 512 && read.objects.last?.key == keys.last)
        #expect(remembered(["a", String(repeating: "x", count: KeptAccesses.mostText + 1)]).objects.count == 1)
    }

    @Test("A URL with a password is not kept; a key equal to its URL is written once")
    func urlWithPasswordIsNotKept() {
        let kept = remembered(["http://u:p@fake/a", "http://fake/b", "c"]) {
            URL(string: $0.count > 1 ? $0 : "http://fake/c")
        }
        #expect(
            kept.objects == [
                KeptAccesses.Object(url: "http://fake/b"), KeptAccesses.Object(key: "c", url: "http://fake/c"),
            ])
    }

    @Test("Times in the future are clamped to now")
    func futureTimesAreClampedToNow() {
        let (accesses, again) = recalled(remembered(["a", "b", "c", "d"]), now: 1_500_000)
        #expect(accesses.map(\.time) == [0, 1_000_000, 1_500_000, 1_500_000])
        #expect(again.accesses.map(\.time) == accesses.map(\.time))
    }

    /// Bad files, each with a part of its error.
    private static let bad: [(contents: String, fault: String)] = {
        func file(
            version: String = "1", objects: String = #"{"url":"http://fake/a"}"#, object: String = "0",
            user: String = "0", categories: String = "0", time: String = "5", cost: String = "7"
        ) -> String {
            #"{"version":\#(version),"users":["u"],"categorySets":[["x"]],"objects":[\#(objects)],"accesses":[{"object":"#
                + #"\#(object),"user":\#(user),"categories":\#(categories),"time":\#(time),"cost":\#(cost),"#
                + #""isHit":true}]}"#
        }
        let good = file()
        let damaged = [
            "", "no file", "[]", #"{"version":1}"#, String(good.dropLast()), String(good.prefix(90)),
            file(version: "0"),
            file(version: "1e30"), file(object: "1"), file(object: "-1"), file(user: "1"), file(user: "-9"),
            file(categories: "1"), file(categories: "-1"), file(time: "-1"), file(time: "9223372036854775807"),
            file(time: "1e400"), file(cost: "-1"), file(cost: "9223372036854775807"), file(objects: "{}"),
            file(objects: #"{"key":"a","bytes":-1}"#), file(objects: #"{"key":"a","bytes":9223372036854775807}"#),
            file(objects: #"{"url":"a"}"#), file(objects: #"{"url":""}"#), file(object: "null"),
            String(repeating: "[", count: 100_000),
        ]
        return damaged.map { ($0, "damaged") } + [
            (file(version: "3"), "later release"), (#"{"version":3,"other":[]}"#, "later release"),
            (good + String(repeating: " ", count: KeptAccessesFile.mostBytes), "4194304"),
        ]
    }()

    @Test("A bad file is counted, described in one sentence, ignored and replaced", arguments: bad.indices)
    func badFileIsCountedAndReplaced(index: Int) async throws {
        let bad = Self.bad[index]
        let fixture = try ManagerFixture(FakeTransport(answerAtOnce: try EncodedPicture().file))
        let file = KeptAccessesFile(folder: try #require(fixture.cache.diskStorage).folder.hidden)
        try Data(bad.contents.utf8).write(to: file.url)
        let predictive = fixture.manager.startPredicting(configuration())
        _ = try await fixture.manager.image(for: resource("a"))
        await predictive.settle()
        let statistics = await predictive.statistics
        #expect(statistics.modelFaults == 1 && statistics.accesses == 1)
        let fault = try #require(await predictive.modelFault)
        #expect(fault.hasPrefix(file.url.path) && fault.contains(bad.fault) && fault.hasSuffix("."))
        #expect(notes.take() == ["miss 0 in 0 by 0", "plan after 0: []"])
        await predictive.save()
        #expect(try file.read()?.accesses.count == 1)
        #expect(await predictive.statistics.modelFaults == 1)
    }

    @Test("A folder in place of the file is counted, and configuration continues")
    func folderInPlaceOfFileIsCounted() async throws {
        let fixture = try ManagerFixture(FakeTransport(answerAtOnce: try EncodedPicture().file))
        let file = KeptAccessesFile(folder: try #require(fixture.cache.diskStorage).folder.hidden)
        try FileManager.default.createDirectory(
            at: file.url.appendingPathComponent("x"), withIntermediateDirectories: true)
        let predictive = fixture.manager.startPredicting(configuration())
        _ = try await fixture.manager.image(for: resource("a"))
        await predictive.save()
        #expect(await predictive.statistics.modelFaults == 2)
    }
}
