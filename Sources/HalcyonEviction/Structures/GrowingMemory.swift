#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Memory for plain values that grows in place if possible: the C library moves the pages of a large block, not its
/// bytes. Arrays can therefore grow in small steps and have little unused capacity. The alignment of values is at most
/// 16 bytes, as in the C library.
@usableFromInline
package enum GrowingMemory {
    /// Returns the new capacity in elements if `needed` do not fit a capacity of `count`: half as many again, but at
    /// most 16 or a 128th more.
    @usableFromInline
    package static func room(for needed: Int, after count: Int) -> Int {
        max(needed, count + max(min(count / 2, 16), count / 128))
    }

    /// Allocates room for `count` elements, at least one.
    @inlinable
    package static func allocate<Element: BitwiseCopyable>(_ count: Int) -> UnsafeMutablePointer<Element> {
        precondition(MemoryLayout<Element>.alignment <= 16, "\(Element.self) is aligned to more than 16 bytes")
        return resize(nil, bytes: max(count, 1) * MemoryLayout<Element>.stride).assumingMemoryBound(to: Element.self)
    }

    /// Resizes memory to `count` elements, at least one, and preserves the values that fit.
    @inlinable
    package static func resize<Element: BitwiseCopyable>(_ memory: inout UnsafeMutablePointer<Element>, to count: Int) {
        let bytes = max(count, 1) * MemoryLayout<Element>.stride
        memory = resize(UnsafeMutableRawPointer(memory), bytes: bytes).assumingMemoryBound(to: Element.self)
    }

    /// Frees memory.
    @usableFromInline
    package static func release(_ memory: UnsafeMutableRawPointer) { free(memory) }

    @usableFromInline
    static func resize(_ memory: UnsafeMutableRawPointer?, bytes: Int) -> UnsafeMutableRawPointer {
        guard let larger = realloc(memory, bytes) else { fatalError("no memory for \(bytes) bytes") }
        return larger
    }
}
