import Foundation
import HalcyonNetworking
import Synchronization

/// The pauses between attempts to revalidate images whose server fails. A pause is 10 seconds after the first failure, and twice as long
/// after each further one, at most 10 minutes. The server can ask for a longer one by `Retry-After`, up to the same bound.
///
/// A server that cannot be reached, or that answers 429 or 503, pauses for all its images; another status for that image alone. A success
/// ends both. At most 1,024 failures are remembered; beyond that the ones that end soonest are forgotten.
final class RevalidationPauses: Sendable {
    private struct Pause {
        var failed: Int64
        var end: Int64
        var length: Int64
    }

    /// The most failures that are remembered.
    static let limit = 1_024
    private static let (first, longest) = (Int64(10), Int64(600))

    private let pauses = Mutex<[String: Pause]>([:])

    /// The number of failures that are remembered.
    var count: Int { pauses.withLock { $0.count } }

    /// Returns whether a URL is not to be asked again yet. O(1).
    ///
    /// - Parameter now: seconds since 1970. A failure in the future, by a clock that was ahead, pauses nothing.
    func contain(_ url: URL, at now: Int64) -> Bool {
        pauses.withLock { pauses in
            if pauses.isEmpty { return false }
            return [url.absoluteString, Self.server(of: url)].contains { name in
                pauses[name].map { $0.failed <= now && now < $0.end } ?? false
            }
        }
    }

    /// Notes that a URL could not be revalidated. O(failures) once the table is full, else O(1).
    func failed(_ url: URL, _ error: any Error, at now: Int64) {
        guard error.allowsStale, error as? NetworkError != .constrainedNetwork else { return }
        let (isOfServer, asked) = Self.meaning(error, now)
        let name = isOfServer ? Self.server(of: url) : url.absoluteString
        pauses.withLock { pauses in
            let known = pauses[name].flatMap { $0.failed <= now ? $0 : nil }
            // Joined loads fail together.
            if let known, now < known.end { return }
            let length = min(known.map { $0.length * 2 } ?? Self.first, Self.longest)
            if pauses[name] == nil, pauses.count >= Self.limit,
                let soonest = pauses.min(by: { ($0.value.end, $0.key) < ($1.value.end, $1.key) })
            {
                pauses[soonest.key] = nil
            }
            pauses[name] = Pause(failed: now, end: now + max(length, min(asked, Self.longest)), length: length)
        }
    }

    /// Notes that a URL has been answered.
    func succeeded(_ url: URL) {
        pauses.withLock { pauses in
            if pauses.isEmpty { return }
            (pauses[url.absoluteString], pauses[Self.server(of: url)]) = (nil, nil)
        }
    }

    private static func meaning(_ error: any Error, _ now: Int64) -> (isOfServer: Bool, asked: Int64) {
        guard case .invalidStatusCode(let head) = error as? NetworkError else { return (true, 0) }
        let asked = head.retryAfter(now: now).map { $0.components.seconds } ?? 0
        return (head.status == 429 || head.status == 503, asked)
    }

    /// No URL of an image is as short as this: it has a path.
    private static func server(of url: URL) -> String {
        "\(url.scheme ?? "")://\(url.host ?? ""):\(url.port ?? -1)"
    }
}
