import Foundation

/// A PNG file with every chunk's checksum made right, so that changed bytes come past libpng's first look at them.
func repairedPNG(_ data: Data) -> Data {
    var bytes = [UInt8](data)
    var at = 8
    while at + 12 <= bytes.count {
        let length = bytes[at..<at + 4].reduce(0) { $0 << 8 | Int($1) }
        guard length <= bytes.count - at - 12 else { break }
        var sum = UInt32.max
        for byte in bytes[at + 4..<at + 8 + length] {
            sum ^= UInt32(byte)
            for _ in 0..<8 { sum = sum & 1 == 1 ? sum >> 1 ^ 0xEDB8_8320 : sum >> 1 }
        }
        sum = ~sum
        for index in 0..<4 { bytes[at + 8 + length + index] = UInt8(sum >> (24 - 8 * UInt32(index)) & 0xFF) }
        at += 12 + length
    }
    return Data(bytes)
}
