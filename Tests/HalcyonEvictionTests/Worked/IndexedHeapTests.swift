import HalcyonEviction
import Testing

/// The heap beside a dictionary that is searched from end to end.
@Suite("Indexed heap", .timeLimit(.minutes(20)))
struct IndexedHeapTests {
    @Test("After insertions, updates and removals in random order the heap equals a dictionary")
    func heapMatchesADictionaryAfterRandomOperations() {
        var heap = IndexedHeap<Rank>()
        var keys: [EntryID: Rank] = [:]
        var random = SplitMix64(seed: 11)
        for index in 0..<4000 {
            let entry = EntryID(random.next(below: 200))
            let key = Rank(Double(random.next(below: 20)), index: index)
            switch (keys[entry] != nil, random.next(below: 3)) {
            case (true, 0):
                heap.remove(entry)
                keys[entry] = nil
            case (true, _):
                heap.update(entry, key: key)
                keys[entry] = key
            case (false, 0):
                let least = keys.min { $0.value < $1.value }
                let popped = heap.popSmallest()
                #expect(popped?.entry == least?.key && popped?.key == least?.value)
                if let least { keys[least.key] = nil }
            case (false, _):
                heap.insert(entry, key: key)
                keys[entry] = key
            }
            #expect(heap.count == keys.count && heap.contains(entry) == (keys[entry] != nil))
            #expect(heap.key(of: entry) == keys[entry] && heap.smallest?.key == keys.values.min())
            #expect(heap.second?.key == keys.values.sorted().dropFirst().first)
        }
    }
}
