import Foundation
import Synchronization

/// A server on the loopback interface that answers as a test says: too slowly, too much, half, or not at all.
///
/// Each connection has a thread of its own; a request is read up to its empty line. All ends with the instance.
public final class HostileServer: Sendable {
    private struct State {
        var visits: [Visit] = []
        var sockets: Set<Int32> = []
        var connections = 0
        var isClosed = false
    }

    private let state: Mutex<State>
    private let listener: Int32
    /// Where it listens.
    public let port: Int

    /// Starts one.
    ///
    /// - Parameter answer: is called for each request, on the thread of its connection; what it leaves open is kept for the
    ///   next request.
    public init(_ answer: @escaping @Sendable (Visit) -> Void) throws {
        (listener, port) = try FreePort.listen(backlog: 512)
        state = Mutex(State())
        let listener = listener
        Thread.detachNewThread { [weak self] in
            while true {
                let socket = accept(listener, nil, nil)
                guard socket >= 0 else { return }
                guard let self, self.opened(socket) else {
                    close(socket)
                    return
                }
                Thread.detachNewThread { [weak self] in
                    HostileServer.serve(socket, answer) { self?.note($0) }
                    if let self { self.closed(socket) } else { close(socket) }
                }
            }
        }
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
        for socket in state.withLock({ $0.sockets }) { shutdown(socket, Int32(SHUT_RDWR)) }
    }

    /// An address on it.
    public func url(_ path: String) -> URL {
        URL(string: "http://127.0.0.1:\(port)\(path)") ?? URL(fileURLWithPath: path)
    }

    /// The requests so far, in the order in which they were read.
    public var visits: [Visit] { state.withLock { $0.visits } }

    /// How many requests there were for a path.
    public func count(_ path: String) -> Int { visits.count { $0.path == path } }

    /// How many connections were taken so far.
    public var connections: Int { state.withLock { $0.connections } }

    /// How many connections are open.
    public var openConnections: Int { state.withLock { $0.sockets.count } }

    private func opened(_ socket: Int32) -> Bool {
        state.withLock { state in
            state.connections += 1
            return state.sockets.insert(socket).inserted
        }
    }

    private func closed(_ socket: Int32) {
        state.withLock { _ = $0.sockets.remove(socket) }
        close(socket)
    }

    private func note(_ visit: Visit) { state.withLock { $0.visits.append(visit) } }

    private static func serve(
        _ socket: Int32, _ answer: (Visit) -> Void, _ note: (Visit) -> Void
    ) {
        var buffer: [UInt8] = []
        while true {
            while buffer.firstRange(of: [13, 10, 13, 10]) == nil {
                var piece = [UInt8](repeating: 0, count: 4_096)
                let count = recv(socket, &piece, piece.count, 0)
                if count <= 0 { return }
                buffer += piece[..<count]
            }
            guard let end = buffer.firstRange(of: [13, 10, 13, 10]) else { return }
            let visit = Visit(socket: socket, head: String(decoding: buffer[..<end.lowerBound], as: UTF8.self))
            buffer.removeSubrange(..<end.upperBound)
            note(visit)
            answer(visit)
        }
    }
}
