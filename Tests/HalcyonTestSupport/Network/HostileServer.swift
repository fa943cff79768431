import Foundation
import Synchronization

/// A server on the loopback interface that answers as a test says: too slowly, too much, half, or not at all.
///
/// Each connection has a thread of its own; a request is read up to its empty line. All ends with the instance.
public final class HostileServer: Sendable {
    private let log = ConnectionLog()
    private let listener: Int32
    /// Where it listens.
    public let port: Int

    /// Starts one.
    ///
    /// - Parameter answer: is called for each request, on the thread of its connection; what it leaves open is kept for the
    ///   next request.
    public init(_ answer: @escaping @Sendable (Visit) -> Void) throws {
        (listener, port) = try FreePort.bound(backlog: 512)
        Thread.detachNewThread { [listener, log] in
            while true {
                let socket = StreamSocket.next(of: listener)
                guard socket >= 0 else { break }
                guard log.opened(socket) else { break }
                Thread.detachNewThread {
                    HostileServer.serve(socket, answer, log)
                    log.ended(socket)
                }
            }
            close(listener)
        }
    }

    deinit {
        log.endAll()
        // On Linux this wakes the thread that waits for a connection; elsewhere it is refused, and one more connection does.
        if shutdown(listener, Int32(SHUT_RDWR)) != 0 { _ = FreePort.isAnswered(port, within: 1) }
    }

    /// An address on it.
    public func url(_ path: String) -> URL {
        URL(string: "http://127.0.0.1:\(port)\(path)") ?? URL(fileURLWithPath: path)
    }

    /// The requests so far, in the order in which they were read.
    public var visits: [Visit] { log.visits }

    /// How many requests there were for a path.
    public func count(_ path: String) -> Int { visits.count { $0.path == path } }

    /// How many connections were taken so far.
    public var connections: Int { log.connections }

    /// How many connections are open.
    public var openConnections: Int { log.open }

    private static func serve(_ socket: Int32, _ answer: (Visit) -> Void, _ log: ConnectionLog) {
        var buffer: [UInt8] = []
        while true {
            while buffer.firstRange(of: [13, 10, 13, 10]) == nil {
                var piece = [UInt8](repeating: 0, count: 4_096)
                let count = recv(socket, &piece, piece.count, 0)
                if count <= 0 { return }
                buffer += piece[..<count]
            }
            guard let end = buffer.firstRange(of: [13, 10, 13, 10]) else { return }
            let visit = Visit(
                socket: socket, head: String(decoding: buffer[..<end.lowerBound], as: UTF8.self),
                bodyBytesRead: buffer.count - end.upperBound)
            buffer.removeSubrange(..<end.upperBound)
            log.note(visit)
            answer(visit)
        }
    }
}
