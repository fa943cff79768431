/// An index at a fixed address, where it is reached without checks for exclusive access, which took longer than a hit.
@usableFromInline
final class IndexBox<Policy: EvictionPolicy & ~Copyable> {
    @usableFromInline let index: UnsafeMutablePointer<CacheCore<Policy>>

    @inlinable
    init(_ index: consuming CacheCore<Policy>) {
        self.index = .allocate(capacity: 1)
        self.index.initialize(to: index)
    }

    deinit {
        index.deinitialize(count: 1)
        index.deallocate()
    }
}
