import Foundation
import Synchronization

/// One exchange as a load sees it: first the head, then the body, if the load accepts it.
///
/// The load decides in its own task, where it may wait for a delegate. What arrives meanwhile is kept, and the transfer is paused
/// once that is more than ``undecidedBytes``.
final class Exchange: TransferReceiver {
    /// The most bytes that are kept, about, before the load has accepted the answer.
    static let undecidedBytes = 256 << 10
    /// The most bytes of a refused body that are received and dropped, so that the connection can be used again. The transfer of a
    /// longer one is cancelled, which closes an HTTP/1 connection.
    static let drainedBytes = 16 << 10

    /// Runs no code of users, which could block it.
    private static let timer = DispatchQueue(label: "halcyon.network.refused", qos: .utility)

    private enum Phase { case undecided, accepted, refused }

    private struct State {
        var phase = Phase.undecided
        var head: ResponseHead?
        var body = Data()
        /// The lengths of the body after each piece that arrived before the load has decided.
        var lengths: [Int] = []
        var drained = 0
        var isPaused = false
        var transfer: (any Transfer)?
        var result: Result<TransferMetrics, NetworkError>?
        /// Called with the length of the body after each piece. It must only enqueue.
        var onLength: (@Sendable (Int) -> Void)?
        /// The task that waits for the head or the end.
        var waiting: (forEnd: Bool, CheckedContinuation<Void, Never>)?

        func isReady(forEnd: Bool) -> Bool { result != nil || (!forEnd && head != nil) }

        /// Takes out the continuation, if what it waits for has come.
        mutating func ready() -> CheckedContinuation<Void, Never>? {
            guard let waiting, isReady(forEnd: waiting.forEnd) else { return nil }
            self.waiting = nil
            return waiting.1
        }
    }

    private let request: TransportRequest
    private let control: TransferControl
    private let refusedBodyTimeout: Duration
    private let state = Mutex(State())

    /// Starts the exchange.
    ///
    /// - Parameter refusedBodyTimeout: how long a refused body may take before its transfer is cancelled.
    init(
        _ request: TransportRequest, over transport: any Transport, _ control: TransferControl,
        _ refusedBodyTimeout: Duration
    ) {
        self.refusedBodyTimeout = refusedBodyTimeout
        self.request = request
        self.control = control
        let transfer = transport.start(request, receiver: self)
        state.withLock { $0.transfer = transfer }
        control.attach(transfer, startedAt: request.priority)
    }

    // MARK: - The load

    /// Waits for the head.
    ///
    /// - Throws: ``NetworkError`` if the exchange ends before.
    func head() async throws -> ResponseHead {
        await wait(forEnd: false)
        let (head, result) = state.withLock { ($0.head, $0.result) }
        if let head { return head }
        if case .failure(let error) = result { throw error }
        throw NetworkError.invalidResponse("it has no head")
    }

    /// Accepts the answer: takes its body, behind `start` if the answer continues that.
    ///
    /// - Parameter onLength: called with the length of the body after each piece, in the lock: it must only enqueue.
    func accept(after start: Data?, onLength: @escaping @Sendable (Int) -> Void) {
        let paused = state.withLock { state -> (any Transfer)? in
            state.phase = .accepted
            state.onLength = onLength
            if let start { state.body = start + state.body }
            for length in state.lengths { onLength(length + (start?.count ?? 0)) }
            state.lengths = []
            defer { state.isPaused = false }
            return state.isPaused ? state.transfer : nil
        }
        paused?.resume()
    }

    /// Waits for the end of an accepted body.
    ///
    /// - Throws: ``NetworkError`` if the transfer failed; ``arrived`` is then what came before.
    func body() async throws -> (data: Data, metrics: TransferMetrics) {
        await wait(forEnd: true)
        let (result, data) = state.withLock { ($0.result, $0.body) }
        switch result {
        case .success(let metrics): return (data, metrics)
        case .failure(let error): throw error
        case nil: throw NetworkError.cancelled
        }
    }

    /// The bytes of the body so far.
    var arrived: Data { state.withLock { $0.body } }

    /// Refuses the body, unless it was accepted: a short one is dropped as it arrives, a long or slow one is cancelled.
    func refuse() {
        let (transfer, isLong) = state.withLock { state -> ((any Transfer)?, Bool) in
            guard state.phase == .undecided else { return (nil, false) }
            state.phase = .refused
            state.drained = state.body.count
            (state.body, state.lengths) = (Data(), [])
            guard state.result == nil else { return (nil, false) }
            return (state.transfer, state.isPaused || max(announced(state.head), state.drained) > Self.drainedBytes)
        }
        guard let transfer else { return }
        if isLong { return transfer.cancel() }
        let delay = DispatchTimeInterval.microseconds(Int(refusedBodyTimeout.microseconds))
        Self.timer.asyncAfter(deadline: .now() + delay) { [weak self] in
            guard let self, state.withLock({ $0.result == nil }) else { return }
            transfer.cancel()
        }
    }

    private func announced(_ head: ResponseHead?) -> Int {
        guard let head, request.method != "HEAD", head.status != 204, head.status != 304 else { return 0 }
        return head.contentLength.map { Int(clamping: $0) } ?? 0
    }

    private func wait(forEnd: Bool) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isReady = state.withLock { state in
                    if state.isReady(forEnd: forEnd) { return true }
                    state.waiting = (forEnd, continuation)
                    return false
                }
                if isReady { continuation.resume() }
            }
        } onCancel: {
            control.cancel()
        }
    }

    // MARK: - The transport

    func received(_ head: ResponseHead) {
        state.withLock { state in
            state.head = head
            return state.ready()
        }?.resume()
    }

    func received(_ bytes: UnsafeRawBufferPointer) {
        enum Step { case none, pause, cancel }
        let (step, transfer) = state.withLock { state -> (Step, (any Transfer)?) in
            switch state.phase {
            case .undecided:
                append(bytes, to: &state)
                state.lengths.append(state.body.count)
                guard state.body.count > Self.undecidedBytes, !state.isPaused, state.transfer != nil else { break }
                state.isPaused = true
                return (.pause, state.transfer)
            case .accepted:
                append(bytes, to: &state)
                state.onLength?(state.body.count)
            case .refused:
                state.drained += bytes.count
                if state.drained > Self.drainedBytes { return (.cancel, state.transfer) }
            }
            return (.none, nil)
        }
        switch step {
        case .none: break
        case .cancel: transfer?.cancel()
        case .pause:
            transfer?.pause()
            // The load may have resumed the transfer before it was paused.
            if state.withLock({ $0.phase != .undecided }) { transfer?.resume() }
        }
    }

    private func append(_ bytes: UnsafeRawBufferPointer, to state: inout State) {
        // An announced length is believed up to a megabyte; beyond, memory follows what arrives.
        if state.body.isEmpty { state.body.reserveCapacity(Int(min(state.head?.contentLength ?? 0, 1 << 20))) }
        state.body.append(contentsOf: bytes)
    }

    func finished(_ result: Result<TransferMetrics, NetworkError>) {
        state.withLock { state in
            state.result = result
            state.transfer = nil
            state.onLength = nil
            return state.ready()
        }?.resume()
    }
}
