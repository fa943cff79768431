import Foundation
import Synchronization

/// The beginning of a body whose transfer ended early, with what tells whether a later part belongs to it.
struct PartialBody: Sendable {
    let data: Data
    /// The strong validator of the body: an entity tag, or a date of the last change that is a strong validator by RFC 9110, 8.8.2.2.
    let validator: Validators.Strong
    /// The length of the whole body; `nil` if no answer has stated it.
    let total: Int64?

    /// What a transfer leaves that ended early; `nil` if the rest cannot be requested.
    ///
    /// - Parameters:
    ///   - head: of the answer that the last bytes came with.
    ///   - data: the body from its first byte.
    ///   - partial: the beginning that the answer continued; `nil` if it began at zero.
    init?(_ head: ResponseHead, _ data: Data, continuing partial: PartialBody? = nil) {
        guard !data.isEmpty, !head.isCompressed, head.headers["Vary"]?.contains("*") != true else { return nil }
        if let partial {
            (self.data, validator, total) = (
                data, partial.validator, partial.total ?? ContentRange(head.headers["Content-Range"])?.total
            )
        } else {
            let takesRanges = head.headers["Accept-Ranges"].map { $0.lowercased().contains("bytes") } ?? false
            // A part that was not requested is no beginning.
            guard head.status == 200, takesRanges, let validator = Validators(head).strong else { return nil }
            (self.data, self.validator, total) = (data, validator, head.contentLength)
        }
        if let total, Int64(data.count) >= total { return nil }
    }

    /// The request for the rest.
    func request(for request: TransportRequest) -> TransportRequest {
        var request = request
        request.headers["Range"] = "bytes=\(data.count)-"
        request.headers["If-Range"] = validator.text
        return request
    }

    /// Whether an answer carries the rest, or its first part. It must have the same strong validator (RFC 9110, 15.3.7.3). Its range must
    /// begin where this ends, and its lengths must agree with each other and with what is known of the whole.
    func isContinued(by head: ResponseHead) -> Bool {
        guard head.status == 206, !head.isCompressed, validator.isCarried(by: head),
            let range = ContentRange(head.headers["Content-Range"]), range.first == Int64(data.count)
        else { return false }
        if let length = head.contentLength, length != range.count { return false }
        guard let total else { return true }
        return range.total.map { $0 == total } ?? (range.last < total)
    }
}

/// The part of a body that a `206 Partial Content` carries: `bytes 200-999/1000`.
package struct ContentRange: Equatable {
    package let first: Int64
    package let last: Int64
    /// The length of the whole; `nil` if the server does not state it.
    package let total: Int64?

    /// Parses a header field; `nil` unless it is one valid range of bytes.
    package init?(_ text: String?) {
        guard let text, text.lowercased().hasPrefix("bytes ") else { return nil }
        let parts = text.dropFirst(6).split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        let ends = parts[0].split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Int64(ends[0]), let last = Int64(ends[1]), first >= 0, last >= first,
            last < .max
        else { return nil }
        let total = Int64(parts[1])
        guard parts[1] == "*" || total != nil, total.map({ last < $0 }) ?? true else { return nil }
        (self.first, self.last, self.total) = (first, last, total)
    }

    /// The number of bytes of the part.
    var count: Int64 { last - first + 1 }

    /// Whether the part is the whole.
    var isWhole: Bool { first == 0 && total == last + 1 }
}

/// Beginnings of bodies in memory, up to a number of bytes; the oldest are dropped first.
final class PartialBodies: Sendable {
    private struct State {
        var bodies: [MergeKey: PartialBody] = [:]
        var order: [MergeKey] = []
        var bytes = 0
    }

    private let limit: Int
    private let state = Mutex(State())

    /// - Parameter limit: the highest number of bytes over all; 0 keeps nothing.
    init(limit: Int) { self.limit = limit }

    /// The number of bytes that are kept.
    var bytes: Int { state.withLock { $0.bytes } }

    /// Removes all.
    func removeAll() { state.withLock { $0 = State() } }

    /// Takes out what is kept for a request.
    func take(_ key: MergeKey) -> PartialBody? { state.withLock { Self.remove(key, &$0) } }

    /// Keeps a beginning, in place of an older one for the same request.
    func keep(_ body: PartialBody, for key: MergeKey) {
        guard body.data.count <= limit else { return }
        state.withLock { state in
            _ = Self.remove(key, &state)
            while state.bytes + body.data.count > limit, let oldest = state.order.first {
                _ = Self.remove(oldest, &state)
            }
            state.bodies[key] = body
            state.order.append(key)
            state.bytes += body.data.count
        }
    }

    private static func remove(_ key: MergeKey, _ state: inout State) -> PartialBody? {
        guard let body = state.bodies.removeValue(forKey: key) else { return nil }
        state.order.removeAll { $0 == key }
        state.bytes -= body.data.count
        return body
    }
}
