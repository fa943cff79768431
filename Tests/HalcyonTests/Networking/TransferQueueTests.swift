import Foundation
import Halcyon
import HalcyonEviction
import HalcyonTestSupport
import Synchronization
import Testing

@testable import HalcyonCurl
@testable import HalcyonNetworking

@Suite("Transport: order of queued transfers", .timeLimit(.minutes(20)))
struct TransferQueueTests {
    @Test("The most urgent transfer starts first, then the oldest, skipping busy hosts")
    func urgentThenOldestStartsFirst() {
        var queue = TransferQueue<String>(limit: 9, limitPerHost: 2)
        queue.insert("a", id: 1, host: "x", priority: .normal)
        queue.insert("b", id: 2, host: "x", priority: .high)
        queue.insert("c", id: 3, host: "y", priority: .normal)
        queue.insert("d", id: 4, host: "y", priority: .normal)
        queue.insert("e", id: 5, host: "x", priority: .veryHigh)
        #expect((0..<2).map { _ in queue.next()?.element } == ["e", "b"])
        #expect(queue.next()?.element == "c")
        queue.setPriority(4, .veryHigh)
        queue.ended("x")
        let next = queue.next()
        #expect(next?.element == "d" && next?.priority == .veryHigh)
        queue.setPriority(1, .high)
        let removed = queue.remove(1)
        #expect(removed?.element == "a" && removed?.priority == .high)
        #expect(queue.remove(1) == nil && queue.next() == nil && queue.count == 0 && queue.running == 3)
    }

    @Test("Prefetches leave one place free for loads that users wait for, of each host and of all")
    func prefetchesLeaveOnePlaceFree() {
        var queue = TransferQueue<Int>(limit: 8, limitPerHost: 6)
        func started() -> Int {
            var count = 0
            while queue.next() != nil { count += 1 }
            return count
        }
        // Two prefetchers of five.
        for id in 0..<10 { queue.insert(id, id: UInt64(id), host: "x", priority: id % 2 == 0 ? .low : .veryLow) }
        #expect(started() == 5)
        queue.insert(10, id: 10, host: "x", priority: .normal)
        #expect(queue.next()?.element == 10 && queue.next() == nil)
        // One place of all stays free as well.
        for id in 20..<24 { queue.insert(id, id: UInt64(id), host: "y", priority: .low) }
        #expect(started() == 1)
        queue.insert(30, id: 30, host: "z", priority: .normal)
        #expect(queue.next()?.element == 30 && queue.next() == nil)
        // A prefetch that a visible load has joined starts as that would.
        queue.ended("z")
        queue.ended("x")
        queue.setPriority(23, .normal)
        #expect(queue.next()?.element == 23)
        // With one connection there is none to leave free.
        var single = TransferQueue<Int>(limit: 1, limitPerHost: 1)
        single.insert(1, id: 1, host: "x", priority: .veryLow)
        #expect(single.next()?.element == 1)
    }

    @Test("The queue behaves as a list that is searched from its start")
    func queueEqualsSortedList() {
        var random = SplitMix64(seed: 7)
        let total = 9
        var limits = Array(repeating: 3, count: 6)
        var queue = TransferQueue<Int>(limit: total, limitPerHost: 3)
        var list: [(id: Int, host: Int, priority: TransferPriority)] = []
        var running: [Int] = []
        /// Whether a transfer may start beside others: there is a place, and another one if no user waits for it, unless there is
        /// only one at all.
        func fits(_ priority: TransferPriority, beside count: Int, _ limit: Int) -> Bool {
            let free = limit - count
            return free >= 1 && (priority >= .normal || free >= 2 || limit == 1)
        }
        for id in 0..<20_000 {
            let host = Int(random.next(below: 6))
            let priority = TransferPriority.allCases[Int(random.next(below: 5))]
            switch random.next(below: 12) {
            case 0...3:
                queue.insert(id, id: UInt64(id), host: "h\(host)", priority: priority)
                list.append((id, host, priority))
            case 4:
                guard let index = list.indices.randomElement(using: &random) else { continue }
                queue.setPriority(UInt64(list[index].id), priority)
                list[index].priority = priority
            case 5:
                guard let index = list.indices.randomElement(using: &random) else { continue }
                let gone = list.remove(at: index)
                let removed = queue.remove(UInt64(gone.id))
                #expect(removed?.element == gone.id && removed?.priority == gone.priority)
            case 6:
                limits[host] = Int(random.next(below: 5)) + 1
                queue.setLimit(limits[host], of: "h\(host)")
            case 7...8:
                guard let index = running.indices.randomElement(using: &random) else { continue }
                queue.ended("h\(running.remove(at: index))")
            default:
                var best: Int?
                for index in list.indices {
                    let (_, host, priority) = list[index]
                    guard fits(priority, beside: running.count { $0 == host }, limits[host]),
                        fits(priority, beside: running.count, total)
                    else { continue }
                    if let found = best, list[found].priority >= priority { continue }
                    best = index
                }
                let expected = best.map { list.remove(at: $0) }
                if let expected { running.append(expected.host) }
                let next = queue.next()
                #expect(next?.element == expected?.id && next?.priority == expected?.priority)
            }
            #expect(queue.count == list.count && queue.running == running.count)
        }
        #expect(queue.removeAll() == list.map(\.id))
        #expect(queue.next() == nil && queue.count == 0)
    }

    @Test(
        "A visible load starts at once beside two prefetchers that fill the connections of its host",
        arguments: TransportKind.having())
    func visibleLoadStartsBesidePrefetches(kind: TransportKind) async throws {
        let gate = DispatchSemaphore(value: 0)
        let server = try HostileServer { visit in
            if visit.path.hasPrefix("/low") { gate.wait() }
            visit.answer(pattern(10))
        }
        defer { for _ in 0..<10 { gate.signal() } }
        let transport = kind.transport(connectionsPerHost: 6)
        let receivers = (0..<10).map { _ in CountingReceiver() }
        for (number, receiver) in receivers.enumerated() {
            let request = kind.request(server.url("/low\(number)")) { $0.priority = number < 5 ? .low : .veryLow }
            _ = transport.start(request, receiver: receiver)
        }
        await waitUntil { server.visits.count == 5 }
        #expect(try await transport.response(to: kind.request(server.url("/seen"))).body.count == 10)
        #expect(server.visits.map(\.path).sorted() == (0..<5).map { "/low\($0)" } + ["/seen"])
        for _ in 0..<10 { gate.signal() }
        for receiver in receivers { #expect((try? await receiver.end().get()) != nil) }
    }

    @Test(
        "A queued transfer moves forward when its priority is raised, and back when it is lowered",
        arguments: TransportKind.having())
    func priorityMovesQueuedTransfer(kind: TransportKind) async throws {
        let gate = DispatchSemaphore(value: 0)
        let server = try HostileServer { visit in
            if visit.path == "/held" { gate.wait() }
            visit.answer(pattern(10))
        }
        let transport = kind.transport(connectionsPerHost: 1)
        let receivers = (0..<5).map { _ in CountingReceiver() }
        let transfers = ["/held", "/a", "/b", "/c", "/d"].enumerated().map { number, path in
            transport.start(kind.request(server.url(path)) { $0.priority = .low }, receiver: receivers[number])
        }
        await waitUntil { server.visits.count == 1 }
        // Visible loads join the prefetches b, c and d; that of c leaves again, and that of b is paused meanwhile.
        transfers[2].setPriority(.normal)
        transfers[3].setPriority(.veryHigh)
        transfers[4].setPriority(.high)
        transfers[3].setPriority(.low)
        transfers[2].pause()
        transfers[2].resume()
        gate.signal()
        for receiver in receivers { #expect((try? await receiver.end().get()) != nil) }
        #expect(server.visits.map(\.path) == ["/held", "/d", "/b", "/a", "/c"])
    }
}
