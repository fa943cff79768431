/// The fourth channel.
enum Alpha {
    /// Whether every fourth byte is 255. O(pixels), stops at the first that is not, some thousand pixels at a time.
    static func isOpaque(_ pixels: [UInt8]) -> Bool {
        pixels.withUnsafeBytes { bytes in
            let words = bytes.bindMemory(to: UInt32.self)
            var at = 0
            while at < words.count {
                let end = min(at &+ 4_096, words.count)
                var all = UInt32.max
                while at < end {
                    all &= words[at]
                    at &+= 1
                }
                if all.littleEndian < 0xFF00_0000 { return false }
            }
            return true
        }
    }
}
