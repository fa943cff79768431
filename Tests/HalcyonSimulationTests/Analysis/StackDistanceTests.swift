import HalcyonTrace
import Testing

@testable import HalcyonSimulation

/// Stack distances beside a list that is searched and shifted at every access.
@Suite("Stack distances", .timeLimit(.minutes(20)))
struct StackDistanceTests {
    @Test("Distances in objects equal those of a list through compactions and removals")
    func objectDistancesEqualAListThroughCompactions() {
        var random = SeededGenerator(seed: 1)
        var stack = StackDistances(unit: .objects, slotCount: 64)
        var list: [UInt32] = []
        for step in 0..<8_000 {
            let entry = UInt32(min(random.below(200), random.below(200)))
            let place = list.firstIndex(of: entry)
            if step % 7 == 0 {
                stack.remove(entry)
                if let place { list.remove(at: place) }
            } else {
                if let place { list.remove(at: place) }
                list.insert(entry, at: 0)
                #expect(stack.record(entry, size: 1) == place.map { UInt64($0 + 1) })
            }
            #expect(stack.count == list.count)
        }
    }

    @Test("Distances in bytes equal those of a list, also with changing sizes")
    func byteDistancesEqualAListWithChangingSizes() {
        var random = SeededGenerator(seed: 2)
        var stack = StackDistances(unit: .bytes, slotCount: 16)
        var list: [(entry: UInt32, size: UInt64)] = []
        for step in 0..<8_000 {
            let entry = UInt32(min(random.below(150), random.below(150)))
            let size = UInt64(random.below(1_000))
            let place = list.firstIndex { $0.entry == entry }
            if step % 7 == 0 {
                stack.remove(entry)
                if let place { list.remove(at: place) }
            } else {
                let distance = place.map { list[..<$0].reduce(size) { $0 + $1.size } }
                if let place { list.remove(at: place) }
                list.insert((entry, size), at: 0)
                #expect(stack.record(entry, size: size) == distance)
            }
            #expect(stack.count == list.count)
        }
    }

    @Test("Prefix sums follow added and subtracted values")
    func prefixSumsFollowChangedValues() {
        var values: [UInt32] = [3, 0, 7, 1, 9, 2, 5]
        var tree = FenwickTree(values)
        tree.add(4, at: 2)
        tree.subtract(9, at: 4)
        values[2] += 4
        values[4] -= 9
        for index in 0...values.count { #expect(tree.sum(before: index) == values[..<index].reduce(0, +)) }
    }

    @Test("A bucket contains its values and is at most 1/512 wide")
    func bucketsContainTheirValuesAndAreNarrow() {
        for value: UInt64 in [0, 1, 511, 512, 1_023, 1_024, 1_025, 70_001, 1 << 40, (1 << 62) + 12_345] {
            let bucket = LogLinearHistogram.bucket(of: value)
            let upper = LogLinearHistogram.upperBound(of: bucket)
            #expect(upper >= value && upper - value <= value / 512)
            #expect(LogLinearHistogram.bucket(of: upper) == bucket)
            #expect(LogLinearHistogram.bucket(of: upper + 1) == bucket + 1)
        }
    }
}
