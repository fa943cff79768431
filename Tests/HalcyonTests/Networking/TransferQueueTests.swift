import Halcyon
import HalcyonEviction
import Testing

@testable import HalcyonCurl
@testable import HalcyonNetworking

@Suite("Transport: order of queued transfers", .timeLimit(.minutes(20)))
struct TransferQueueTests {
    @Test("The most urgent transfer starts first, then the oldest, skipping busy hosts")
    func urgentThenOldestStartsFirst() {
        var queue = TransferQueue<String>()
        queue.insert("a", id: 1, host: "x", priority: .normal)
        queue.insert("b", id: 2, host: "x", priority: .high)
        queue.insert("c", id: 3, host: "y", priority: .normal)
        queue.insert("d", id: 4, host: "y", priority: .low)
        #expect(queue.next { $0 == "y" } == "c")
        queue.setPriority(4, .veryHigh)
        #expect(queue.next { _ in true } == "d")
        #expect(queue.next { _ in false } == nil)
        #expect(queue.remove(2) == "b")
        #expect(queue.remove(2) == nil)
        #expect(queue.next { _ in true } == "a")
        #expect(queue.next { _ in true } == nil && queue.count == 0)
    }

    @Test("The queue behaves as a list that is searched from its start")
    func queueEqualsSortedList() {
        var random = SplitMix64(seed: 7)
        var queue = TransferQueue<Int>()
        var list: [(id: Int, host: String, priority: TransferPriority)] = []
        for id in 0..<4_000 {
            let host = "h\(random.next(below: 5))"
            let priority = TransferPriority.allCases[Int(random.next(below: 5))]
            switch random.next(below: 6) {
            case 0...2:
                queue.insert(id, id: UInt64(id), host: host, priority: priority)
                list.append((id, host, priority))
            case 3:
                guard let index = list.indices.randomElement(using: &random) else { continue }
                queue.setPriority(UInt64(list[index].id), priority)
                list[index].priority = priority
            case 4:
                guard let index = list.indices.randomElement(using: &random) else { continue }
                let id = list.remove(at: index).id
                #expect(queue.remove(UInt64(id)) == id)
            default:
                var best: Int?
                for index in list.indices where list[index].host != host {
                    if let found = best, list[found].priority >= list[index].priority { continue }
                    best = index
                }
                let expected = best.map { list.remove(at: $0).id }
                #expect(queue.next { $0 != host } == expected)
            }
            #expect(queue.count == list.count)
        }
        #expect(queue.removeAll() == list.map(\.id))
    }
}
