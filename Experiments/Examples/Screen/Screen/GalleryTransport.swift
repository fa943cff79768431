import Foundation
import HalcyonViews
import Synchronization

/// A transport that holds each answer until the program gives it, and counts. The picture of a row has one colour,
/// which the row decides.
final class GalleryTransport: Transport {
    private struct Held {
        let number: Int
        let row: Int
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
        state.withLock { state in
            state.starts += 1
            state.held.append(
                Held(number: state.starts, row: Int(request.url.lastPathComponent) ?? 0, receiver: receiver))
            return HeldTransfer(number: state.starts, transport: self)
        }
    }

    /// Gives the answers of all transfers that wait.
    func answerAll() throws {
        let held = state.withLock { state in
            defer { state.held = [] }
            state.answers += state.held.count
            return state.held
        }
        for transfer in held {
            guard let picture = Bitmap(width: 96, height: 96, color: Self.color(transfer.row)) else { continue }
            let file = try ImageEncoder.png().encode(picture)
            transfer.receiver.received(
                ResponseHead(
                    url: GalleryTransport.resource(transfer.row).source.url ?? URL(fileURLWithPath: "/"), status: 200))
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
