import HalcyonImages

/// The decompression of GIF by Lempel-Ziv-Welch with codes of up to 12 bits, least significant bit first (GIF89a,
/// appendix F).
enum LZW {
    /// Returns the palette indices of `count` pixels from a chain of sub-blocks, and how many were read before the
    /// file ended. O(count), with 44 KB of temporary memory.
    ///
    /// - Parameter codeSize: 0 to 11. The specification allows 2 to 8. The upper bits of larger indices are ignored.
    static func indices(
        _ bytes: ByteView, chain: Int, codeSize: Int, count: Int
    ) throws(ImageError) -> (indices: [UInt8], read: Int) {
        guard (0...11).contains(codeSize) else { throw .damaged(.gif, reason: "its codes begin with \(codeSize) bits") }
        let (clear, end) = (1 << codeSize, 1 << codeSize + 1)
        // An entry is the index of another entry, and a byte that is appended to it.
        var prefix = [UInt16](repeating: 0, count: 4_096)
        var suffix = [UInt8](repeating: 0, count: 4_096)
        var lengths = [Int](repeating: 1, count: 4_096)
        for value in 0..<clear { suffix[value] = UInt8(truncatingIfNeeded: value) }
        var (next, width) = (end + 1, codeSize + 1)
        var previous: Int?
        var reader = CodeReader(bytes: bytes, at: chain)
        var output = [UInt8](repeating: 0, count: count)
        var written = 0

        while written < count {
            guard let code = try reader.code(width) else { break }
            if code == clear {
                (next, width, previous) = (end + 1, codeSize + 1, nil)
                continue
            }
            guard code != end else { throw .damaged(.gif, reason: "its data ends before its picture does") }
            guard code < next || (code == next && previous != nil && next < 4_096) else {
                throw .damaged(.gif, reason: "a code comes before its meaning")
            }
            if let previous, next < 4_096 {
                // The entry that the encoder added: the last string and the first byte of this one, which may be the same entry.
                var first = code == next ? previous : code
                while first >= clear { first = Int(prefix[first]) }
                (prefix[next], suffix[next]) = (UInt16(previous), suffix[first])
                lengths[next] = lengths[previous] + 1
                next += 1
            }
            if next >= 1 << width, width < 12 { width += 1 }
            // Strings are written from their ends. Pixels beyond the picture are omitted.
            var (link, at) = (code, written + lengths[code] - 1)
            let stop = min(at + 1, count)
            while true {
                if at < count { output[at] = suffix[link] }
                guard link >= clear else { break }
                link = Int(prefix[link])
                at -= 1
            }
            written = stop
            previous = code
        }
        return (output, written)
    }

    /// A reader of codes of variable width from sub-blocks.
    private struct CodeReader {
        let bytes: ByteView
        /// The offset of the next byte, and the number of remaining bytes in its block.
        var at: Int
        var left = 0
        var bits = 0
        var bitCount = 0

        init(bytes: ByteView, at: Int) {
            self.bytes = bytes
            self.at = at
        }

        /// Returns the next code; `nil` if the file ends before.
        mutating func code(_ width: Int) throws(ImageError) -> Int? {
            while bitCount < width {
                if left == 0 {
                    guard let length = bytes[at] else { return nil }
                    guard length > 0 else { throw .damaged(.gif, reason: "its data ends before its picture does") }
                    left = Int(length)
                    at += 1
                }
                guard let byte = bytes[at] else { return nil }
                bits |= Int(byte) << bitCount
                bitCount += 8
                at += 1
                left -= 1
            }
            let code = bits & (1 << width - 1)
            bits >>= width
            bitCount -= width
            return code
        }
    }
}
