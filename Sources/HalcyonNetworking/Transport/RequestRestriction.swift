import Foundation
import HalcyonSupport

/// What every request of a load has to keep to, whoever made it: the app's configuration, a request modifier or a redirect handler.
package struct RequestRestriction: Hashable, Sendable {
    /// The schemes that may be loaded, of those that the request allows; `nil` for all of them.
    package var schemes: Set<String>?
    /// The addresses that may be connected to, of those that the request's filter accepts.
    package var addresses: PeerFilter

    package init(schemes: Set<String>? = nil, addresses: PeerFilter = .any) {
        (self.schemes, self.addresses) = (schemes, addresses)
    }

    /// Narrows what a request may load. A file is never a server's.
    package func apply(to request: inout TransportRequest) {
        if let schemes { request.allowedSchemes.formIntersection(schemes) }
        if request.allowedSchemes.contains("file") { request.allowedSchemes.remove("file") }
        request.peerFilter = request.peerFilter.narrowed(by: addresses)
    }
}

extension PeerFilter {
    /// Returns the filter that accepts what both accept.
    func narrowed(by other: PeerFilter) -> PeerFilter {
        if other == .any || other == self { return self }
        return self == .any ? other : both(other)
    }
}
