import Foundation

/// One request to a ``HostileServer``, and the means to answer it.
public struct Visit: Sendable {
    let socket: Int32
    /// The method.
    public let method: String
    /// The path with its query.
    public let path: String
    /// The header fields by their names in lower case.
    public let headers: [String: String]
    /// The number of bytes of the body that were read with the head.
    public let bodyBytesRead: Int

    init(socket: Int32, head: String, bodyBytesRead: Int) {
        self.socket = socket
        self.bodyBytesRead = bodyBytesRead
        let lines = head.split(separator: "\r\n")
        let first = lines.first.map { $0.split(separator: " ") } ?? []
        method = first.first.map(String.init) ?? ""
        path = first.count > 1 ? String(first[1]) : ""
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2 else { continue }
            headers[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces)
        }
        self.headers = headers
    }

    /// Sends bytes; `false` if the other side has gone.
    @discardableResult
    public func send(_ bytes: some Sequence<UInt8>) -> Bool {
        let bytes = Array(bytes)
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes { buffer in
                StreamSocket.send(socket, buffer.baseAddress.map { $0 + sent }, bytes.count - sent)
            }
            if count <= 0 { return false }
            sent += count
        }
        return true
    }

    /// Sends a text; a line ends with `\r\n`, which the text says itself.
    @discardableResult
    public func send(_ text: String) -> Bool { send(text.utf8) }

    /// Sends a whole answer.
    public func answer(_ body: [UInt8], status: String = "200 OK", headers: [String] = []) {
        let head = (["HTTP/1.1 \(status)", "Content-Length: \(body.count)"] + headers).joined(separator: "\r\n")
        send(Array(head.utf8) + [13, 10, 13, 10] + body)
    }

    /// Limits the bytes that the system receives before they are read.
    public func limitReceiveBuffer(to bytes: Int) {
        var size = Int32(bytes)
        setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    }

    /// Reads bytes of the body and drops them. Returns their number; 0 or less at the end of the connection.
    public func read(upTo count: Int) -> Int {
        var piece = [UInt8](repeating: 0, count: count)
        return recv(socket, &piece, count, 0)
    }

    /// Ends the connection in order.
    public func close() { shutdown(socket, Int32(SHUT_RDWR)) }

    /// Breaks the connection off, so that the other side finds it reset.
    public func reset() {
        var linger = linger(l_onoff: 1, l_linger: 0)
        setsockopt(socket, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<Foundation.linger>.size))
        // Without lingering this sends the reset.
        StreamSocket.disconnect(socket)
    }

    /// Returns when the other side has closed the connection; `false` if it did not within so many seconds.
    public func waitForClose(seconds: Double = 300) -> Bool {
        var poll = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
        let end = Date().addingTimeInterval(seconds)
        while Date() < end {
            Foundation.poll(&poll, 1, 50)
            if poll.revents & Int16(POLLERR | POLLHUP) != 0 { return true }
            var byte: UInt8 = 0
            if poll.revents & Int16(POLLIN) != 0, recv(socket, &byte, 1, Int32(MSG_PEEK)) <= 0 { return true }
        }
        return false
    }
}
