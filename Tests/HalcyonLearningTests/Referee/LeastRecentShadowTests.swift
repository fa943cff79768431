import HalcyonEviction
import Testing

@testable import HalcyonLearning

@Suite("The shadow of an LRU cache", .timeLimit(.minutes(20)))
struct LeastRecentShadowTests {
    /// LRU as a list, most recent last.
    private struct List {
        var objects: [Int] = []
        var capacity: Int

        mutating func access(_ object: Int) -> Bool {
            let isHeld = remove(object)
            objects.append(object)
            shrink()
            return isHeld
        }

        mutating func remove(_ object: Int) -> Bool {
            guard let place = objects.firstIndex(of: object) else { return false }
            objects.remove(at: place)
            return true
        }

        mutating func shrink() { objects.removeFirst(max(objects.count - capacity, 0)) }
    }

    @Test("The shadow equals an LRU list through removals and changes of the capacity", arguments: [0, 1, 7, 60, 200])
    func shadowEqualsAnLRUList(capacity: Int) {
        var random = SplitMix64(seed: UInt64(capacity))
        var list = List(capacity: capacity)
        var shadow = LeastRecentShadow(capacity: capacity)
        var last: [Int: Int] = [:]
        var hits = 0
        // Across the end of 32-bit time.
        var now = Int(UInt32.max) - 5_000
        for step in 0..<20_000 {
            // Half of the accesses go to a tenth of the objects.
            let object = random.next(below: random.next(below: 2) == 0 ? 40 : 400)
            let isHeld = shadow.access(last: last[object], now: now)
            let isInList = list.access(object)
            let count = shadow.count
            #expect(isHeld == isInList && count == list.objects.count, "access \(step)")
            if isHeld { hits += 1 }
            last[object] = now
            now += 1
            if step % 7 == 0 {
                let other = random.next(below: 400)
                let isRemoved = last[other].map { shadow.remove(last: $0) } ?? false
                let wasInList = list.remove(other)
                #expect(isRemoved == wasInList)
            }
            if step % 5_000 == 4_999 {
                list.capacity = step % 2_000 == 999 ? capacity / 2 : capacity
                list.shrink()
                shadow.resize(to: list.capacity)
            }
        }
        #expect(capacity < 60 || hits > 1_000)
    }

    @Test("An object whose last access was forgotten is not held")
    func forgottenObjectIsNotHeld() {
        var shadow = LeastRecentShadow(capacity: 2)
        let first = shadow.access(last: nil, now: 1)
        let unknown = shadow.access(last: nil, now: 2)
        let known = shadow.access(last: 2, now: 3)
        #expect([first, unknown, known] == [false, false, true])
    }

    @Test("The shadow's bits per object are bounded, and it holds no object that LRU does not")
    func shadowHoldsNoMoreThanLRUWithinItsLookBack() {
        var shadow = LeastRecentShadow(capacity: 10)
        var list = List(capacity: 10)
        var last: [Int: Int] = [:]
        var (held, heldByList) = (0, 0)
        for now in 1...50_000 {
            // Nine objects in turn, and one that is so rare that every other time it is beyond the look-back.
            let object = now % 1_500 == 0 || now % 3_100 == 0 ? 9 : now % 9
            let isHeld = shadow.access(last: last[object], now: now)
            let isInList = list.access(object)
            #expect(!isHeld || isInList)
            if isHeld && object == 9 { held += 1 }
            if isInList && object == 9 { heldByList += 1 }
            last[object] = now
        }
        let bits = shadow.byteCount * 8
        #expect(bits <= 2 * LeastRecentShadow.lookBack * 10)
        #expect(held > 0 && held < heldByList)
    }
}
