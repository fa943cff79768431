import Foundation
import HalcyonNetworking
import HalcyonSupport

/// Why a manager has no image, beside `NetworkError`, `ImageError` and the errors of a user's provider. A cancelled load ends with
/// a `CancellationError`.
public enum ManagerError: Error, PermanentFailure, CustomStringConvertible {
    /// The image is not cached, and the load may take it from the cache only.
    case notCached(key: String)
    /// A file cannot be read.
    case cannotReadFile(URL, underlying: any Error)
    /// The manager's ``SourcePolicy`` does not allow the source. Nothing was opened.
    case sourceRefused(URL, reason: String)
    /// A `data:` URL has no content that can be read.
    case invalidDataURL(reason: String)
    /// The source has an empty key, under which no image can be told from another.
    case emptyKey
    /// The source and all alternative ones have failed, in this order.
    case allSourcesFailed([SourceFailure])

    /// One sentence that says what is wrong.
    public var description: String {
        switch self {
        case .notCached(let key): "'\(key)' is not cached, and was to be taken from the cache only."
        case .cannotReadFile(let url, let underlying):
            "\(url.path) cannot be read: "
                + SystemReason.text(of: underlying).trimmingCharacters(in: CharacterSet(charactersIn: ".")) + "."
        case .sourceRefused(let url, let reason): "\(Source(url).cacheKey) may not be loaded: \(reason)."
        case .invalidDataURL(let reason):
            "The data URL cannot be read: \(reason); 'data:[type][;base64],content' is accepted."
        case .emptyKey: "The source has an empty key; any other string is a key."
        case .allSourcesFailed(let failures):
            "No source has the image. " + failures.map { "\($0.source.cacheKey): \($0.error)" }.joined(separator: " ")
        }
    }
}

/// Why one of several sources has no image.
public struct SourceFailure: Sendable {
    /// The source.
    public let source: Source
    /// The error.
    public let error: any Error
}
