import Foundation
import HalcyonViews
import Synchronization

/// A transport that holds each answer until the program gives it, unless it answers at once, and counts.
final class GalleryTransport: Transport {
    private struct Held {
        let number: Int
        let url: URL
        let receiver: any TransferReceiver
    }

    private struct State {
        var held: [Held] = []
        var starts = 0
        var cancels = 0
        var answers = 0
    }

    private struct HeldTransfer: Transfer {
        let number: Int
        let transport: GalleryTransport

        func cancel() { transport.cancel(number) }
        func pause() {}
        func resume() {}
        func setPriority(_ priority: TransferPriority) {}
    }

    private let state = Mutex(State())
    private let queue: DispatchQueue?
    private let picture: @Sendable (URL) -> Bitmap?

    /// - Parameters:
    ///   - answersAtOnce: whether no answer waits for ``answerAll()``.
    ///   - picture: makes the picture of a URL; by default one of the colour of the URL's row.
    init(
        answersAtOnce: Bool = false,
        picture: @escaping @Sendable (URL) -> Bitmap? = {
            Bitmap(width: 96, height: 96, color: GalleryTransport.color(Int($0.lastPathComponent) ?? 0))
        }
    ) {
        queue = answersAtOnce ? DispatchQueue(label: "answers") : nil
        self.picture = picture
    }

    var starts: Int { state.withLock { $0.starts } }
    var cancels: Int { state.withLock { $0.cancels } }
    var answers: Int { state.withLock { $0.answers } }
    /// The number of transfers without an answer.
    var waiting: Int { state.withLock { $0.held.count } }

    static func resource(_ row: Int) -> Resource {
        Resource(URL(string: "http://gallery/\(row)") ?? URL(fileURLWithPath: "/"))
    }

    /// The colour of a row; no two of 4,096 neighbours have the same, and none is the placeholder's.
    static func color(_ row: Int) -> PixelColor {
        PixelColor(
            red: UInt8(row % 16 * 17), green: UInt8(row / 16 % 16 * 17), blue: UInt8((row / 256 % 16) * 15 + 20))
    }

    static let placeholder = PixelColor(red: 128, green: 128, blue: 128)

    func start(_ request: TransportRequest, receiver: any TransferReceiver) -> any Transfer {
        let number = state.withLock { state in
            state.starts += 1
            state.held.append(Held(number: state.starts, url: request.url, receiver: receiver))
            return state.starts
        }
        queue?.async { [self] in answerAll() }
        return HeldTransfer(number: number, transport: self)
    }

    /// Gives the answers of all transfers that wait.
    func answerAll() {
        let held = state.withLock { state in
            defer { state.held = [] }
            state.answers += state.held.count
            return state.held
        }
        for transfer in held {
            guard let file = picture(transfer.url).flatMap({ try? ImageEncoder.png().encode($0) }) else {
                transfer.receiver.finished(.failure(.cancelled))
                continue
            }
            transfer.receiver.received(ResponseHead(url: transfer.url, status: 200))
            file.withUnsafeBytes { transfer.receiver.received($0) }
            transfer.receiver.finished(.success(TransferMetrics()))
        }
    }

    private func cancel(_ number: Int) {
        let receiver: (any TransferReceiver)? = state.withLock { state in
            guard let index = state.held.firstIndex(where: { $0.number == number }) else { return nil }
            state.cancels += 1
            return state.held.remove(at: index).receiver
        }
        receiver?.finished(.failure(.cancelled))
    }
}
