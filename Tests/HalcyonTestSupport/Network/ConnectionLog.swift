import Foundation
import Synchronization

/// The connections of a ``HostileServer``, and what was asked over them. A socket is closed by its own thread only, under the
/// lock, so that nobody shuts down a number that belongs to something else by then.
final class ConnectionLog: Sendable {
    private struct State {
        var visits: [Visit] = []
        var sockets: Set<Int32> = []
        var connections = 0
        var isClosed = false
    }

    private let state = Mutex(State())

    var visits: [Visit] { state.withLock { $0.visits } }
    var connections: Int { state.withLock { $0.connections } }
    var open: Int { state.withLock { $0.sockets.count } }

    func note(_ visit: Visit) { state.withLock { $0.visits.append(visit) } }

    /// Takes a connection in; `false`, and it is closed, if there are to be no more.
    func opened(_ socket: Int32) -> Bool {
        state.withLock { state in
            guard !state.isClosed else {
                close(socket)
                return false
            }
            state.connections += 1
            return state.sockets.insert(socket).inserted
        }
    }

    /// Closes a connection.
    func ended(_ socket: Int32) {
        state.withLock { state in
            state.sockets.remove(socket)
            close(socket)
        }
    }

    /// Ends all connections, and takes no more.
    func endAll() {
        state.withLock { state in
            state.isClosed = true
            for socket in state.sockets { shutdown(socket, Int32(SHUT_RDWR)) }
        }
    }
}
