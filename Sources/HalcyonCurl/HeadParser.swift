import Foundation
import HalcyonNetworking

/// Makes a head of header lines. A status line begins a new one, so that the last of several (after `100 Continue`, or a
/// name and a password that libcurl was asked for) stands.
package struct HeadParser {
    private(set) var status = 0
    private var headers = HeaderFields()

    package init() {}

    /// Takes one line, with or without its end.
    package mutating func add(_ line: UnsafeRawBufferPointer) {
        // RFC 9112 takes bytes beyond ASCII for data of unknown meaning; here they are UTF-8 or replaced.
        let text = String(decoding: line, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        if text.hasPrefix("HTTP/") {
            let parts = text.split(separator: " ", maxSplits: 2)
            status = parts.count > 1 ? Int(parts[1]) ?? 0 : 0
            headers = HeaderFields()
        } else if let colon = text.firstIndex(of: ":") {
            let value = text[text.index(after: colon)...].trimmingCharacters(in: .whitespaces)
            headers.add(text[..<colon].trimmingCharacters(in: .whitespaces), value)
        }
    }

    package func head(url: URL) -> ResponseHead { ResponseHead(url: url, status: status, headers: headers) }
}
