import CProcessor

/// An array of state for each entry, indexed by its dense number. It grows automatically and reads as `fill` beyond
/// the written slots.
///
/// It owns its memory and is therefore not copyable, so an access needs no reference counting, uniqueness or
/// exclusivity checks. No index is out of bounds: reading past the end returns `fill`, writing past the end grows the
/// array. Access is O(1), growth is amortised O(1) a slot. Bytes: `MemoryLayout<Element>.stride` a slot; above 2,048
/// slots, at most a 128th is unused. The alignment of elements is at most 16 bytes.
@frozen
public struct SlotArray<Element: BitwiseCopyable>: ~Copyable {
    /// `fill`, then the slots. As a stored property, `fill` would make the layout depend on `Element`, and Swift 6.3
    /// omits the `deinit` of such a structure if generic code destroys it. A pointer to the first slot would be read at
    /// -1, which Swift 6.3 miscompiles where a whole module is optimized.
    @usableFromInline var memory: UnsafeMutablePointer<Element>
    @usableFromInline var limit: Int

    /// Creates an array that reads as `fill` everywhere, with room for `capacity` slots.
    @inlinable
    public init(repeating fill: Element, capacity: Int = 0) {
        limit = capacity
        memory = GrowingMemory.allocate(capacity + 1)
        memory.initialize(repeating: fill, count: capacity + 1)
    }

    @inlinable
    deinit { GrowingMemory.release(memory) }

    @inlinable var fill: Element {
        @inline(__always) get { memory[0] }
    }

    /// The number of allocated slots.
    @inlinable
    public var capacity: Int { limit }

    /// The number of heap bytes in use.
    @inlinable
    public var byteCount: Int { limit * MemoryLayout<Element>.stride }

    /// The element at `slot`.
    @inlinable
    public subscript(slot: UInt32) -> Element {
        @inline(__always) get {
            let index = Int(truncatingIfNeeded: slot)
            return index < limit ? memory[index &+ 1] : fill
        }
        @inline(__always) _modify {
            let index = Int(truncatingIfNeeded: slot)
            if _slowPath(index >= limit) { grow(toInclude: index) }
            yield &memory[index &+ 1]
        }
    }

    /// The element at a slot whose number may exceed 32 bits.
    @inlinable
    public subscript(wide index: Int) -> Element {
        @inline(__always) get { index < limit ? memory[index &+ 1] : fill }
        @inline(__always) _modify {
            if _slowPath(index >= limit) { grow(toInclude: index) }
            yield &memory[index &+ 1]
        }
    }

    /// Starts loading a slot into the processor's cache.
    @inlinable @inline(__always)
    public func expect(_ slot: UInt32) {
        let index = Int(truncatingIfNeeded: slot)
        if index < limit { halcyon_prefetch(memory + (index &+ 1)) }
    }

    /// Resets every slot to `fill` and keeps the memory.
    @inlinable
    public mutating func reset() {
        (memory + 1).update(repeating: fill, count: limit)
    }

    @inlinable
    @inline(never)
    mutating func grow(toInclude index: Int) {
        let larger = GrowingMemory.room(for: Swift.max(index + 1, 16), after: limit)
        GrowingMemory.resize(&memory, to: larger + 1)
        (memory + 1 + limit).initialize(repeating: fill, count: larger - limit)
        limit = larger
    }
}
