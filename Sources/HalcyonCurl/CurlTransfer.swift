import CCurl
import Foundation
import HalcyonNetworking

/// One transfer under way: what has arrived of it, and when. It lives on the thread of transfers and nowhere else.
final class CurlTransfer {
    let order: TransferOrder
    let handle: UnsafeMutableRawPointer
    let origin: String
    let began = ContinuousClock.now
    /// The header lines that are sent; libcurl needs them until the transfer has ended.
    var sentHeaders: UnsafeMutablePointer<curl_slist>?
    /// Where libcurl writes what went wrong.
    let message = UnsafeMutableBufferPointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))

    /// Why it is being ended from here; goes before whatever libcurl says.
    var failure: NetworkError?
    /// How many bytes libcurl reads at once.
    let bufferSize: Int
    static let usualBufferSize = 65_536
    /// This transfer's limit of speed, and that of all.
    private let speeds: [SpeedLimit]
    /// Until when nothing is taken, to keep below the limits of speed.
    var resumesAt: ContinuousClock.Instant?
    var isPaused = false { didSet { lastArrival = .now } }
    /// Whether libcurl keeps bytes that it was told to.
    var isHeld = false
    private(set) var isConnected = false
    private(set) var lastArrival = ContinuousClock.now
    /// How many bytes of the body have arrived, decompressed.
    private(set) var received: Int64 = 0
    private(set) var head: ResponseHead?
    private var parser = HeadParser()
    private var headerBytes = 0
    private var request: TransportRequest { order.request }

    /// - Parameter speed: the limit of all transfers.
    init(_ order: TransferOrder, handle: UnsafeMutableRawPointer, speed: SpeedLimit?) {
        self.order = order
        self.handle = handle
        origin = order.request.origin
        speeds = [SpeedLimit(bytesPerSecond: order.request.limits.bytesPerSecond), speed].compactMap { $0 }
        // Not much more than a quarter of a second's bytes is taken at once.
        bufferSize =
            speeds.map(\.bytesPerSecond).min().map { min(max($0 / 4, 1_024), Self.usualBufferSize) }
            ?? Self.usualBufferSize
        message.initialize(repeating: 0)
    }

    deinit {
        curl_slist_free_all(sentHeaders)
        message.deallocate()
    }

    // MARK: - What arrives

    /// The connection is there.
    func connected() {
        isConnected = true
        lastArrival = .now
    }

    /// A header line has arrived. Returns whether to go on.
    func received(header line: UnsafeRawBufferPointer) -> Bool {
        lastArrival = .now
        headerBytes += line.count
        if headerBytes > request.limits.headerBytes {
            return fail(.headersTooLarge(limit: request.limits.headerBytes))
        }
        // What follows the body is not part of the head.
        guard head == nil else { return true }
        parser.add(line)
        let isEmpty = line.allSatisfy { $0 == 13 || $0 == 10 }
        return isEmpty && isFinal ? deliverHead() : true
    }

    /// Whether no other head can follow this one: it is no interim answer, nor one that libcurl may answer by itself.
    private var isFinal: Bool {
        let isChallenge = parser.status == 401 || parser.status == 407
        return parser.status >= 200 && !(isChallenge && request.credential != nil)
    }

    /// A piece of the body has arrived. Returns what libcurl is to be told: the number of bytes taken, or to keep them.
    func received(body bytes: UnsafeRawBufferPointer) -> Int {
        if isPaused { return hold() }
        lastArrival = .now
        if let free = speeds.map(\.freeAt).max(), free > lastArrival {
            resumesAt = free
            return hold()
        }
        for speed in speeds { speed.take(bytes.count, at: lastArrival) }
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

    /// Hands the head on, when no other can follow: as soon as it is there, or with the body's first byte, or at the end.
    private func deliverHead() -> Bool {
        if head != nil { return true }
        let head = parser.head(url: request.url)
        self.head = head
        // The receiver gets the head first, so that it can judge the status of an answer that is too long.
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

    /// When it has to be ended if nothing more arrives, and why.
    var deadline: (instant: ContinuousClock.Instant, reason: NetworkError.Timeout) {
        let whole = began.advanced(by: request.timeouts.whole)
        guard isConnected, !isPaused, resumesAt == nil else { return (whole, .whole) }
        let idle = lastArrival.advanced(by: request.timeouts.idle)
        return idle < whole ? (idle, .idle) : (whole, .whole)
    }

    /// Tells the receiver how it ended.
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
