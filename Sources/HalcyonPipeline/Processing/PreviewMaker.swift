import Foundation
import HalcyonImages
import HalcyonNetworking
import Synchronization

/// Makes previews of a progressive JPEG while its bytes arrive: one for each scan that is whole, a stated number a second at most.
///
/// Each decodes what is there from the beginning, and a hostile file may have many scans. Therefore there are at most ``limit`` previews
/// of a picture, and each pause is at least four times as long as the work before it.
final class PreviewMaker: Sendable {
    /// The most previews of a picture. Encoders usually make ten scans.
    static let limit = 16

    private struct State {
        /// The progress that no preview was made of.
        var latest: (@Sendable () -> Data)?
        var isScheduled = false
        var hasEnded = false
        var scans = 0
        /// The number of previews that were made, or could not be.
        var count = 0
        /// When the next preview may begin.
        var next = ContinuousClock.now
        /// The preview that the receiver has not taken. A receiver that is slow misses all but the latest.
        var picture: Bitmap?
    }

    private let load: ImageLoad
    private let decoder: ImageDecoder
    private let work: LimitedWork
    private let lane: CallbackLane
    private let receive: @Sendable (Bitmap) -> Void
    private let state = Mutex(State())

    /// Creates the previews of a load; `nil` if it wants none.
    init?(_ load: ImageLoad, _ decoder: ImageDecoder, _ limiter: DecodeLimiter) {
        let options = load.options
        guard options.previewsPerSecond > 0, let receive = options.onPreview, !load.isPrefetch, !load.wantsBytes else {
            return nil
        }
        var decoder = decoder
        decoder.options.showsTruncated = true
        (self.load, self.decoder, self.receive) = (load, decoder, receive)
        // Whole pictures come first.
        work = LimitedWork(limiter, min(options.download.priority, .low), options.download.processingQueue)
        lane = CallbackLane(options.download.callbackQueue, isOrdered: true)
    }

    /// Notes bytes that have arrived.
    func arrived(_ progress: DownloadProgress) {
        guard let bytes = progress.arrived.read else { return }
        let start = state.withLock { state -> ContinuousClock.Instant? in
            if state.hasEnded { return nil }
            state.latest = bytes
            defer { state.isScheduled = true }
            return state.isScheduled ? nil : state.next
        }
        if let start { schedule(start) }
    }

    /// Ends the previews. None that has not been received is any more.
    func end() { state.withLock { ($0.hasEnded, $0.latest, $0.picture) = (true, nil, nil) } }

    private func schedule(_ start: ContinuousClock.Instant) {
        let delay = ContinuousClock.now.duration(to: start) / .seconds(1)
        guard delay > 0 else { return work.enqueue { [weak self] in self?.make() } }
        DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + delay) { [weak self] in
            guard let self else { return }
            work.enqueue { [weak self] in self?.make() }
        }
    }

    /// Makes a preview, if another scan is whole.
    private func make() {
        let begin = ContinuousClock.now
        let (latest, known) = state.withLock { state in
            defer { state.latest = nil }
            return (state.hasEnded ? nil : state.latest, state.scans)
        }
        guard let bytes = latest?() else { return }
        guard let scans = bytes.withUnsafeBytes({ JPEGSegments.wholeScans(ByteView($0)) }) else { return end() }
        if scans.count > known { show(bytes.prefix(scans.end)) }
        let next = state.withLock { state -> ContinuousClock.Instant? in
            state.scans = max(scans.count, state.scans)
            if scans.count > known { state.count += 1 }
            if state.count >= Self.limit { (state.hasEnded, state.latest) = (true, nil) }
            let pause = Duration.seconds(min(1 / load.options.previewsPerSecond, 3_600))
            let end = ContinuousClock.now
            state.next = end + max(scans.count > known ? pause : .zero, begin.duration(to: end) * 4)
            state.isScheduled = state.latest != nil && !state.hasEnded
            return state.isScheduled ? state.next : nil
        }
        if let next { schedule(next) }
    }

    private func show(_ bytes: Data) {
        guard let made = try? load.options.processor.process(.data(bytes), decoder: decoder) else { return }
        let picture = load.options.imageModifier?.modified(made) ?? made
        state.withLock { state in
            if !state.hasEnded { state.picture = picture }
        }
        lane.execute { [self] in
            if let latest = state.withLock({ $0.picture.take() }) { receive(latest) }
        }
    }
}
