import Foundation

/// A port of the loopback interface that refuses connections: it is bound as long as the instance lives, so that no other socket
/// gets it, and no socket listens on it.
public final class RefusingPort: Sendable {
    /// The number of the port.
    public let port: Int
    private let socket: Int32

    /// Binds a free port.
    ///
    /// - Throws: ``NginxError`` if there is none.
    public init() throws { (socket, port) = try FreePort.bound(backlog: nil) }

    deinit { close(socket) }
}

/// Ports of the loopback interface.
enum FreePort {
    /// Different ports that no socket listened on a moment ago.
    static func several(_ count: Int) throws -> [Int] {
        // All are bound before the first is free again.
        try (0..<count).map { _ in try RefusingPort() }.map(\.port)
    }

    /// A socket that is bound to a port of its own, and listens on it if there is a backlog.
    static func bound(backlog: Int32?) throws -> (socket: Int32, port: Int) {
        let listener = StreamSocket.make()
        guard listener >= 0 else { throw NginxError(reason: "no socket") }
        var address = loopback(port: 0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(listener, address, length) == 0
                    && (backlog.map { Foundation.listen(listener, $0) } ?? 0) == 0
                    && getsockname(listener, address, &length) == 0
            }
        }
        guard result else {
            close(listener)
            throw NginxError(reason: "no free port")
        }
        return (listener, Int(UInt16(bigEndian: address.sin_port)))
    }

    /// Whether somebody takes a connection on a port within so many seconds.
    static func isAnswered(_ port: Int, within seconds: Double) -> Bool {
        let end = Date().addingTimeInterval(seconds)
        while Date() < end {
            let probe = StreamSocket.make()
            defer { close(probe) }
            var address = loopback(port: UInt16(port))
            let taken = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(probe, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
                }
            }
            if taken { return true }
            usleep(5_000)
        }
        return false
    }

    private static func loopback(port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        return address
    }
}
