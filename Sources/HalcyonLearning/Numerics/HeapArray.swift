import HalcyonEviction

/// A fixed run of plain values on the heap, owned by whoever holds it.
///
/// Element access is a bare pointer access: no bounds, uniqueness or exclusivity checks, because these sit in the inner
/// loops of the learner. ``grow(to:filling:)`` is the only operation that moves the memory. Bytes: the stride of
/// `Element` each.
@usableFromInline
package struct HeapArray<Element: BitwiseCopyable>: ~Copyable {
    @usableFromInline package internal(set) var base: UnsafeMutablePointer<Element>
    @usableFromInline package internal(set) var count: Int

    /// `count` copies of `fill`.
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

    /// Makes room for `larger` elements; what is new reads as `fill`.
    @inlinable
    package mutating func grow(to larger: Int, filling fill: Element) {
        guard larger > count else { return }
        GrowingMemory.resize(&base, to: larger)
        (base + count).initialize(repeating: fill, count: larger - count)
        count = larger
    }
}
