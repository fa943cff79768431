import Foundation
import HalcyonSupport

/// The key of a request: requests with equal keys share one transfer. It contains all that a server can see of a request, what may be
/// accepted from the server, and the rules of redirects. Priorities and timeouts may differ; so may header fields that only trace a
/// request.
///
/// What carries credentials is part of it: `Authorization`, `Cookie` and every other field, a name and a password, the TLS
/// settings, the proxy and the peer filter. Two users never share a transfer.
///
/// An object, since it is large and passed on with every event.
///
/// See `MergingTests.requestsWithDifferentResponsesAreNotMerged()` and
/// `DownloaderTests.differentHeadersShareNoTransfer()`.
package final class MergeKey: Hashable, Sendable {
    /// Fields that differ between requests for the same thing, in lower case.
    package static let tracing: Set<String> = ["traceparent", "tracestate", "x-request-id", "x-correlation-id"]

    package let url: String
    private let method: String
    private let headers: [HeaderFields.Field]
    private let body: Data?
    private let credential: Credential?
    private let limits: TransferLimits
    private let tls: TLSSettings
    private let proxy: Proxy
    private let httpVersion: HTTPVersionChoice
    private let acceptsCompression: Bool
    private let allowedSchemes: Set<String>
    private let partition: ByteName?
    private let peerFilter: PeerFilter
    private let sensitiveHeaders: Set<String>
    private let crossOriginHeaders: Set<String>
    private let redirects: RedirectRules.Identity

    package convenience init(_ request: TransportRequest) { self.init(request, RedirectRules.Identity()) }

    /// - Parameter redirects: the rules of redirects of the load.
    init(_ request: TransportRequest, _ redirects: RedirectRules.Identity) {
        url = Self.sent(request.url)
        self.redirects = redirects
        method = request.method
        headers = request.headers.fields.isEmpty ? [] : Self.normalized(request.headers)
        body = request.body
        credential = request.credential
        limits = request.limits
        tls = request.tls
        proxy = request.proxy
        httpVersion = request.httpVersion
        acceptsCompression = request.acceptsCompression
        allowedSchemes = request.allowedSchemes
        partition = request.mergePartition.map(ByteName.init)
        peerFilter = request.peerFilter
        sensitiveHeaders = request.sensitiveHeaders
        crossOriginHeaders = request.crossOriginHeaders
    }

    /// A URL as it is sent: without its fragment.
    static func sent(_ url: URL) -> String {
        let text = url.absoluteString
        return text.contains(byte: UInt8(ascii: "#")) ? String(text.prefix { $0 != "#" }) : text
    }

    package static func == (one: MergeKey, other: MergeKey) -> Bool {
        one === other
            || ByteName(one.url) == other.url && ByteName(one.method) == other.method && one.headers == other.headers
                && one.body == other.body
                && one.credential == other.credential && one.limits == other.limits && one.tls == other.tls
                && one.proxy == other.proxy && one.httpVersion == other.httpVersion
                && one.acceptsCompression == other.acceptsCompression && one.allowedSchemes == other.allowedSchemes
                && one.partition == other.partition
                && one.peerFilter == other.peerFilter
                && one.sensitiveHeaders == other.sensitiveHeaders && one.redirects == other.redirects
                && one.crossOriginHeaders == other.crossOriginHeaders
    }

    /// Hashes what usually differs.
    package func hash(into hasher: inout Hasher) {
        ByteName(url).hash(into: &hasher)
        if !headers.isEmpty { hasher.combine(headers) }
    }

    /// The fields in the order of their names in lower case; fields of one name stay in their order.
    static func normalized(_ headers: HeaderFields) -> [HeaderFields.Field] {
        let fields = headers.fields.map { HeaderFields.Field(name: $0.name.lowercased(), value: $0.value) }
            .filter { !tracing.contains($0.name) }
        return fields.enumerated()
            .sorted { ($0.element.name, $0.offset) < ($1.element.name, $1.offset) }
            .map(\.element)
    }
}

extension String {
    /// Whether the text contains a byte. `memchr` compares many bytes at a time.
    fileprivate func contains(byte: UInt8) -> Bool {
        utf8.withContiguousStorageIfAvailable { bytes in
            bytes.baseAddress.map { memchr($0, Int32(byte), bytes.count) != nil } ?? false
        } ?? utf8.contains(byte)
    }
}
