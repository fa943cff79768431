import Foundation

/// What a cache cannot do.
public enum CacheError: Error, CustomStringConvertible {
    /// Only a replay can serve a policy that needs to know the future.
    case policyNeedsFuture(String)

    /// One sentence that says what is wrong and what would be accepted.
    public var description: String {
        switch self {
        case .policyNeedsFuture(let name):
            "The policy \(name) needs to know the future, so that only a replay can serve it; a live cache takes any other."
        }
    }
}
