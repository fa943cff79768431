import Foundation

/// What came of a whole load, through redirects and challenges.
struct LoadedBody: Sendable {
    var data: Data
    var head: ResponseHead
    var metrics: TransferMetrics
    var redirects: Int
    var freshness: Freshness
}
