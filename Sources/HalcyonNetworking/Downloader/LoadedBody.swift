import Foundation

/// What came of a whole load, through redirects and challenges. An object, since all who waited for it hold it.
final class LoadedBody: Sendable {
    let data: Data
    let head: ResponseHead
    let metrics: TransferMetrics
    let redirects: Int
    let freshness: Freshness

    init(data: Data, head: ResponseHead, metrics: TransferMetrics, redirects: Int, freshness: Freshness) {
        self.data = data
        self.head = head
        self.metrics = metrics
        self.redirects = redirects
        self.freshness = freshness
    }
}
