/// State kept per entry, addressed by its dense number; grows by itself and reads as `fill` beyond what was written.
///
/// It owns its memory (hence non-copyable), so an element is reached without reference counting, uniqueness or
/// exclusivity checks, and no index is ever out of bounds: reading past the end gives `fill`, writing past the end grows.
/// Access is O(1), growth amortised O(1) a slot. Bytes: `MemoryLayout<Element>.stride` a slot,
/// of which a 128th at most is in reserve beyond 2,048 slots. Elements are aligned to 16 bytes at most.
@frozen
public struct SlotArray<Element: BitwiseCopyable>: ~Copyable {
    /// The first slot. In the place before it lies `fill`: as a stored property it would make the layout depend on `Element`,
    /// and of such a structure Swift 6.3 forgets the `deinit` where it is destroyed by code that is not compiled for its type.
    @usableFromInline var base: UnsafeMutablePointer<Element>
    @usableFromInline var limit: Int

    /// An array that reads as `fill` everywhere, with room for `capacity` slots from the start.
    @inlinable
    public init(repeating fill: Element, capacity: Int = 0) {
        limit = capacity
        base = GrowingMemory.allocate(capacity + 1) + 1
        (base - 1).initialize(repeating: fill, count: capacity + 1)
    }

    @inlinable
    deinit { GrowingMemory.release(base - 1) }

    @inlinable var fill: Element {
        @inline(__always) get { base[-1] }
    }

    /// The number of slots that have memory.
    @inlinable
    public var capacity: Int { limit }

    /// The heap bytes held.
    @inlinable
    public var byteCount: Int { limit * MemoryLayout<Element>.stride }

    /// The element at `slot`.
    @inlinable
    public subscript(slot: UInt32) -> Element {
        @inline(__always) get {
            let index = Int(truncatingIfNeeded: slot)
            return index < limit ? base[index] : fill
        }
        @inline(__always) _modify {
            let index = Int(truncatingIfNeeded: slot)
            if _slowPath(index >= limit) { grow(toInclude: index) }
            yield &base[index]
        }
    }

    /// Sets every slot back to `fill`, keeping the memory.
    @inlinable
    public mutating func reset() {
        base.update(repeating: fill, count: limit)
    }

    @inlinable
    @inline(never)
    mutating func grow(toInclude index: Int) {
        let larger = GrowingMemory.room(for: Swift.max(index + 1, 16), after: limit)
        var memory = base - 1
        GrowingMemory.resize(&memory, to: larger + 1)
        base = memory + 1
        (base + limit).initialize(repeating: fill, count: larger - limit)
        limit = larger
    }
}
