import CCurl
import Foundation
import HalcyonNetworking

/// A running transfer: what has arrived, and when. Only the thread of transfers uses it.
final class CurlTransfer {
    let order: TransferOrder
    let handle: UnsafeMutableRawPointer
    let origin: String
    let began: ContinuousClock.Instant
    /// The header lines to send; libcurl needs them until the transfer has ended.
    var sentHeaders: UnsafeMutablePointer<curl_slist>?
    /// The buffer for libcurl's error message.
    let message = UnsafeMutableBufferPointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))

    /// The order to start in place of this transfer, whose response libcurl cannot decode.
    private(set) var again: TransferOrder?
    /// The reason why the transfer is ended from here. It precedes libcurl's error.
    var failure: NetworkError?
    /// The number of bytes that libcurl reads at once.
    let bufferSize: Int
    static let usualBufferSize = 65_536
    /// The speed limits of this transfer and of all transfers.
    private let speeds: [SpeedLimit]
    /// The time until which nothing is read, because of a speed limit.
    var resumesAt: ContinuousClock.Instant?
    /// The present priority.
    private(set) var priority: TransferPriority
    var isPaused = false { didSet { lastProgress = .now } }
    /// Whether libcurl holds bytes back.
    var isHeld = false
    private(set) var isConnected = false
    /// The time of the last byte that was sent or received.
    private(set) var lastProgress = ContinuousClock.now
    /// The first address that the request's filter refused, until another one is accepted.
    private(set) var refusedPeer: String?
    private var hasAcceptedPeer = false
    private var bytesSent: Int64 = 0
    /// The number of bytes of the body that have arrived, decompressed.
    private(set) var received: Int64 = 0
    private(set) var head: ResponseHead?
    private var parser = HeadParser()
    private var headerBytes = 0
    private var request: TransportRequest { order.request }

    /// Creates a transfer.
    ///
    /// - Parameter speed: the speed limit of all transfers.
    init(_ order: TransferOrder, handle: UnsafeMutableRawPointer, speed: SpeedLimit?) {
        self.order = order
        self.handle = handle
        priority = order.request.priority
        origin = order.request.origin
        began = order.beganUndecoded ?? .now
        speeds = [SpeedLimit(bytesPerSecond: order.request.limits.bytesPerSecond), speed].compactMap { $0 }
        // At most about the bytes of a quarter of a second are read at once.
        bufferSize =
            speeds.map(\.bytesPerSecond).min().map { min(max($0 / 4, 1_024), Self.usualBufferSize) }
            ?? Self.usualBufferSize
        message.initialize(repeating: 0)
    }

    deinit {
        curl_slist_free_all(sentHeaders)
        message.deallocate()
    }

    /// Sends the priority to an HTTP/2 server. A libcurl without HTTP/2 refuses the option, which changes nothing.
    func setWeight(_ priority: TransferPriority) {
        self.priority = priority
        _ = ccurl_set_long(handle, CURLOPT_STREAM_WEIGHT, priority.streamWeight)
    }

    // MARK: - The connection

    /// Opens the socket for an address, unless the filter refuses the address.
    func openSocket(_ address: UnsafeMutablePointer<curl_sockaddr>) -> curl_socket_t {
        if request.peerFilter != .any {
            var bytes = [UInt8](repeating: 0, count: 16)
            var port: Int32 = 0
            let count = Int(ccurl_address_bytes(address, &bytes, &port))
            let peer = PeerAddress(bytes: bytes.prefix(count), port: Int(port))
            guard accepts(peer) else {
                // Another address may have been accepted, whose connection is still being made.
                if !hasAcceptedPeer, refusedPeer == nil { refuse(peer) }
                return CURL_SOCKET_BAD
            }
            (hasAcceptedPeer, refusedPeer) = (true, nil)
        }
        return ccurl_open_socket(address)
    }

    /// Notes that there is a connection, new or kept. Returns whether to send the request over it: a kept connection may lead
    /// to a peer that this request's filter refuses.
    func connected(to address: String, port: Int) -> Bool {
        isConnected = true
        lastProgress = .now
        guard request.peerFilter != .any, request.url.scheme?.lowercased() != "file" else { return true }
        let peer = PeerAddress(address, port: port)
        if accepts(peer) {
            refusedPeer = nil
            return true
        }
        refuse(peer)
        return false
    }

    /// Evaluates the filter. An address of an unknown kind is refused.
    private func accepts(_ peer: PeerAddress?) -> Bool { peer.map(request.peerFilter.accepts) ?? false }

    private func refuse(_ peer: PeerAddress?) { refusedPeer = peer?.description ?? "unknown" }

    /// Notes how many bytes of the body have been sent.
    func sent(_ count: Int64) {
        guard count > bytesSent else { return }
        bytesSent = count
        lastProgress = .now
    }

    // MARK: - The response

    /// Receives a header line. Returns whether to continue.
    func received(header line: UnsafeRawBufferPointer) -> Bool {
        lastProgress = .now
        headerBytes += line.count
        if headerBytes > request.limits.headerBytes {
            return fail(.headersTooLarge(limit: request.limits.headerBytes))
        }
        // Trailers are not part of the head.
        guard head == nil else { return true }
        parser.add(line)
        let isEmpty = line.allSatisfy { $0 == 13 || $0 == 10 }
        guard isEmpty, isFinal else { return true }
        guard order.beganUndecoded == nil, hasUndecodableBody else { return deliverHead() }
        again = order.with(priority)
        again?.beganUndecoded = began
        return false
    }

    /// Whether the response has a body that is worth another request, with a content coding that libcurl does not know.
    private var hasUndecodableBody: Bool {
        guard request.method == "GET", parser.status < 300 || parser.status >= 400, parser.status != 204 else {
            return false
        }
        return parser.head(url: request.url).contentCodings.contains { ccurl_decodes($0) == 0 }
    }

    /// Whether no other head can follow: this is no interim response, nor a challenge that libcurl may answer.
    private var isFinal: Bool {
        let isChallenge = parser.status == 401 || parser.status == 407
        return parser.status >= 200 && !(isChallenge && request.credential != nil)
    }

    /// Receives a piece of the body. Returns the number of bytes accepted, or the value that makes libcurl hold them back.
    func received(body bytes: UnsafeRawBufferPointer) -> Int {
        if isPaused { return hold() }
        lastProgress = .now
        if let free = speeds.map(\.freeAt).max(), free > lastProgress {
            resumesAt = free
            return hold()
        }
        for speed in speeds { speed.take(bytes.count, at: lastProgress) }
        guard deliverHead() else { return 0 }
        received += Int64(bytes.count)
        if received > request.limits.responseBytes {
            failure = .responseTooLarge(limit: request.limits.responseBytes)
            return 0
        }
        order.receiver.received(bytes)
        return bytes.count
    }

    private func hold() -> Int {
        isHeld = true
        return Int(CURL_WRITEFUNC_PAUSE)
    }

    /// Delivers the head once no other can follow: when it is complete, with the first byte of the body, or at the end.
    private func deliverHead() -> Bool {
        if head != nil { return true }
        let head = parser.head(url: request.url)
        self.head = head
        // The receiver gets the head first, so that it learns the status of an answer that is too long.
        order.receiver.received(head)
        if request.method != "HEAD", let length = head.contentLength, length > request.limits.responseBytes {
            return fail(.responseTooLarge(limit: request.limits.responseBytes))
        }
        return true
    }

    private func fail(_ error: NetworkError) -> Bool {
        failure = error
        return false
    }

    // MARK: - The end

    /// The time at which the transfer ends unless there is progress, and the limit that ends it.
    var deadline: (instant: ContinuousClock.Instant, reason: NetworkError.Timeout) {
        let whole = began.advanced(by: request.timeouts.whole)
        guard isConnected, !isPaused, resumesAt == nil else { return (whole, .whole) }
        let idle = lastProgress.advanced(by: request.timeouts.idle)
        return idle < whole ? (idle, .idle) : (whole, .whole)
    }

    /// Delivers the end.
    func finish(_ code: CURLcode) {
        if let failure {
            order.receiver.finished(.failure(failure))
        } else if code == CURLE_OK {
            if deliverHead() {
                order.receiver.finished(.success(CurlMetrics.read(handle, queued: began - order.posted)))
            } else {
                order.receiver.finished(.failure(failure ?? .cancelled))
            }
        } else {
            order.receiver.finished(.failure(CurlFailure.error(code, self)))
        }
    }
}

/// Parses header lines. A status line begins a new head, so that the last of several counts (after `100 Continue`, or after a
/// challenge that libcurl answers).
package struct HeadParser {
    private(set) var status = 0
    private var headers = HeaderFields()

    /// Creates a parser without a head.
    package init() {}

    /// Parses one line, with or without its end.
    package mutating func add(_ line: UnsafeRawBufferPointer) {
        // RFC 9112 leaves bytes beyond ASCII undefined; here they are UTF-8 or replaced.
        let text = String(decoding: line, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        if text.hasPrefix("HTTP/") {
            let parts = text.split(separator: " ", maxSplits: 2)
            status = parts.count > 1 ? Int(parts[1]) ?? 0 : 0
            headers = HeaderFields()
        } else if let colon = text.firstIndex(of: ":") {
            let value = text[text.index(after: colon)...].trimmingCharacters(in: .whitespaces)
            headers.add(text[..<colon].trimmingCharacters(in: .whitespaces), value)
        }
    }

    /// Returns the head of the lines so far.
    package func head(url: URL) -> ResponseHead { ResponseHead(url: url, status: status, headers: headers) }
}

/// A limit of bytes per second: after each piece nothing is read for as long as the piece should have taken.
///
/// libcurl has a limit of its own, which passes some megabytes before it takes effect.
final class SpeedLimit {
    /// The limit in bytes per second.
    let bytesPerSecond: Int
    /// The time at which the next piece may be read.
    private(set) var freeAt = ContinuousClock.now

    /// Creates a limit; `nil` for 0, which is no limit.
    init?(bytesPerSecond: Int) {
        guard bytesPerSecond > 0 else { return nil }
        self.bytesPerSecond = bytesPerSecond
    }

    /// Counts a piece.
    func take(_ count: Int, at now: ContinuousClock.Instant) {
        freeAt = max(freeAt, now).advanced(by: .seconds(Double(count) / Double(bytesPerSecond)))
    }
}
