import HalcyonNetworking
import HalcyonPipeline

/// What is remembered of an image whose fetches brought nothing, lest it is asked for after each pause again.
///
/// It is left alone for 30 seconds, and twice as long after each further fetch in vain, up to four hours and a quarter.
struct FetchSetback: Sendable, Equatable {
    /// What came of the last fetch.
    enum Cause: Sendable, Equatable {
        /// It failed, and may not another time.
        case failed
        /// The server says that the request is wrong, and would say so again: it is left alone as long as predicting goes on.
        case rejected
        /// The cache, which can hold so much, did not let the image in, of which it was said that it has so many bytes, or nothing, and
        /// which has `found`.
        case refused(said: Int?, found: Int, CacheCapacity)
    }

    /// The microseconds that it is left alone after the first time.
    static let shortest: Int64 = 30_000_000
    /// How often that doubles at most.
    static let doublings = 9

    private let cause: Cause
    private let count: Int
    /// The wall time of the last one.
    private let time: Int64

    /// Another fetch in vain after those of `last`.
    init(_ cause: Cause, after last: FetchSetback?, at time: Int64) {
        self.cause = cause
        count = (last?.count ?? 0) + 1
        self.time = time
    }

    /// Whether the cache might not let in what somebody else has loaded either.
    var isRefusal: Bool { if case .refused = cause { true } else { false } }

    /// Whether the image is to be left alone now, of which it is said that it has so many bytes, or nothing. A clock that was set
    /// back before the last fetch says nothing of how long that is ago: then it is not.
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
    /// Whether a server was reached and would answer the same request alike: with a status of 4xx that does not stand for this
    /// moment, or by asking for a name and a password; where there are several sources, all of them.
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
