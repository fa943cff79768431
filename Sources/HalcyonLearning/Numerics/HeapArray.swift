import HalcyonEviction

/// A noncopyable array of plain values with a fixed size.
///
/// Element access is a bare pointer access without bounds, uniqueness or exclusivity checks, because it is in the inner
/// loops of the learner. Only ``grow(to:filling:)`` moves the memory. Bytes: the stride of `Element` each.
@usableFromInline
package struct HeapArray<Element: BitwiseCopyable>: ~Copyable {
    @usableFromInline package internal(set) var base: UnsafeMutablePointer<Element>
    @usableFromInline package internal(set) var count: Int

    /// Creates an array of `count` copies of `fill`.
    @inlinable
    package init(repeating fill: Element, count: Int) {
        precondition(count >= 0, "a negative number of elements")
        base = GrowingMemory.allocate(count)
        base.initialize(repeating: fill, count: count)
        self.count = count
    }

    @inlinable
    deinit { GrowingMemory.release(base) }

    @inlinable package var byteCount: Int { count * MemoryLayout<Element>.stride }

    @inlinable
    package subscript(index: Int) -> Element {
        @inline(__always) get { base[index] }
        @inline(__always) nonmutating _modify { yield &base[index] }
    }

    /// Grows the array to `larger` elements; new elements are `fill`.
    @inlinable
    package mutating func grow(to larger: Int, filling fill: Element) {
        guard larger > count else { return }
        GrowingMemory.resize(&base, to: larger)
        (base + count).initialize(repeating: fill, count: larger - count)
        count = larger
    }
}
