import CCurl
import HalcyonNetworking
import Synchronization

/// What a transfer is made from.
struct TransferOrder: Sendable {
    let id: UInt64
    let request: TransportRequest
    let receiver: any TransferReceiver
    let posted = ContinuousClock.now
}

/// What the thread of transfers is asked for.
enum CurlCommand: Sendable {
    case start(TransferOrder)
    case cancel(UInt64)
    case pause(UInt64, Bool)
    case priority(UInt64, TransferPriority)
}

/// Where commands wait until the thread of transfers takes them, in their order. Posting wakes it.
final class CurlInbox: Sendable {
    private struct State {
        var commands: [CurlCommand] = []
        var isClosed = false
        var waker: CurlWaker?
    }

    private let state = Mutex(State())

    /// Leaves a command there; `false` if nobody will take it.
    @discardableResult
    func post(_ command: CurlCommand) -> Bool {
        state.withLock { state in
            guard !state.isClosed else { return false }
            state.commands.append(command)
            // Who finds others waiting there knows that the thread was woken for them.
            if state.commands.count == 1 { state.waker?.wake() }
            return true
        }
    }

    /// Takes all that waits; `isOpen` is false when nothing will follow.
    func take() -> (commands: [CurlCommand], isOpen: Bool) {
        state.withLock { state in
            defer { state.commands = [] }
            return (state.commands, !state.isClosed)
        }
    }

    /// Takes no more commands, and ends the thread.
    func close() {
        state.withLock { state in
            state.isClosed = true
            state.waker?.wake()
        }
    }

    /// Sets what wakes the thread; `nil` before that goes.
    func setWaker(_ waker: CurlWaker?) { state.withLock { $0.waker = waker } }
}

/// Wakes a thread that waits in `curl_multi_poll`.
///
/// Sendable without the compiler's proof: `curl_multi_wakeup` is the one function of libcurl that may be called with a multi
/// handle from any thread (its manual says so), nothing else is done with the handle here, and the inbox lets go of the waker,
/// under its lock, before the handle is cleaned up.
struct CurlWaker: @unchecked Sendable {
    private let multi: UnsafeMutableRawPointer

    init(_ multi: UnsafeMutableRawPointer) { self.multi = multi }

    func wake() { curl_multi_wakeup(multi) }
}
