/// Pairs of numbers with their values, numbered from 0 in the order in which they came.
///
/// They lie in blocks that stay where they are: growing copies nothing, and no memory is touched before it is needed. O(1).
/// Bytes: 8 and the stride of `Value` a pair.
struct PairEntries<Value: BitwiseCopyable>: ~Copyable {
    private static var blockBits: Int { 8 }
    private static var stride: Int { MemoryLayout<UInt64>.size + MemoryLayout<Value>.stride }

    private var blocks = HeapArray<UnsafeMutableRawPointer?>(repeating: nil, count: 0)
    private var blockCount = 0
    private(set) var count = 0

    init() { precondition(MemoryLayout<Value>.alignment <= MemoryLayout<UInt64>.alignment, "a value of odd alignment") }

    deinit {
        for index in 0..<blockCount { blocks[index]?.deallocate() }
    }

    var byteCount: Int { blockCount * Self.stride << Self.blockBits + blocks.byteCount }

    /// The pair that has a number.
    @inline(__always)
    func key(_ number: Int) -> UInt64 { entry(number).loadUnaligned(as: UInt64.self) }

    /// The value of the pair that has a number.
    @inline(__always)
    func value(_ number: Int) -> UnsafeMutablePointer<Value> {
        (entry(number) + MemoryLayout<UInt64>.size).assumingMemoryBound(to: Value.self)
    }

    /// Adds a pair and returns its number.
    mutating func append(_ key: UInt64, _ value: Value) -> Int {
        let number = count
        if number == blockCount << Self.blockBits { addBlock() }
        count += 1
        (entry(number) + MemoryLayout<UInt64>.size).initializeMemory(as: Value.self, repeating: value, count: 1)
        entry(number).storeBytes(of: key, as: UInt64.self)
        return number
    }

    /// Puts another pair in the place of one.
    mutating func replace(_ number: Int, by key: UInt64, _ value: Value) {
        entry(number).storeBytes(of: key, as: UInt64.self)
        self.value(number).pointee = value
    }

    private mutating func addBlock() {
        if blockCount == blocks.count { blocks.grow(to: max(8, blockCount * 2), filling: nil) }
        blocks[blockCount] = .allocate(
            byteCount: Self.stride << Self.blockBits, alignment: MemoryLayout<UInt64>.alignment)
        blockCount += 1
    }

    @inline(__always)
    private func entry(_ number: Int) -> UnsafeMutableRawPointer {
        // Every number that was given out lies in a block; the branch that says so is left out in an optimised build.
        blocks[number >> Self.blockBits].unsafelyUnwrapped + (number & (1 << Self.blockBits - 1)) &* Self.stride
    }
}
