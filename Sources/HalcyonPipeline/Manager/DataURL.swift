import Foundation
import HalcyonNetworking
import HalcyonSupport

/// A `data:` URL (RFC 2397): the bytes of an image in the URL itself, in base64 or with percent escapes.
///
/// The media type is not needed, and not believed: the bytes say what they are. As in browsers (WHATWG Fetch, "data: URLs"), the fragment
/// is no part of the content, escapes may stand in base64, and its padding may be missing.
struct DataURLProvider: URLProvider {
    let url: URL
    let cacheKey: String
    var access = FileAccess(folders: [], limit: TransferLimits().responseBytes)

    init(_ url: URL, cacheKey: String?) {
        self.url = url
        self.cacheKey = cacheKey ?? Self.key(of: url)
    }

    /// Whether a URL is one. O(1).
    static func isDataURL(_ url: URL) -> Bool {
        var text = url.absoluteString.utf8.makeIterator()
        return "data:".utf8.allSatisfy { text.next().map { $0 | 0x20 } == $0 | 0x20 }
    }

    /// The key in the cache: a SHA-256 of the URL, which may have megabytes and is not to be read in a log. O(length).
    static func key(of url: URL) -> String {
        "data:sha256:" + SHA256Digest.hexadecimal(ByteName(url.absoluteString).withBytes { SHA256Digest.hash($0) })
    }

    func data() async throws -> Data {
        try await CallbackQueue.dispatch(.global(qos: .userInitiated)).result {
            try Self.bytes(of: url, limit: access.limit)
        }
    }

    /// Returns the content. O(length).
    ///
    /// - Throws: ``ManagerError/invalidDataURL(reason:)``, or `NetworkError.responseTooLarge(limit:)`.
    static func bytes(of url: URL, limit: Int) throws -> Data {
        var text = ByteName(url.absoluteString).withBytes { Data($0) }.dropFirst("data:".utf8.count)
        if let fragment = text.firstIndex(of: UInt8(ascii: "#")) { text = text[..<fragment] }
        guard let comma = text.firstIndex(of: UInt8(ascii: ",")) else {
            throw ManagerError.invalidDataURL(reason: "it has no comma before its content")
        }
        let type = String(decoding: text[..<comma], as: UTF8.self).lowercased()
        let isBase64 = type.hasSuffix(";base64")
        let content = text[text.index(after: comma)...]
        // Three escaped bytes are one; four digits of base64 are three.
        guard content.count / 3 <= limit else { throw NetworkError.responseTooLarge(limit: limit) }
        let bytes = isBase64 ? try base64(try unescaped(content)) : try unescaped(content)
        guard bytes.count <= limit else { throw NetworkError.responseTooLarge(limit: limit) }
        return bytes
    }

    private static func unescaped(_ text: Data) throws -> Data {
        guard text.contains(UInt8(ascii: "%")) else { return Data(text) }
        var bytes = Data()
        bytes.reserveCapacity(text.count)
        var place = text.startIndex
        while place < text.endIndex {
            guard text[place] == UInt8(ascii: "%") else {
                bytes.append(text[place])
                place += 1
                continue
            }
            guard place + 2 < text.endIndex, let high = digit(text[place + 1]), let low = digit(text[place + 2]) else {
                throw ManagerError.invalidDataURL(reason: "it has a '%' without two hexadecimal digits")
            }
            bytes.append(high << 4 | low)
            place += 3
        }
        return bytes
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"), UInt8(ascii: "A")...UInt8(ascii: "F"):
            (byte | 0x20) - UInt8(ascii: "a") + 10
        default: nil
        }
    }

    private static func base64(_ text: Data) throws -> Data {
        var digits = text.filter { $0 != 0x20 && !(0x09...0x0d).contains($0) }
        for _ in 0..<2 where digits.last == UInt8(ascii: "=") { digits.removeLast() }
        digits.append(contentsOf: repeatElement(UInt8(ascii: "="), count: (4 - digits.count % 4) % 4))
        guard let bytes = Data(base64Encoded: digits) else {
            throw ManagerError.invalidDataURL(reason: "its content is not base64, as ';base64' says")
        }
        return bytes
    }
}
