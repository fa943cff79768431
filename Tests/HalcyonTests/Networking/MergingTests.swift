import Foundation
import Halcyon
import Testing

@testable import HalcyonCurl
@testable import HalcyonNetworking

@Suite("Merging of requests", .timeLimit(.minutes(20)))
struct MergingTests {
    typealias State = MergingState<String, String>

    @Test("Waiters of one key share one transfer, and all receive the value")
    func waitersOfOneKeyShareOneTransfer() {
        var state = State()
        #expect(state.handle(.join(1, "a", "p", .normal)) == [.start(1, "a", .normal)])
        for token in 2...36 { #expect(state.handle(.join(UInt64(token), "a", "p", .normal)) == []) }
        #expect(state.handle(.finished(1, succeeded: true)) == [.process(1, "p", .normal)])
        // A waiter that joins during processing needs no transfer.
        #expect(state.handle(.join(37, "a", "p", .high)) == [.setWorkPriority(1, "p", .high)])
        #expect(
            state.handle(.processed(1, "p", succeeded: true)) == [.deliver(Array(1...37), 1, "p"), .forget(1)])
        #expect(state.waiterCount == 0 && state.transferCount == 0)
        #expect(state.handle(.join(38, "a", "p", .normal)) == [.start(2, "a", .normal)])
    }

    @Test("A leaving waiter leaves the others; the last one cancels the transfer")
    func lastWaiterToLeaveCancelsTransfer() {
        var state = State()
        _ = state.handle(.join(1, "a", "p", .normal))
        _ = state.handle(.join(2, "a", "p", .normal))
        #expect(state.handle(.leave(1)) == [.cancelled(1)])
        #expect(state.handle(.leave(1)) == [])
        #expect(state.handle(.leave(2)) == [.cancelled(2), .cancel(1)])
        // A cancelled transfer may end a moment later; no waiter receives it.
        #expect(state.handle(.finished(1, succeeded: true)) == [])
        #expect(state.handle(.join(3, "a", "p", .normal)) == [.start(2, "a", .normal)])
        #expect(state.handle(.finished(1, succeeded: false)) == [])
        #expect(state.waiterCount == 1)
    }

    @Test("Equal processors run once per transfer, different ones separately")
    func equalProcessorsRunOncePerTransfer() {
        var state = State()
        _ = state.handle(.join(1, "a", "blur", .normal))
        _ = state.handle(.join(2, "a", "round", .normal))
        _ = state.handle(.join(3, "a", "blur", .normal))
        _ = state.handle(.join(4, "a", "tint", .normal))
        _ = state.handle(.leave(4))
        #expect(
            state.handle(.finished(1, succeeded: true)) == [
                .process(1, "blur", .normal), .process(1, "round", .normal),
            ])
        #expect(state.handle(.processed(1, "blur", succeeded: true)) == [.deliver([1, 3], 1, "blur")])
        // A finished value is delivered at once.
        #expect(state.handle(.join(5, "a", "blur", .normal)) == [.deliver([5], 1, "blur")])
        #expect(state.handle(.join(6, "a", "tint", .normal)) == [.process(1, "tint", .normal)])
        #expect(state.handle(.processed(1, "round", succeeded: false)) == [.deliver([2], 1, "round")])
        #expect(state.handle(.processed(1, "tint", succeeded: true)) == [.deliver([6], 1, "tint"), .forget(1)])
    }

    @Test("A failure reaches every waiter, and the next one starts a new transfer")
    func failureReachesEveryWaiterAndIsForgotten() {
        var state = State()
        for token in 1...3 { _ = state.handle(.join(UInt64(token), "a", "p\(token)", .normal)) }
        #expect(state.handle(.finished(1, succeeded: false)) == [.fail([1, 2, 3], 1), .forget(1)])
        #expect(state.handle(.join(4, "a", "p", .low)) == [.start(2, "a", .low)])
        _ = state.handle(.finished(2, succeeded: true))
        #expect(state.handle(.processed(2, "p", succeeded: false)) == [.deliver([4], 2, "p"), .forget(2)])
    }

    @Test("A transfer has the highest priority of its waiters")
    func transferHasHighestPriorityOfWaiters() {
        var state = State()
        _ = state.handle(.join(1, "a", "p", .low))
        #expect(state.handle(.join(2, "a", "p", .high)) == [.setPriority(1, .high)])
        #expect(state.handle(.join(3, "a", "p", .normal)) == [])
        #expect(state.handle(.leave(2)) == [.cancelled(2), .setPriority(1, .normal)])
        #expect(state.handle(.setPriority(1, .veryHigh)) == [.setPriority(1, .veryHigh)])
        #expect(state.handle(.setPriority(3, .veryLow)) == [])
        #expect(state.handle(.setPriority(9, .veryHigh)) == [])
    }

    @Test("Queued work has the highest priority of the waiters of its processor, after the bytes are there")
    func workHasHighestPriorityOfItsWaiters() {
        var state = State()
        _ = state.handle(.join(1, "a", "p", .low))
        _ = state.handle(.join(2, "a", "q", .veryLow))
        #expect(state.handle(.finished(1, succeeded: true)) == [.process(1, "p", .low), .process(1, "q", .veryLow)])
        // A visible load joins, and its priority changes; the work of the other processor stays where it is.
        #expect(state.handle(.join(3, "a", "p", .normal)) == [.setWorkPriority(1, "p", .normal)])
        #expect(state.handle(.setPriority(3, .veryHigh)) == [.setWorkPriority(1, "p", .veryHigh)])
        #expect(state.handle(.join(4, "a", "p", .high)) == [])
        // It is lowered step by step as the visible loads leave.
        #expect(state.handle(.leave(3)) == [.cancelled(3), .setWorkPriority(1, "p", .high)])
        #expect(state.handle(.leave(4)) == [.cancelled(4), .setWorkPriority(1, "p", .low)])
        #expect(state.handle(.setPriority(2, .low)) == [.setWorkPriority(1, "q", .low)])
        #expect(state.isWaitedFor(1, "q"))
        #expect(state.handle(.leave(2)) == [.cancelled(2)])
        #expect(!state.isWaitedFor(1, "q"))
    }

    @Test("The last waiter may leave while its picture is processed")
    func lastWaiterMayLeaveDuringProcessing() {
        var state = State()
        _ = state.handle(.join(1, "a", "p", .normal))
        _ = state.handle(.finished(1, succeeded: true))
        #expect(state.handle(.leave(1)) == [.cancelled(1), .cancel(1)])
        #expect(state.handle(.processed(1, "p", succeeded: true)) == [])
        #expect(state.transferCount == 0)
    }

    @Test("Requests that could get different responses are not merged")
    func requestsWithDifferentResponsesAreNotMerged() throws {
        let url = try #require(URL(string: "https://example.com/a.png"))
        func key(_ change: (inout TransportRequest) -> Void = { _ in }) -> MergeKey {
            var request = TransportRequest(url)
            change(&request)
            return MergeKey(request)
        }
        let differing: [(inout TransportRequest) -> Void] = [
            { $0.url = URL(string: "https://example.com/a.png?v=2") ?? url },
            { $0.headers["Authorization"] = "Bearer 1" }, { $0.headers["Authorization"] = "Bearer 2" },
            { $0.headers["Cookie"] = "user=1" }, { $0.headers["Accept"] = "image/webp" },
            { $0.credential = Credential(user: "ada", password: "engine") },
            { $0.credential = Credential(user: "ada", password: "other") },
            { $0.method = "HEAD" }, { $0.body = Data([1]) }, { $0.tls.isVerified = false },
            { $0.proxy = .url("http://localhost:1") }, { $0.limits.responseBytes = 10 },
            { $0.headers["Range"] = "bytes=0-9" },
            { $0.tls.authorities = URL(fileURLWithPath: "/ca.pem") }, { $0.tls.pinnedPublicKey = "sha256//a" },
            { $0.limits.redirects = 1 }, { $0.sensitiveHeaders = ["x-key"] }, { $0.crossOriginHeaders = ["accept"] },
            { $0.allowedSchemes = ["https"] }, { $0.httpVersion = .http1 }, { $0.acceptsCompression = false },
        ]
        let keys = [key()] + differing.map { key($0) }
        #expect(Set(keys).count == keys.count)
        let same: [(inout TransportRequest) -> Void] = [
            { $0.priority = .high }, { $0.timeouts.whole = .seconds(1) }, { $0.headers["X-Request-ID"] = "77" },
            { $0.url = URL(string: "https://example.com/a.png#part") ?? url },
        ]
        for change in same { #expect(key(change) == key()) }
        let ordered = key { $0.headers = ["A": "1", "B": "2"] }
        #expect(ordered == key { $0.headers = ["b": "2", "a": "1"] })
        #expect(ordered != key { $0.headers = ["A": "2", "B": "1"] })
    }
}
