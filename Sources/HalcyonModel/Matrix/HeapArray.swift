import HalcyonEviction

/// A fixed run of plain values on the heap, owned by whoever holds it.
///
/// Element access is a bare pointer access: no bounds, uniqueness or exclusivity checks, because these sit in the inner
/// loops of the learner. ``grow(to:filling:)`` is the only operation that moves the memory. Bytes: the stride of
/// `Element` each.
struct HeapArray<Element: BitwiseCopyable>: ~Copyable {
    private(set) var base: UnsafeMutablePointer<Element>
    private(set) var count: Int

    /// `count` copies of `fill`.
    init(repeating fill: Element, count: Int) {
        precondition(count >= 0, "a negative number of elements")
        base = GrowingMemory.allocate(count)
        base.initialize(repeating: fill, count: count)
        self.count = count
    }

    deinit { GrowingMemory.release(base) }

    var byteCount: Int { count * MemoryLayout<Element>.stride }

    subscript(index: Int) -> Element {
        @inline(__always) get { base[index] }
        @inline(__always) nonmutating _modify { yield &base[index] }
    }

    /// Makes room for `larger` elements; what is new reads as `fill`.
    mutating func grow(to larger: Int, filling fill: Element) {
        guard larger > count else { return }
        GrowingMemory.resize(&base, to: larger)
        (base + count).initialize(repeating: fill, count: larger - count)
        count = larger
    }
}
