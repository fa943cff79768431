import Foundation
import Synchronization

/// Serves files on a port of the loopback interface, one thread a connection, and counts what it is asked for.
final class PictureServer: Sendable {
    /// Why there is no server.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// Where it listens.
    let port: Int
    private let listener: Int32
    private let files: [String: Data]
    private let requests = Atomic<Int>(0)

    /// How many requests there were.
    var requestCount: Int { requests.load(ordering: .relaxed) }

    init(_ files: [String: Data]) throws {
        self.files = files
        (listener, port) = try Self.listen()
    }

    /// Takes connections until the process ends, in which a peer that has gone is from now on an error of `send` and no signal.
    func start() {
        signal(SIGPIPE, SIG_IGN)
        Thread.detachNewThread { [self] in
            while true {
                let connection = accept(listener, nil, nil)
                guard connection >= 0 else { return }
                Thread.detachNewThread { [self] in
                    while let path = Self.readPath(connection) { answer(path, connection) }
                    close(connection)
                }
            }
        }
    }

    private func answer(_ path: String, _ connection: Int32) {
        requests.add(1, ordering: .relaxed)
        let body = files[String(path.prefix { $0 != "?" })]
        let head = "HTTP/1.1 \(body == nil ? "404 Not Found" : "200 OK")\r\nContent-Length: \(body?.count ?? 0)\r\n\r\n"
        let bytes = Array(head.utf8) + Array(body ?? Data())
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes { send(connection, $0.baseAddress, $0.count, 0) }
            if count <= 0 { return }
            sent += count
        }
    }

    /// The path of the next request; `nil` when the other side has closed.
    private static func readPath(_ connection: Int32) -> String? {
        var head: [UInt8] = []
        var byte: UInt8 = 0
        while !head.suffix(4).elementsEqual([13, 10, 13, 10]) {
            guard head.count < 65_536, recv(connection, &byte, 1, 0) == 1 else { return nil }
            head.append(byte)
        }
        let words = String(decoding: head, as: UTF8.self).split(separator: " ", maxSplits: 2)
        return words.count == 3 ? String(words[1]) : nil
    }

    private static func listen() throws -> (Int32, Int) {
        let listener = socket(AF_INET, streamType, 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(listener, address, length) == 0 && Foundation.listen(listener, 64) == 0
                    && getsockname(listener, address, &length) == 0
            }
        }
        guard isListening else { throw Failure(description: "There is no free port on the loopback interface.") }
        return (listener, Int(UInt16(bigEndian: address.sin_port)))
    }
}

#if canImport(Glibc)
    private let streamType = Int32(SOCK_STREAM.rawValue)
#else
    private let streamType = SOCK_STREAM
#endif
