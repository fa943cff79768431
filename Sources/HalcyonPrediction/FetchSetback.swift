import HalcyonNetworking
import HalcyonPipeline

/// The back-off of an image whose fetches failed.
///
/// The image is not fetched for 30 seconds, and for twice as long after each further failure, up to four hours and a quarter.
struct FetchSetback: Sendable, Equatable {
    /// What came of the last fetch.
    enum Cause: Sendable, Equatable {
        /// The fetch failed, and another may not.
        case failed
        /// The server rejects the request. The image is not fetched as long as predicting goes on.
        case rejected
        /// The cache of this capacity refused the image. `said` is the size that was assumed, and `found` the actual one.
        case refused(said: Int?, found: Int, CacheCapacity)
    }

    /// The back-off after the first failure, in microseconds.
    static let shortest: Int64 = 30_000_000
    /// The maximum number of doublings.
    static let doublings = 9

    private let cause: Cause
    private let count: Int
    /// The wall time of the last failure.
    private let time: Int64

    /// Creates the back-off after another failure than those of `last`.
    init(_ cause: Cause, after last: FetchSetback?, at time: Int64) {
        self.cause = cause
        count = (last?.count ?? 0) + 1
        self.time = time
    }

    /// Whether the cache refused the image, and may refuse it after a request, too.
    var isRefusal: Bool { if case .refused = cause { true } else { false } }

    /// Returns whether the image is not to be fetched now. It is `false` if the clock was set back since the last failure.
    ///
    /// - Parameter bytes: the known size of the image.
    func isInForce(at now: Int64, bytes: Int?, _ capacity: CacheCapacity) -> Bool {
        switch cause {
        case .failed: break
        case .rejected: return true
        case .refused(let said, let found, let before):
            if before != capacity || bytes != said && bytes != found { return false }
        }
        return now >= time && now - time < Self.shortest << min(count - 1, Self.doublings)
    }
}

extension Error {
    /// Whether a server rejects the request and would do so again: with a lasting status of 4xx, or by requiring a password. If
    /// there are several sources, all of them do.
    var isRejection: Bool {
        if case .allSourcesFailed(let failures) = self as? ManagerError {
            return failures.allSatisfy(\.error.isRejection)
        }
        guard let error = self as? NetworkError else { return false }
        switch error {
        case .invalidStatusCode(let head): return (400..<500).contains(head.status) && !error.isWorthRetrying
        case .authenticationRefused: return true
        default: return false
        }
    }
}
