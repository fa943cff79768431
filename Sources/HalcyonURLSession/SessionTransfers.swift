import Dispatch
import Foundation
import HalcyonNetworking
import Synchronization

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The transfers of one session: its delegate, its queue, and the limits of time.
///
/// Everything that reaches a receiver runs on one serial dispatch queue, which is also the delegate's. The state is under a lock,
/// since callers change priorities and pauses from their own threads. Receivers are called outside of the lock.
final class SessionTransfers: NSObject, URLSessionDataDelegate, Sendable {
    private struct State {
        /// `nil` once the transport is released.
        var session: URLSession?
        var queue: TransferQueue<SessionOrder>
        /// The orders that were paused while queued.
        var paused: [UInt64: SessionOrder] = [:]
        var running: [UInt64: SessionTransfer] = [:]
        /// The running transfers by the identifier of their task.
        var ids: [Int: UInt64] = [:]

        mutating func insert(_ order: SessionOrder) {
            queue.insert(order, id: order.id, host: order.request.origin, priority: order.request.priority)
        }

        mutating func remove(_ id: UInt64) -> SessionTransfer? {
            guard let transfer = running.removeValue(forKey: id) else { return nil }
            ids[transfer.task.taskIdentifier] = nil
            queue.ended(transfer.order.request.origin)
            return transfer
        }
    }

    private let configuration: URLSessionTransport.Configuration
    private let queue = DispatchQueue(label: "halcyon.urlsession")
    /// Cancels tasks and changes their priority. On Linux these calls wait for a queue that all sessions of the process share,
    /// which must delay neither receivers nor callers.
    private let tasks = DispatchQueue(label: "halcyon.urlsession.tasks")
    private let state: Mutex<State>

    init(_ configuration: URLSessionTransport.Configuration) {
        self.configuration = configuration
        let queue = TransferQueue<SessionOrder>(
            limit: configuration.maximumTransfers, limitPerHost: configuration.maximumConnectionsPerHost)
        state = Mutex(State(queue: queue))
        super.init()
        let settings = URLSessionConfiguration.ephemeral
        settings.urlCache = nil
        settings.urlCredentialStorage = nil
        settings.httpCookieStorage = nil
        settings.httpCookieAcceptPolicy = .never
        settings.httpShouldSetCookies = false
        settings.requestCachePolicy = .reloadIgnoringLocalCacheData
        settings.timeoutIntervalForRequest = URLRequest.never
        settings.timeoutIntervalForResource = URLRequest.never
        settings.httpMaximumConnectionsPerHost = configuration.maximumConnectionsPerHost
        #if !canImport(FoundationNetworking)
            settings.tlsMinimumSupportedProtocolVersion = .TLSv12
        #endif
        let operations = OperationQueue()
        operations.maxConcurrentOperationCount = 1
        operations.underlyingQueue = self.queue
        // The session keeps its delegate, which is this object, until it is invalidated.
        let session = URLSession(configuration: settings, delegate: self, delegateQueue: operations)
        state.withLock { $0.session = session }
    }

    // MARK: - Commands

    /// Queues a transfer.
    func start(_ order: SessionOrder) {
        do {
            try order.request.check(with: URLSessionTransport.capabilities)
        } catch {
            return queue.async { order.receiver.finished(.failure(error)) }
        }
        state.withLock { $0.insert(order) }
        queue.async { self.startQueued() }
    }

    /// Ends a transfer with `NetworkError.cancelled`.
    func cancel(_ id: UInt64) { queue.async { self.end(id, .cancelled) } }

    /// Pauses or resumes a transfer.
    func setPaused(_ id: UInt64, _ isPaused: Bool) {
        state.withLock { state in
            if state.running[id] != nil {
                state.running[id]?.isPaused = isPaused
                state.running[id]?.checks += 1
            } else if isPaused {
                state.paused[id] = state.queue.remove(id).map { $0.element.with($0.priority) }
            } else if let order = state.paused.removeValue(forKey: id) {
                state.insert(order)
            }
        }
        queue.async {
            self.matchSuspension(id)
            self.deliver(id)
            self.scheduleCheck(id)
            self.startQueued()
        }
    }

    /// Changes the priority of a transfer.
    func setPriority(_ id: UInt64, _ priority: TransferPriority) {
        let task = state.withLock { state in
            state.queue.setPriority(id, priority)
            state.paused[id]?.request.priority = priority
            return state.running[id]?.task
        }
        if let task { tasks.async { task.priority = priority.taskPriority } }
    }

    /// Ends every transfer with `NetworkError.transportClosed`, and releases the session.
    func close() {
        queue.async {
            let (session, orders, running) = self.state.withLock { state in
                defer { (state.session, state.paused) = (nil, [:]) }
                return (state.session, state.queue.removeAll() + state.paused.values, Array(state.running.keys))
            }
            for order in orders { order.receiver.finished(.failure(.transportClosed)) }
            for id in running { self.end(id, .transportClosed) }
            self.tasks.async { session?.invalidateAndCancel() }
        }
    }

    // MARK: - Start

    /// Starts queued transfers, as many as the limits allow.
    private func startQueued() {
        while let (order, session) = state.withLock({ state -> (SessionOrder, URLSession)? in
            guard let session = state.session else { return nil }
            return state.queue.next().map { ($0.element.with($0.priority), session) }
        }) {
            let task = session.dataTask(with: URLRequest(order.request, userAgent: configuration.userAgent))
            task.priority = order.request.priority.taskPriority
            state.withLock { state in
                state.running[order.id] = SessionTransfer(order, task)
                state.ids[task.taskIdentifier] = order.id
            }
            task.resume()
            scheduleCheck(order.id)
        }
    }

    /// Suspends or resumes the task of a transfer as it is paused or not. On Linux a suspended task would start again from the
    /// beginning: there the pause only holds back what arrives.
    private func matchSuspension(_ id: UInt64) {
        guard URLSessionTransport.capabilities.contains(.pausing) else { return }
        let change = state.withLock { state -> (task: URLSessionDataTask, isPaused: Bool)? in
            guard let transfer = state.running[id], transfer.isPaused != transfer.isSuspended else { return nil }
            state.running[id]?.isSuspended = transfer.isPaused
            return (transfer.task, transfer.isPaused)
        }
        if let change { change.isPaused ? change.task.suspend() : change.task.resume() }
    }

    // MARK: - Limits of time

    /// Checks the deadline of a transfer when it comes, and again as long as there was progress meanwhile.
    private func scheduleCheck(_ id: UInt64) {
        guard
            let (instant, checks) = state.withLock({ state in
                state.running[id].map { ($0.deadline.instant, $0.checks) }
            })
        else { return }
        let pause = max(ContinuousClock.now.duration(to: instant), .zero) + .milliseconds(1)
        queue.asyncAfter(deadline: .now() + pause.seconds) { [weak self] in self?.check(id, checks) }
    }

    private func check(_ id: UInt64, _ checks: Int) {
        guard
            let (deadline, current) = state.withLock({ state in
                state.running[id].map { ($0.deadline, $0.checks) }
            }), current == checks
        else { return }
        if deadline.instant <= .now { end(id, .timedOut(deadline.reason)) } else { scheduleCheck(id) }
    }

    // MARK: - End and delivery

    /// Ends a transfer, queued or running.
    private func end(_ id: UInt64, _ error: NetworkError) {
        let (order, transfer) = state.withLock { state in
            (state.queue.remove(id)?.element ?? state.paused.removeValue(forKey: id), state.remove(id))
        }
        guard let order = order ?? transfer?.order else { return }
        if let transfer { tasks.async { transfer.task.cancel() } }
        order.receiver.finished(.failure(error))
        startQueued()
    }

    /// Applies a change to the running transfer of a task, and delivers what follows.
    private func update(_ task: URLSessionTask, _ change: (inout SessionTransfer) -> NetworkError?) {
        let (id, error) = state.withLock { state -> (UInt64?, NetworkError?) in
            guard let id = state.ids[task.taskIdentifier], var transfer = state.running[id] else { return (nil, nil) }
            // The copy in the dictionary would double the memory of the events.
            state.running[id] = nil
            let error = change(&transfer)
            state.running[id] = transfer
            return (id, error)
        }
        guard let id else { return }
        if let error { end(id, error) } else { deliver(id) }
    }

    /// Delivers the events of a transfer until there are none, or it is paused.
    private func deliver(_ id: UInt64) {
        while let (order, event) = state.withLock({ state -> (SessionOrder, SessionTransfer.Event)? in
            guard let event = state.running[id]?.next(), let order = state.running[id]?.order else { return nil }
            if case .end = event { _ = state.remove(id) }
            return (order, event)
        }) {
            switch event {
            case .head(let head): order.receiver.received(head)
            case .bytes(let data): data.withUnsafeBytes { order.receiver.received($0) }
            case .end(let result):
                order.receiver.finished(result)
                startQueued()
            }
        }
    }

    // MARK: - Delegate

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @Sendable @escaping (URLSession.ResponseDisposition) -> Void
    ) {
        update(dataTask) { $0.receive(response) }
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        update(dataTask) { $0.receive(data) }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        update(task) { transfer in
            transfer.lastProgress = .now
            return nil
        }
    }

    /// Follows no redirect: the response to it is delivered. Foundation on Linux stops the process if this is answered for a
    /// cancelled task, so that such a task gets no answer.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @Sendable @escaping (URLRequest?) -> Void
    ) {
        guard state.withLock({ $0.ids[task.taskIdentifier] }) != nil else { return }
        completionHandler(nil)
    }

    /// Offers no stored credential, and verifies certificates as usual.
    ///
    /// On Linux, a transfer with the status 401 ends here: the Foundation of Swift 6.3 never ends the task of a challenge that has
    /// no credential.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @Sendable @escaping (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        #if canImport(FoundationNetworking)
            if challenge.failureResponse != nil {
                update(task) { transfer in
                    transfer.receiveEnd(nil)
                    return nil
                }
                return tasks.async { task.cancel() }
            }
        #endif
        completionHandler(.performDefaultHandling, nil)
    }

    #if !canImport(FoundationNetworking)
        func urlSession(
            _ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics
        ) {
            update(task) { transfer in
                transfer.measured = TransferMetrics(metrics)
                return nil
            }
        }
    #endif

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        update(task) { transfer in
            transfer.receiveEnd(error)
            return nil
        }
    }
}

extension TransferPriority {
    /// The priority of a task between 0 and 1.
    fileprivate var taskPriority: Float { Float(rawValue) / Float(Self.veryHigh.rawValue) }
}

extension Duration {
    /// The seconds, as a floating-point number.
    fileprivate var seconds: Double {
        let (seconds, attoseconds) = components
        return Double(seconds) + Double(attoseconds) / 1e18
    }
}
