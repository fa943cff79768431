import Foundation
import HalcyonNetworking

/// An error of a manager, in addition to `NetworkError`, `ImageError` and the errors of custom providers. A cancelled load
/// throws `CancellationError`.
public enum ManagerError: Error, PermanentFailure, CustomStringConvertible {
    /// Only what is cached was asked for, and it is not.
    case notCached(key: String)
    /// A file cannot be read.
    case cannotReadFile(URL, underlying: any Error)
    /// The source and all alternative ones have failed, in this order.
    case allSourcesFailed([SourceFailure])

    /// One sentence that says what is wrong.
    public var description: String {
        switch self {
        case .notCached(let key): "'\(key)' is not cached, and was to be taken from the cache only."
        case .cannotReadFile(let url, let underlying): "\(url.path) cannot be read: \(underlying)."
        case .allSourcesFailed(let failures):
            "No source has the image. " + failures.map { "\($0.source.cacheKey): \($0.error)" }.joined(separator: " ")
        }
    }
}

/// Why one of several sources has no image.
public struct SourceFailure: Sendable {
    /// The source.
    public let source: Source
    /// Why.
    public let error: any Error
}
