import Foundation
import HalcyonNetworking

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A request with its receiver, as the transport queues it.
struct SessionOrder: Sendable {
    let id: UInt64
    var request: TransportRequest
    let receiver: any TransferReceiver
    let posted = ContinuousClock.now

    /// The order with another priority.
    func with(_ priority: TransferPriority) -> SessionOrder {
        var order = self
        order.request.priority = priority
        return order
    }
}

/// The state of a running transfer.
struct SessionTransfer: Sendable {
    /// What the receiver gets next.
    enum Event: Sendable {
        case head(ResponseHead)
        case bytes(Data)
        case end(Result<TransferMetrics, NetworkError>)
    }

    let order: SessionOrder
    let task: URLSessionDataTask
    let began = ContinuousClock.now
    /// The time of the last byte that was sent or received.
    var lastProgress = ContinuousClock.now
    /// Counts changes of ``deadline`` that a scheduled check does not know.
    var checks = 0
    var isPaused = false { didSet { lastProgress = .now } }
    /// Whether the task is suspended.
    var isSuspended = false
    /// The events that are not delivered yet, in their order.
    private var held: [Event] = []
    private var head: ResponseHead?
    private var hasEnded = false
    /// The number of bytes of the body that have arrived, decompressed.
    private var received: Int64 = 0
    /// What `URLSession` measured, if it does.
    var measured: TransferMetrics?
    private var request: TransportRequest { order.request }

    init(_ order: SessionOrder, _ task: URLSessionDataTask) { (self.order, self.task) = (order, task) }

    /// The time at which the transfer ends unless there is progress, and the limit that ends it.
    var deadline: (instant: ContinuousClock.Instant, reason: NetworkError.Timeout) {
        let whole = began.advanced(by: request.timeouts.whole)
        guard !isPaused else { return (whole, .whole) }
        let idle = lastProgress.advanced(by: request.timeouts.idle)
        return idle < whole ? (idle, .idle) : (whole, .whole)
    }

    /// Removes and returns the next event; `nil` if there is none, or the transfer is paused.
    mutating func next() -> Event? { isPaused || held.isEmpty ? nil : held.removeFirst() }

    /// Notes the head. Returns the error that ends the transfer, if any.
    mutating func receive(_ response: URLResponse) -> NetworkError? {
        lastProgress = .now
        let head = ResponseHead(response, url: request.url)
        self.head = head
        guard request.method != "HEAD", let length = head.contentLength, length > request.limits.responseBytes else {
            held.append(.head(head))
            return nil
        }
        return .responseTooLarge(limit: request.limits.responseBytes)
    }

    /// Notes a piece of the body. Returns the error that ends the transfer, if any.
    mutating func receive(_ data: Data) -> NetworkError? {
        lastProgress = .now
        received += Int64(data.count)
        guard received <= request.limits.responseBytes else {
            return .responseTooLarge(limit: request.limits.responseBytes)
        }
        held.append(.bytes(data))
        return nil
    }

    /// Notes the end.
    mutating func receiveEnd(_ error: (any Error)?) {
        guard !hasEnded else { return }
        hasEnded = true
        if let error { return held.append(.end(.failure(failure(error)))) }
        // On Linux, a redirect without a target has a response that the delegate does not receive.
        if head == nil, let response = task.response, let error = receive(response) {
            return held.append(.end(.failure(error)))
        }
        guard let head else { return held.append(.end(.failure(.invalidResponse("it has no head")))) }
        if let missing = truncation(of: head) { return held.append(.end(.failure(missing))) }
        held.append(.end(.success(metrics)))
    }

    private var metrics: TransferMetrics {
        var metrics = measured ?? TransferMetrics()
        metrics.queued = began - order.posted
        metrics.total = ContinuousClock.now - began
        if measured == nil {
            metrics.bytesReceived = received
            metrics.bytesSent = Int64(request.body?.count ?? 0)
        }
        return metrics
    }

    /// Returns the error of a body that is shorter than announced; `nil` if it is not.
    private func truncation(of head: ResponseHead) -> NetworkError? {
        guard request.method != "HEAD", ![204, 304].contains(head.status), !head.isCompressed,
            let expected = head.contentLength, received < expected
        else { return nil }
        return .truncatedBody(received: received, expected: expected)
    }

    /// Translates Foundation's errors. On Linux most failures have the same number, and only what has arrived distinguishes them.
    private func failure(_ error: any Error) -> NetworkError {
        let failure = error as NSError
        let reason = failure.localizedDescription
        guard failure.domain == NSURLErrorDomain else { return .transport(code: failure.code, reason) }
        let isBroken = head.map { !$0.isCompressed } ?? false
        switch failure.code {
        case NSURLErrorCancelled: return .cancelled
        #if !canImport(FoundationNetworking)
            case NSURLErrorNotConnectedToInternet where (error as? URLError)?.networkUnavailableReason == .constrained:
                return .constrainedNetwork
        #endif
        case NSURLErrorBadURL: return .invalidURL(request.url.absoluteString)
        // The scheme was checked: this is a response in HTTP/0.9.
        case NSURLErrorUnsupportedURL: return .invalidResponse(reason)
        case NSURLErrorCannotFindHost, NSURLErrorDNSLookupFailed: return .cannotFindHost(reason)
        case NSURLErrorCannotConnectToHost, NSURLErrorNotConnectedToInternet: return .cannotConnect(reason)
        case NSURLErrorTimedOut: return head == nil ? .timedOut(.connect) : .timedOut(.idle)
        case NSURLErrorNetworkConnectionLost: return broken(reason)
        case NSURLErrorBadServerResponse:
            #if canImport(FoundationNetworking)
                return broken(reason)
            #else
                return .invalidResponse(reason)
            #endif
        case NSURLErrorCannotDecodeRawData, NSURLErrorCannotDecodeContentData, NSURLErrorCannotParseResponse:
            return .invalidResponse(reason)
        case NSURLErrorSecureConnectionFailed, NSURLErrorServerCertificateHasBadDate,
            NSURLErrorServerCertificateUntrusted,
            NSURLErrorServerCertificateHasUnknownRoot, NSURLErrorServerCertificateNotYetValid,
            NSURLErrorClientCertificateRejected, NSURLErrorClientCertificateRequired:
            return .tls(reason)
        case NSURLErrorUnknown where isBroken: return broken(reason)
        default: return .transport(code: failure.code, reason)
        }
    }

    private func broken(_ reason: String) -> NetworkError {
        guard let head else { return .connectionLost(reason) }
        return .truncatedBody(received: received, expected: head.isCompressed ? nil : head.contentLength)
    }
}

extension URLRequest {
    /// Creates the request that a session sends. The session's own timeouts never pass: the transport keeps the limits of time.
    init(_ request: TransportRequest, userAgent: String) {
        self.init(url: request.url, cachePolicy: .reloadIgnoringLocalCacheData, timeoutInterval: Self.never)
        httpMethod = request.method
        httpBody = request.body
        httpShouldHandleCookies = false
        if !userAgent.isEmpty { setValue(userAgent, forHTTPHeaderField: "User-Agent") }
        // A range is a part of the stored representation, not of its compressed form.
        if !request.acceptsCompression || request.headers["Range"] != nil {
            setValue("identity", forHTTPHeaderField: "Accept-Encoding")
        }
        if let credential = request.credential {
            let pair = Data("\(credential.user):\(credential.password)".utf8).base64EncodedString()
            setValue("Basic \(pair)", forHTTPHeaderField: "Authorization")
        }
        for field in request.headers.fields { setValue(field.value, forHTTPHeaderField: field.name) }
    }

    /// A year in seconds.
    static let never: TimeInterval = 31_536_000
}

extension ResponseHead {
    /// Creates the head of a response. Foundation does not keep the order of the fields; here they are sorted by name.
    fileprivate init(_ response: URLResponse, url: URL) {
        self.init(url: url, status: 0)
        guard let response = response as? HTTPURLResponse else { return }
        status = response.statusCode
        let fields = response.allHeaderFields.compactMap { key, value in
            (key as? String).map { (name: $0, value: value as? String ?? "\(value)") }
        }
        for field in fields.sorted(by: { $0.name < $1.name }) { headers.add(field.name, field.value) }
    }
}

#if !canImport(FoundationNetworking)
    extension TransferMetrics {
        /// Creates the metrics of the last transaction that Foundation measured; `nil` if there is none.
        init?(_ metrics: URLSessionTaskMetrics) {
            guard let last = metrics.transactionMetrics.last else { return nil }
            func phase(_ from: Date?, _ to: Date?) -> Duration {
                guard let from, let to, to > from else { return .zero }
                return .seconds(to.timeIntervalSince(from))
            }
            self.init()
            nameLookup = phase(last.domainLookupStartDate, last.domainLookupEndDate)
            connect = phase(last.connectStartDate, last.secureConnectionStartDate ?? last.connectEndDate)
            tls = phase(last.secureConnectionStartDate, last.secureConnectionEndDate)
            firstByte = phase(last.requestStartDate, last.responseStartDate)
            bytesReceived = last.countOfResponseHeaderBytesReceived + last.countOfResponseBodyBytesReceived
            bytesSent = last.countOfRequestHeaderBytesSent + last.countOfRequestBodyBytesSent
            reusedConnection = last.isReusedConnection
            remoteAddress = last.remoteAddress ?? ""
            httpVersion =
                switch last.networkProtocolName {
                case "http/1.0": "1.0"
                case "http/1.1": "1.1"
                case "h2": "2"
                case "h3": "3"
                default: ""
                }
        }
    }
#endif
