import HalcyonSupport
import Testing

@testable import HalcyonEviction

@Suite("Packed state", .timeLimit(.minutes(20)))
struct StatePackerTests {
    private struct Mixed: BitwiseCopyable, Equatable {
        var wide: UInt64 = 0
        var number: UInt32 = 0
        var short: UInt16 = 0
        var byte: UInt8 = 0
        var flag: UInt8 = 0
    }

    @Test("Every number is read as it was written, at every width and offset")
    func scalars() {
        var packer = StatePacker()
        var random = SplitMix64(seed: 3)
        // The second round shows that a finished packer starts again.
        for _ in 0..<2 {
            var written: [(UInt64, Int32, Double, Float, Bool)] = []
            for width in 0..<400 {
                let bits = random.next() >> UInt64(width % 64)
                let values = (
                    width % 7 == 0 ? UInt64.max : bits, Int32(truncatingIfNeeded: bits), Double(bits % 1_000) / 8,
                    Float(bits % 99), bits & 1 == 1
                )
                written.append(values)
                packer.write(values.4)
                packer.write(values.0)
                packer.write(values.1)
                packer.write(values.2)
                packer.write(values.3)
            }
            var unpacker = StateUnpacker(packer.finish())
            for values in written {
                let (flag, wide): (Bool, UInt64) = (unpacker.read(), unpacker.read())
                let (number, double): (Int32, Double) = (unpacker.read(), unpacker.read())
                let float: Float = unpacker.read()
                #expect(flag == values.4 && wide == values.0 && number == values.1)
                #expect(double == values.2 && float == values.3)
            }
        }
    }

    @Test("Columns keep every value, with the largest of a type among small ones", arguments: [0, 1, 5, 64, 1_000])
    func columns(count: Int) {
        var random = SplitMix64(seed: UInt64(count))
        var values: [Mixed] = []
        for index in 0..<count {
            var value = Mixed(flag: 1)
            value.wide = index % 3 == 0 ? .max : random.next() >> 20
            value.number = index % 4 == 0 ? .max : UInt32(index)
            value.short = UInt16(random.next(below: 70))
            value.byte = index % 5 == 0 ? .max : 3
            values.append(value)
        }
        var packer = StatePacker()
        packer.write(true)
        values.withUnsafeBufferPointer {
            if let first = $0.baseAddress { packer.write(first, count: count, fields: [8, 4, 2, 1, 1]) }
        }
        packer.write(count)
        let bytes = packer.finish()
        var read = [Mixed](repeating: Mixed(), count: count)
        var unpacker = StateUnpacker(bytes)
        let (flag, end): (Bool, Int)
        flag = unpacker.read()
        read.withUnsafeMutableBufferPointer {
            if let first = $0.baseAddress { unpacker.read(into: first, count: count, fields: [8, 4, 2, 1, 1]) }
        }
        end = unpacker.read()
        #expect(flag && end == count && read == values)
        // 45 bits, 10 bits, 7 bits and 3 bits a value at most, and less than 40 bytes for the columns.
        #expect(bytes.count * 8 <= count * 65 + 320)
    }

    @Test("An LRU cache resumes where it was packed")
    func lru() {
        let policy = ConfiguredPolicy(LRU.self)
        let context = PolicyContext(capacity: 300, usesUniformSizes: false)
        var cache = policy.makeCache(context)
        let other = policy.makeCache(context)
        var random = SplitMix64(seed: 8)
        var packer = StatePacker()
        for number in 0..<4_000 {
            let entry = EntryID(random.next(below: 60))
            let access = Access(entry: entry, requestNumber: number, size: Int(entry) + 1)
            #expect(cache.access(access) == other.access(access))
            if number % 37 == 0 {
                #expect(cache.pack(into: &packer))
                let state = packer.finish()
                cache = policy.makeCache(context)
                var unpacker = StateUnpacker(state)
                cache.unpack(from: &unpacker)
                #expect(cache.state == other.state)
            }
        }
    }

    @Test("A cache that collects its victims, and one under a policy without a packed form, are not packed")
    func notPackable() {
        var packer = StatePacker()
        var context = PolicyContext(capacity: 3)
        #expect(!ConfiguredPolicy(S3FIFO.self).makeCache(context).pack(into: &packer))
        context.keepsVictims = true
        #expect(!ConfiguredPolicy(LRU.self).makeCache(context).pack(into: &packer))
        #expect(packer.finish().isEmpty)
    }
}
