import Foundation

/// A baseline JPEG file of one MCU that a test writes bit by bit: blocks with a mean and, if wanted, one further
/// coefficient.
enum JPEGFile {
    /// A channel: its sampling factors, and for each of its blocks the mean (0 to 255) of its samples and the
    /// coefficient of the first horizontal frequency.
    struct Channel {
        var across: Int
        var down: Int
        var blocks: [(mean: Int, horizontal: Int)]
    }

    /// A picture of one to three channels: grey, or Y, Cb, Cr.
    static func data(width: Int, height: Int, _ channels: [Channel]) -> Data {
        var data = Data([0xFF, 0xD8, 0xFF, 0xDB, 0, 67, 0] + [UInt8](repeating: 1, count: 64))
        data += Data([0xFF, 0xC0, 0, UInt8(8 + 3 * channels.count), 8])
        data += big(height) + big(width) + Data([UInt8(channels.count)])
        for (index, channel) in channels.enumerated() {
            data += Data([UInt8(index + 1), UInt8(channel.across << 4 | channel.down), 0])
        }
        // Twelve codes of four bits: the number of bits of a difference or coefficient is its own code. 12 is the end
        // of a block.
        data += table(0, Array(0...11)) + table(0x10, Array(0...11) + [0x0])
        data += Data([0xFF, 0xDA, 0, UInt8(6 + 2 * channels.count), UInt8(channels.count)])
        for index in channels.indices { data += Data([UInt8(index + 1), 0]) }
        data += Data([0, 63, 0])
        var bits = ""
        func append(_ value: Int, _ length: Int) {
            let text = String(value, radix: 2)
            bits += String(repeating: "0", count: length - text.count) + text
        }
        /// The number of bits of a value and the bits themselves; of a negative one, those of its magnitude inverted
        /// (ITU-T T.81, F.1.2.1).
        func appendCoefficient(_ value: Int) {
            let length = Int.bitWidth - abs(value).leadingZeroBitCount
            append(length, 4)
            if length > 0 { append(value > 0 ? value : (1 << length) - 1 + value, length) }
        }
        for channel in channels {
            var before = 0
            for block in channel.blocks {
                appendCoefficient((block.mean - 128) * 8 - before)
                before = (block.mean - 128) * 8
                if block.horizontal != 0 { appendCoefficient(block.horizontal) }
                append(12, 4)
            }
        }
        while bits.count % 8 != 0 { bits += "1" }
        for start in stride(from: 0, to: bits.count, by: 8) {
            let byte = UInt8(bits.dropFirst(start).prefix(8), radix: 2) ?? 0
            data += byte == 0xFF ? Data([0xFF, 0]) : Data([byte])
        }
        return data + Data([0xFF, 0xD9])
    }

    /// A Huffman table whose symbols have codes of four bits in their order.
    private static func table(_ kind: UInt8, _ symbols: [UInt8]) -> Data {
        var counts = [UInt8](repeating: 0, count: 16)
        counts[3] = UInt8(symbols.count)
        return Data([0xFF, 0xC4, 0, UInt8(19 + symbols.count), kind] + counts + symbols)
    }

    private static func big(_ value: Int) -> Data { Data([UInt8(value >> 8), UInt8(value & 255)]) }
}
