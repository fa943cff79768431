import CCurl
import Foundation
import HalcyonNetworking

/// The thread of transfers: takes commands, lets libcurl work, and waits until there is something to do.
///
/// Everything here is used by that one thread.
final class CurlLoop {
    private let inbox: CurlInbox
    private let configuration: CurlTransport.Configuration
    private let multi: UnsafeMutableRawPointer
    private let share: UnsafeMutableRawPointer?
    /// The limit of all transfers.
    private let speed: SpeedLimit?
    private var waiting = TransferQueue<TransferOrder>()
    /// Those that were paused before their turn.
    private var held: [UInt64: TransferOrder] = [:]
    /// By the number of the transfer.
    private var active: [UInt64: CurlTransfer] = [:]
    /// By the address of the handle.
    private var byHandle: [UnsafeMutableRawPointer: CurlTransfer] = [:]
    private var perOrigin: [String: Int] = [:]
    /// Whether one has ended since transfers were begun last.
    private var madeRoom = false
    /// Origins that answered over HTTP/2.
    private var multiplexed: Set<String> = []
    /// Handles that were used, for the next transfers.
    private var spareHandles: [UnsafeMutableRawPointer] = []

    /// Serves an inbox until it is closed.
    static func serve(_ inbox: CurlInbox, _ configuration: CurlTransport.Configuration) {
        // A connection that breaks while TLS is written to raises SIGPIPE on this thread; it says no more than the error.
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        guard curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK, let multi = curl_multi_init() else {
            inbox.close()
            for case .start(let order) in inbox.take().commands {
                order.receiver.finished(.failure(.transport(code: 27, "libcurl cannot be started")))
            }
            return
        }
        CurlLoop(inbox, configuration, multi).run()
    }

    private init(
        _ inbox: CurlInbox, _ configuration: CurlTransport.Configuration, _ multi: UnsafeMutableRawPointer
    ) {
        self.inbox = inbox
        self.configuration = configuration
        self.multi = multi
        speed = SpeedLimit(bytesPerSecond: configuration.bytesPerSecond)
        // Handles come and go; what was agreed with a server is worth keeping.
        share = curl_share_init()
        if let share { ccurl_share_data(share, CURL_LOCK_DATA_SSL_SESSION) }
        ccurl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, configuration.keptConnections)
        ccurl_multi_set_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, configuration.maximumConnectionsPerHost)
        ccurl_multi_set_long(multi, CURLMOPT_MAX_CONCURRENT_STREAMS, configuration.maximumStreamsPerHost)
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
            guard obeyAll() else { return end() }
            admit()
            var running: Int32 = 0
            curl_multi_perform(multi, &running)
            finishEnded()
            let nearest = [endOverdue(), resumeSlowed()].compactMap { $0 }.min()
            // Who ended, however that came, made room: somebody may be waiting for it.
            if madeRoom, waiting.count > 0 { continue }
            // libcurl 7.88 at times leaves a stream of a shared HTTP/2 connection with nothing that would end the wait: look again.
            let longest = active.isEmpty ? 60_000 : 1_000
            let pause = nearest.map { (ContinuousClock.now.duration(to: $0)).milliseconds + 1 } ?? longest
            curl_multi_poll(multi, nil, 0, Int32(min(max(pause, 0), longest)), nil)
        }
    }

    // MARK: - Commands

    /// Does what was asked for. Returns whether more may come. Nothing of it is held while the thread waits: an order leads to the
    /// transport, whose end is what would wake it.
    private func obeyAll() -> Bool {
        let (commands, isOpen) = inbox.take()
        for command in commands { obey(command) }
        return isOpen
    }

    private func obey(_ command: CurlCommand) {
        switch command {
        case .start(let order): enqueue(order)
        case .cancel(let id):
            if let order = waiting.remove(id) ?? held.removeValue(forKey: id) {
                order.receiver.finished(.failure(.cancelled))
            } else if let transfer = active[id] {
                end(transfer, .cancelled)
            }
        case .pause(let id, let isPaused):
            pause(id, isPaused)
        case .priority(let id, let priority):
            waiting.setPriority(id, priority)
            active[id]?.setWeight(priority)
        }
    }

    private func pause(_ id: UInt64, _ isPaused: Bool) {
        if let transfer = active[id] {
            transfer.isPaused = isPaused
            if !isPaused { goOn(transfer) }
        } else if isPaused {
            held[id] = waiting.remove(id)
        } else if let order = held.removeValue(forKey: id) {
            enqueue(order)
        }
    }

    /// Lets libcurl hand on what it kept, and take more.
    private func goOn(_ transfer: CurlTransfer) {
        transfer.resumesAt = nil
        // What has no connection yet would be refused.
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

    /// Ends everything.
    private func end() {
        for order in waiting.removeAll() + held.values { order.receiver.finished(.failure(.transportClosed)) }
        for transfer in active.values { end(transfer, .transportClosed) }
    }

    // MARK: - Beginning

    /// Begins those whose turn it is, as many as there is room for.
    private func admit() {
        madeRoom = false
        while active.count < configuration.maximumTransfers,
            let order = waiting.next(mayHaveAnother: { (perOrigin[$0] ?? 0) < limit(of: $0) })
        {
            begin(order)
        }
    }

    private func limit(of origin: String) -> Int {
        multiplexed.contains(origin) ? configuration.maximumStreamsPerHost : configuration.maximumConnectionsPerHost
    }

    private func begin(_ order: TransferOrder) {
        guard let handle = spareHandles.popLast() ?? curl_easy_init() else {
            order.receiver.finished(.failure(.transport(code: 27, "libcurl cannot begin a transfer")))
            return
        }
        let transfer = CurlTransfer(order, handle: handle, speed: speed)
        do {
            try transfer.configure(configuration)
        } catch {
            recycle(handle)
            order.receiver.finished(.failure(error))
            return
        }
        if let share { _ = ccurl_set_pointer(handle, CURLOPT_SHARE, share) }
        active[order.id] = transfer
        byHandle[handle] = transfer
        perOrigin[transfer.origin, default: 0] += 1
        curl_multi_add_handle(multi, handle)
    }

    // MARK: - Ending

    /// Finishes those that libcurl is done with.
    private func finishEnded() {
        var code = CURLE_OK
        while let handle = ccurl_multi_next_ended(multi, &code) {
            if let transfer = byHandle[handle] { finish(transfer, code) }
        }
    }

    /// Ends those that have taken too long. Returns when the next will have.
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

    /// Lets those go on that were too fast. Returns when the next may.
    private func resumeSlowed() -> ContinuousClock.Instant? {
        let now = ContinuousClock.now
        for transfer in active.values where transfer.resumesAt.map({ $0 <= now }) ?? false { goOn(transfer) }
        return active.values.compactMap(\.resumesAt).min()
    }

    /// Ends one that libcurl is not done with.
    private func end(_ transfer: CurlTransfer, _ reason: NetworkError) {
        transfer.failure = reason
        finish(transfer, CURLE_OK)
    }

    private func finish(_ transfer: CurlTransfer, _ code: CURLcode) {
        madeRoom = true
        active[transfer.order.id] = nil
        byHandle[transfer.handle] = nil
        let left = (perOrigin[transfer.origin] ?? 1) - 1
        perOrigin[transfer.origin] = left > 0 ? left : nil
        if CurlMetrics.isMultiplexed(transfer.handle) {
            if multiplexed.count >= 1_024 { multiplexed = [] }
            multiplexed.insert(transfer.origin)
        }
        // Closes the connection of a transfer that is not done.
        curl_multi_remove_handle(multi, transfer.handle)
        transfer.finish(code)
        recycle(transfer.handle)
    }

    private func recycle(_ handle: UnsafeMutableRawPointer) {
        curl_easy_reset(handle)
        // One that shared its connection with others keeps its buffer in libcurl 7.88, whose size cannot be set then.
        let isBare = ccurl_set_long(handle, CURLOPT_BUFFERSIZE, CurlTransfer.usualBufferSize) == CURLE_OK
        guard isBare, spareHandles.count < configuration.maximumTransfers else { return curl_easy_cleanup(handle) }
        spareHandles.append(handle)
    }
}
