import CCurl
import Foundation
import HalcyonNetworking

/// The thread of transfers: processes commands, runs libcurl, and waits for the next event. Only this thread uses the loop.
final class CurlLoop {
    private let inbox: CurlInbox
    private let configuration: CurlTransport.Configuration
    private let multi: UnsafeMutableRawPointer
    private let share: UnsafeMutableRawPointer?
    /// The speed limit of all transfers.
    private let speed: SpeedLimit?
    private var waiting: TransferQueue<TransferOrder>
    /// The orders that were paused while queued.
    private var held: [UInt64: TransferOrder] = [:]
    /// The running transfers by their id.
    private var active: [UInt64: CurlTransfer] = [:]
    /// The running transfers by their handle.
    private var byHandle: [UnsafeMutableRawPointer: CurlTransfer] = [:]
    /// Whether a transfer has ended since queued transfers were started last.
    private var madeRoom = false
    /// Used handles, for the next transfers.
    private var spareHandles: [UnsafeMutableRawPointer] = []

    /// Serves an inbox until it is closed.
    static func serve(_ inbox: CurlInbox, _ configuration: CurlTransport.Configuration) {
        // A connection that breaks while TLS writes to it raises SIGPIPE on this thread. The error reports it as well.
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        guard curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK, let multi = makeMulti(configuration) else {
            inbox.close()
            for case .start(let order) in inbox.take().commands {
                order.receiver.finished(.failure(.transport(code: 27, "libcurl cannot be started")))
            }
            return
        }
        CurlLoop(inbox, configuration, multi).run()
    }

    /// Creates a multi handle with the limits of the configuration; `nil` if libcurl cannot, or refuses a limit.
    private static func makeMulti(_ configuration: CurlTransport.Configuration) -> UnsafeMutableRawPointer? {
        guard let multi = curl_multi_init() else { return nil }
        let limits = [
            (CURLMOPT_MAXCONNECTS, configuration.keptConnections),
            (CURLMOPT_MAX_HOST_CONNECTIONS, configuration.maximumConnectionsPerHost),
            (CURLMOPT_MAX_CONCURRENT_STREAMS, configuration.maximumStreamsPerHost),
        ]
        guard limits.allSatisfy({ ccurl_multi_set_long(multi, $0.0, $0.1) == CURLM_OK }) else {
            curl_multi_cleanup(multi)
            return nil
        }
        return multi
    }

    /// Creates what lets handles share TLS sessions; `nil` if libcurl cannot, which only costs handshakes.
    private static func makeShare() -> UnsafeMutableRawPointer? {
        guard let share = curl_share_init() else { return nil }
        guard ccurl_share_data(share, CURL_LOCK_DATA_SSL_SESSION) == CURLSHE_OK else {
            curl_share_cleanup(share)
            return nil
        }
        return share
    }

    private init(
        _ inbox: CurlInbox, _ configuration: CurlTransport.Configuration, _ multi: UnsafeMutableRawPointer
    ) {
        self.inbox = inbox
        self.configuration = configuration
        self.multi = multi
        waiting = TransferQueue(
            limit: configuration.maximumTransfers, limitPerHost: configuration.maximumConnectionsPerHost)
        speed = SpeedLimit(bytesPerSecond: configuration.bytesPerSecond)
        share = Self.makeShare()
        inbox.setWaker(CurlWaker(multi))
    }

    deinit {
        inbox.setWaker(nil)
        for handle in spareHandles { curl_easy_cleanup(handle) }
        curl_multi_cleanup(multi)
        if let share { curl_share_cleanup(share) }
    }

    private func run() {
        while true {
            guard processCommands() else { return end() }
            startQueued()
            var running: Int32 = 0
            check(curl_multi_perform(multi, &running))
            finishEnded()
            let nearest = [endOverdue(), resumeSlowed()].compactMap { $0 }.min()
            // A transfer that has ended made room for a queued one.
            if madeRoom, waiting.count > 0 { continue }
            // libcurl 7.88 at times leaves a stream of a shared HTTP/2 connection without an event. The wait is therefore short.
            let longest = active.isEmpty ? 60_000 : 1_000
            let pause = nearest.map { (ContinuousClock.now.duration(to: $0)).milliseconds + 1 } ?? longest
            if !check(curl_multi_poll(multi, nil, 0, Int32(min(max(pause, 0), longest)), nil)) {
                // The loop would otherwise spin while polling fails.
                Thread.sleep(forTimeInterval: 0.01)
            }
        }
    }

    /// Ends every transfer if libcurl has failed as a whole. Returns whether it has not.
    @discardableResult
    private func check(_ code: CURLMcode) -> Bool {
        guard let error = CurlFailure.error(code) else { return true }
        for transfer in active.values { end(transfer, error) }
        return false
    }

    // MARK: - Commands

    /// Processes the commands. Returns whether more may follow. The thread keeps none of them while it waits: a command refers to
    /// a receiver that may keep the transport, whose release wakes the thread.
    private func processCommands() -> Bool {
        let (commands, isOpen) = inbox.take()
        for command in commands { process(command) }
        return isOpen
    }

    private func process(_ command: CurlCommand) {
        switch command {
        case .start(let order): enqueue(order)
        case .cancel(let id):
            if let order = waiting.remove(id)?.element ?? held.removeValue(forKey: id) {
                order.receiver.finished(.failure(.cancelled))
            } else if let transfer = active[id] {
                end(transfer, .cancelled)
            }
        case .pause(let id, let isPaused):
            pause(id, isPaused)
        case .priority(let id, let priority):
            waiting.setPriority(id, priority)
            held[id]?.request.priority = priority
            active[id]?.setWeight(priority)
        }
    }

    private func pause(_ id: UInt64, _ isPaused: Bool) {
        if let transfer = active[id] {
            transfer.isPaused = isPaused
            if !isPaused { resume(transfer) }
        } else if isPaused {
            held[id] = waiting.remove(id).map { $0.element.with($0.priority) }
        } else if let order = held.removeValue(forKey: id) {
            enqueue(order)
        }
    }

    /// Makes libcurl deliver what it holds back, and read more.
    private func resume(_ transfer: CurlTransfer) {
        transfer.resumesAt = nil
        // libcurl refuses this without a connection.
        guard transfer.isHeld else { return }
        transfer.isHeld = false
        let code = curl_easy_pause(transfer.handle, CURLPAUSE_CONT)
        if code != CURLE_OK { finish(transfer, code) }
    }

    private func enqueue(_ order: TransferOrder) {
        do {
            try order.request.check()
            waiting.insert(order, id: order.id, host: order.request.origin, priority: order.request.priority)
        } catch {
            order.receiver.finished(.failure(error))
        }
    }

    /// Ends all transfers, queued and running.
    private func end() {
        for order in waiting.removeAll() + held.values { order.receiver.finished(.failure(.transportClosed)) }
        for transfer in active.values { end(transfer, .transportClosed) }
    }

    // MARK: - Start

    /// Starts queued transfers, as many as the limits allow.
    private func startQueued() {
        madeRoom = false
        while let (order, priority) = waiting.next() { start(order.with(priority)) }
    }

    private func start(_ order: TransferOrder) {
        guard let handle = spareHandles.popLast() ?? curl_easy_init() else {
            waiting.ended(order.request.origin)
            order.receiver.finished(.failure(.transport(code: 27, "libcurl cannot start a transfer")))
            return
        }
        let transfer = CurlTransfer(order, handle: handle, speed: speed)
        do {
            try transfer.configure(configuration)
        } catch {
            recycle(handle)
            waiting.ended(order.request.origin)
            order.receiver.finished(.failure(error))
            return
        }
        // If libcurl refuses this, the transfer only needs a TLS handshake more.
        if let share { _ = ccurl_set_pointer(handle, CURLOPT_SHARE, share) }
        active[order.id] = transfer
        byHandle[handle] = transfer
        if let error = CurlFailure.error(configuration.addHandle(multi, handle)) { end(transfer, error) }
    }

    // MARK: - End

    /// Finishes the transfers that libcurl has ended.
    private func finishEnded() {
        var code = CURLE_OK
        while let handle = ccurl_multi_next_ended(multi, &code) {
            if let transfer = byHandle[handle] { finish(transfer, code) }
        }
    }

    /// Ends the transfers whose time is over. Returns the next deadline.
    private func endOverdue() -> ContinuousClock.Instant? {
        let now = ContinuousClock.now
        var nearest: ContinuousClock.Instant?
        for transfer in active.values {
            let (instant, reason) = transfer.deadline
            if instant <= now {
                end(transfer, .timedOut(reason))
            } else if nearest.map({ instant < $0 }) ?? true {
                nearest = instant
            }
        }
        return nearest
    }

    /// Resumes transfers that waited for their speed limit. Returns the time of the next.
    private func resumeSlowed() -> ContinuousClock.Instant? {
        let now = ContinuousClock.now
        for transfer in active.values where transfer.resumesAt.map({ $0 <= now }) ?? false { resume(transfer) }
        return active.values.compactMap(\.resumesAt).min()
    }

    /// Ends a transfer that libcurl has not ended.
    private func end(_ transfer: CurlTransfer, _ reason: NetworkError) {
        transfer.failure = reason
        finish(transfer, CURLE_OK)
    }

    private func finish(_ transfer: CurlTransfer, _ code: CURLcode) {
        madeRoom = true
        active[transfer.order.id] = nil
        byHandle[transfer.handle] = nil
        waiting.ended(transfer.origin)
        if CurlMetrics.isMultiplexed(transfer.handle) {
            waiting.setLimit(configuration.maximumStreamsPerHost, of: transfer.origin)
        }
        // Closes the connection of a transfer that has not ended. A handle that libcurl does not release is not used again.
        let isReleased = curl_multi_remove_handle(multi, transfer.handle) == CURLM_OK
        if let order = transfer.again, transfer.failure == nil {
            if transfer.isPaused { held[order.id] = order } else { enqueue(order) }
        } else {
            transfer.finish(code)
        }
        if isReleased { recycle(transfer.handle) } else { curl_easy_cleanup(transfer.handle) }
    }

    private func recycle(_ handle: UnsafeMutableRawPointer) {
        curl_easy_reset(handle)
        // In libcurl 7.88 a handle that shared its connection keeps its buffer, whose size cannot be set then.
        let isBare = ccurl_set_long(handle, CURLOPT_BUFFERSIZE, CurlTransfer.usualBufferSize) == CURLE_OK
        guard isBare, spareHandles.count < configuration.maximumTransfers else { return curl_easy_cleanup(handle) }
        spareHandles.append(handle)
    }
}
