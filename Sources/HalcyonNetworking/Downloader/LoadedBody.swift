import Foundation

/// What came of a whole load, through redirects and challenges. An object, since all who waited for it hold it.
package final class LoadedBody: Sendable {
    package let data: Data
    package let head: ResponseHead
    package let metrics: TransferMetrics
    package let redirects: Int
    package let freshness: Freshness

    package init(data: Data, head: ResponseHead, metrics: TransferMetrics, redirects: Int, freshness: Freshness) {
        self.data = data
        self.head = head
        self.metrics = metrics
        self.redirects = redirects
        self.freshness = freshness
    }
}
