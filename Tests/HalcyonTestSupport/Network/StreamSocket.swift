import Foundation

/// What Linux and Apple's systems say differently of sockets.
enum StreamSocket {
    /// A new TCP socket; negative if there is none.
    static func make() -> Int32 {
        #if canImport(Glibc)
            socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
            socket(AF_INET, SOCK_STREAM, 0)
        #endif
    }

    /// The next connection to a socket that listens; negative if there will be none. Sending to a peer that has gone is an error
    /// and no signal, if it is done by ``send(_:_:_:)``.
    static func next(of listener: Int32) -> Int32 {
        let connection = accept(listener, nil, nil)
        #if canImport(Darwin)
            var isQuiet: Int32 = 1
            setsockopt(connection, SOL_SOCKET, SO_NOSIGPIPE, &isQuiet, socklen_t(MemoryLayout<Int32>.size))
        #endif
        return connection
    }

    /// Sends some of the bytes; how many, or a negative number.
    static func send(_ socket: Int32, _ start: UnsafeRawPointer?, _ count: Int) -> Int {
        #if canImport(Darwin)
            Foundation.send(socket, start, count, 0)
        #else
            Foundation.send(socket, start, count, Int32(MSG_NOSIGNAL))
        #endif
    }

    /// Disconnects a connection at once and keeps the descriptor.
    static func disconnect(_ socket: Int32) {
        #if canImport(Darwin)
            disconnectx(socket, sae_associd_t(SAE_ASSOCID_ANY), sae_connid_t(SAE_CONNID_ANY))
        #else
            var nobody = sockaddr()
            nobody.sa_family = sa_family_t(AF_UNSPEC)
            connect(socket, &nobody, socklen_t(MemoryLayout<sockaddr>.size))
        #endif
    }
}
