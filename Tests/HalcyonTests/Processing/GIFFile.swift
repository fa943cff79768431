import Foundation

/// A GIF file that a test writes byte by byte.
struct GIFFile {
    var data: Data

    /// The header, the screen, and a table of `colors` (2, 4, …, 256 of red, green, blue), or none.
    init(width: Int, height: Int, colors: [[UInt8]] = []) {
        data = Data("GIF89a".utf8) + Self.little(width) + Self.little(height)
        data += Data([Self.tableFlags(colors), 0, 0] + colors.joined())
    }

    /// A graphic control extension.
    mutating func control(disposal: UInt8 = 0, delay: Int = 10, transparent: UInt8? = nil) {
        data += Data([0x21, 0xF9, 4, disposal << 2 | (transparent == nil ? 0 : 1)])
        data += Self.little(delay) + Data([transparent ?? 0, 0])
    }

    /// The number of repetitions, by the extension `name` of 11 letters.
    mutating func loops(_ count: Int, name: String = "NETSCAPE2.0") {
        data += Data([0x21, 0xFF, 11]) + Data(name.utf8) + Data([3, 1]) + Self.little(count) + Data([0])
    }

    /// A frame: its descriptor, and `indices` in codes that begin with `codeSize` bits; or `pixels`, the bytes of its
    /// sub-blocks.
    mutating func frame(
        x: Int = 0, y: Int = 0, width: Int, height: Int, _ indices: [Int], codeSize: Int = 4, colors: [[UInt8]] = [],
        pixels: Data? = nil
    ) {
        data += Data([0x2C]) + Self.little(x) + Self.little(y) + Self.little(width) + Self.little(height)
        data += Data([Self.tableFlags(colors)] + colors.joined() + [UInt8(codeSize)])
        data += pixels ?? Self.blocks(indices, codeSize)
    }

    /// The file with its trailer.
    var finished: Data { data + Data([0x3B]) }

    /// Each index as a code of its own, after a code that clears the table, so that codes of 3 bits and more never
    /// grow.
    static func blocks(_ indices: [Int], _ codeSize: Int) -> Data {
        let clear = 1 << codeSize
        var (bytes, bits, count) = ([UInt8](), 0, 0)
        func append(_ code: Int, _ width: Int) {
            bits |= code << count
            count += width
            while count >= 8 {
                bytes.append(UInt8(bits & 255))
                (bits, count) = (bits >> 8, count - 8)
            }
        }
        // The table begins with two codes more than the indices. With 2 or 4 of them, the code behind an index has a
        // bit more.
        let after = codeSize + (codeSize < 2 ? 2 : 1)
        append(clear, codeSize + 1)
        for index in indices {
            append(index, codeSize + 1)
            append(clear, after)
        }
        append(clear + 1, codeSize + 1)
        if count > 0 { bytes.append(UInt8(bits)) }
        var blocks = Data()
        for start in stride(from: 0, to: bytes.count, by: 255) {
            let block = bytes[start..<min(start + 255, bytes.count)]
            blocks += Data([UInt8(block.count)] + block)
        }
        return blocks + Data([0])
    }

    private static func tableFlags(_ colors: [[UInt8]]) -> UInt8 {
        colors.isEmpty ? 0 : 0x80 | UInt8(colors.count.trailingZeroBitCount - 1)
    }

    private static func little(_ value: Int) -> Data { Data([UInt8(value & 255), UInt8(value >> 8)]) }
}
