import Foundation
import HalcyonViews
import Synchronization

/// 500 rows scrolled through in ten cells, one row every 4 ms, over a link of 5 MB/s.
///
/// A view without a binding loads each row to its end, and shows an image only if its row is still the same.
@MainActor
struct ScrollBenchmark {
    private let rows = isShort ? 60 : 500
    private let runs = isShort ? 1 : 5
    private let cells = 10

    func run() async throws {
        let file = try photograph(width: 400, height: 300)
        var found: [Bool: [(bytes: Int, time: Double)]] = [:]
        for _ in 0..<runs {
            for cancels in [true, false] { found[cancels, default: []].append(try await scroll(file, cancels)) }
        }
        print("\(rows) rows of \(file.count) bytes, \(cells) cells, a row every 4 ms, 5 MB/s: median of \(runs)")
        for cancels in [true, false] {
            let name = cancels ? "binding, which cancels" : "without cancelling"
            let results = found[cancels] ?? []
            report("  bytes over the link: \(name)", median(results.map { Double($0.bytes) / 1e6 }), "MB")
            report("  from the end of scrolling to ten pictures: \(name)", median(results.map(\.time)), "ms")
        }
    }

    private func scroll(_ file: Data, _ cancels: Bool) async throws -> (bytes: Int, time: Double) {
        let link = SharedLink(file, bytesPerSecond: 5e6)
        defer { link.close() }
        return try await withFolder { folder in
            let manager = manager(in: folder, link)
            let views = (0..<cells).map { _ in PlainView(manager) }
            for row in 0..<rows {
                guard let url = URL(string: "http://link/\(row).jpg") else { continue }
                show(row, url, in: views[row % cells], cancels, manager)
                try await Task.sleep(for: .milliseconds(4))
            }
            let start = ContinuousClock.now
            while views.contains(where: { $0.picture == nil }) { try await Task.sleep(for: .microseconds(200)) }
            let time = milliseconds(ContinuousClock.now - start)
            // What a view does not cancel is sent to the end.
            let expected = cancels ? 0 : rows * file.count
            while !link.isIdle || link.sent < expected { try await Task.sleep(for: .milliseconds(5)) }
            return (link.sent, time)
        }
    }

    private func show(_ row: Int, _ url: URL, in view: PlainView, _ cancels: Bool, _ manager: HalcyonManager) {
        if cancels {
            view.images.setImage(with: Resource(url))
            return
        }
        view.row = row
        view.display(nil, transition: .none)
        manager.retrieveImage(with: Resource(url)) { result in
            Task { @MainActor in
                guard view.row == row, case .success(let result) = result else { return }
                view.display(result.image, transition: .none)
            }
        }
    }
}

/// A link of a given speed in this process, in place of a server. A thread sends a piece of each transfer in turn,
/// until the transfer ends or is cancelled. No sockets are opened, so that the time of connections is not in the
/// figures.
private final class SharedLink: Transport {
    private struct Sending {
        let number: Int
        var offset = 0
        let receiver: any TransferReceiver
    }

    private struct State {
        var sending: [Sending] = []
        var count = 0
        var sent = 0
        var isClosed = false
    }

    private struct LinkTransfer: Transfer {
        let number: Int
        let link: SharedLink

        func cancel() { link.cancel(number) }
        func pause() {}
        func resume() {}
        func setPriority(_ priority: TransferPriority) {}
    }

    private let file: Data
    private let piece = 8_192
    private let state = Mutex(State())

    init(_ file: Data, bytesPerSecond: Double) {
        self.file = file
        let pause = Double(piece) / bytesPerSecond
        Thread.detachNewThread { [weak self] in
            var due = Date()
            while true {
                due = max(due.addingTimeInterval(pause), Date().addingTimeInterval(-0.05))
                Thread.sleep(until: due)
                guard let self, !self.state.withLock({ $0.isClosed }) else { return }
                self.sendPiece()
            }
        }
    }

    /// The bytes that were sent.
    var sent: Int { state.withLock { $0.sent } }
    /// Whether no transfer is in progress.
    var isIdle: Bool { state.withLock { $0.sending.isEmpty } }

    func close() { state.withLock { $0.isClosed = true } }

    func start(_ request: TransportRequest, receiver: any TransferReceiver) -> any Transfer {
        receiver.received(ResponseHead(url: request.url, status: 200))
        return state.withLock { state in
            state.count += 1
            state.sending.append(Sending(number: state.count, receiver: receiver))
            return LinkTransfer(number: state.count, link: self)
        }
    }

    private func sendPiece() {
        let next = state.withLock { state -> (any TransferReceiver, Data, Bool)? in
            guard !state.sending.isEmpty else { return nil }
            var first = state.sending.removeFirst()
            let part = file[first.offset..<min(first.offset + piece, file.count)]
            first.offset += part.count
            state.sent += part.count
            if first.offset < file.count { state.sending.append(first) }
            return (first.receiver, part, first.offset == file.count)
        }
        guard let (receiver, part, isLast) = next else { return }
        part.withUnsafeBytes { receiver.received($0) }
        if isLast { receiver.finished(.success(TransferMetrics())) }
    }

    private func cancel(_ number: Int) {
        let cancelled = state.withLock { state in
            state.sending.firstIndex { $0.number == number }.map { state.sending.remove(at: $0).receiver }
        }
        cancelled?.finished(.failure(.cancelled))
    }
}
