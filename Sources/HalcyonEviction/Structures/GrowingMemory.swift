#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Memory for plain values that grows where it lies if it can: the C library moves the pages of a large block, not its bytes.
/// So arrays may grow by little, and hold little that is not used yet. Values are aligned to 16 bytes at most, as the C library's are.
@usableFromInline
package enum GrowingMemory {
    /// How many elements to make room for where `needed` do not fit in the room for `count`: half as many again, but no
    /// more than 16 or a 128th.
    @usableFromInline
    package static func room(for needed: Int, after count: Int) -> Int {
        max(needed, count + max(min(count / 2, 16), count / 128))
    }

    /// Room for `count` elements, at least one.
    @inlinable
    package static func allocate<Element: BitwiseCopyable>(_ count: Int) -> UnsafeMutablePointer<Element> {
        precondition(MemoryLayout<Element>.alignment <= 16, "\(Element.self) is aligned to more than 16 bytes")
        return resize(nil, bytes: max(count, 1) * MemoryLayout<Element>.stride).assumingMemoryBound(to: Element.self)
    }

    /// Makes room for `count` elements, at least one, of which as many as before keep their values.
    @inlinable
    package static func resize<Element: BitwiseCopyable>(_ memory: inout UnsafeMutablePointer<Element>, to count: Int) {
        let bytes = max(count, 1) * MemoryLayout<Element>.stride
        memory = resize(UnsafeMutableRawPointer(memory), bytes: bytes).assumingMemoryBound(to: Element.self)
    }

    /// Gives memory back.
    @usableFromInline
    package static func release(_ memory: UnsafeMutableRawPointer) { free(memory) }

    @usableFromInline
    static func resize(_ memory: UnsafeMutableRawPointer?, bytes: Int) -> UnsafeMutableRawPointer {
        guard let larger = realloc(memory, bytes) else { fatalError("no memory for \(bytes) bytes") }
        return larger
    }
}
