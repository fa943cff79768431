import Foundation
import Synchronization

/// The beginning of a body whose transfer ended early, and what says whether the rest still belongs to it.
struct PartialBody: Sendable {
    let data: Data
    /// A strong entity tag, or a date of the last change that is safely past: what `If-Range` may carry.
    let validator: String

    /// What a broken transfer leaves; `nil` if the rest could not be asked for.
    ///
    /// - Parameters:
    ///   - head: of the answer that the bytes came with.
    ///   - data: the whole body as far as it goes, with what a resumed transfer began with.
    init?(_ head: ResponseHead, _ data: Data) {
        guard !data.isEmpty, !head.isCompressed, head.headers["Vary"]?.contains("*") != true else { return nil }
        let takesRanges = head.headers["Accept-Ranges"].map { $0.lowercased().contains("bytes") } ?? false
        guard head.status == 206 || (head.status == 200 && takesRanges) else { return nil }
        guard let validator = Validators(head).ifRange else { return nil }
        (self.data, self.validator) = (data, validator)
    }

    /// The request for the rest.
    func request(for request: TransportRequest) -> TransportRequest {
        var request = request
        request.headers["Range"] = "bytes=\(data.count)-"
        request.headers["If-Range"] = validator
        return request
    }

    /// Whether an answer carries the rest.
    func isContinued(by head: ResponseHead) -> Bool {
        head.status == 206 && ContentRange(head.headers["Content-Range"])?.first == Int64(data.count)
    }
}

/// Beginnings of bodies in memory, up to a number of bytes; the oldest go first.
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

    /// How many bytes are kept.
    var bytes: Int { state.withLock { $0.bytes } }

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

/// The part of a body that a `206 Partial Content` carries: `bytes 200-999/1000`.
package struct ContentRange: Equatable {
    package let first: Int64
    package let last: Int64
    /// The length of the whole; `nil` where the server does not say.
    package let total: Int64?

    /// `nil` for anything but one range of bytes that makes sense.
    package init?(_ text: String?) {
        guard let text, text.lowercased().hasPrefix("bytes ") else { return nil }
        let parts = text.dropFirst(6).split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        let ends = parts[0].split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Int64(ends[0]), let last = Int64(ends[1]), first >= 0, last >= first else {
            return nil
        }
        let total = Int64(parts[1])
        guard parts[1] == "*" || total != nil, total.map({ last < $0 }) ?? true else { return nil }
        (self.first, self.last, self.total) = (first, last, total)
    }
}
