/// State kept per entry, addressed by its dense number; grows by itself and reads as `fill` beyond what was written.
///
/// It owns its memory (hence non-copyable), so an element is reached without reference counting, uniqueness or
/// exclusivity checks, and no index is ever out of bounds: reading past the end gives `fill`, writing past the end grows.
/// Access is O(1), growth amortised O(1) a slot. Bytes: `MemoryLayout<Element>.stride` a slot.
@frozen
public struct SlotArray<Element: BitwiseCopyable>: ~Copyable {
    @usableFromInline var base: UnsafeMutablePointer<Element>
    @usableFromInline var limit: Int
    @usableFromInline let fill: Element

    /// An array that reads as `fill` everywhere, with room for `capacity` slots from the start.
    @inlinable
    public init(repeating fill: Element, capacity: Int = 0) {
        self.fill = fill
        limit = capacity
        base = .allocate(capacity: Swift.max(capacity, 1))
        base.initialize(repeating: fill, count: Swift.max(capacity, 1))
    }

    @inlinable
    deinit { base.deallocate() }

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
        let larger = Swift.max(index + 1, limit + limit / 2, 64)
        let moved = UnsafeMutablePointer<Element>.allocate(capacity: larger)
        moved.update(from: base, count: limit)
        (moved + limit).initialize(repeating: fill, count: larger - limit)
        base.deallocate()
        base = moved
        limit = larger
    }
}
