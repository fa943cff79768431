import Foundation
import HalcyonImages
import HalcyonNetworking
import Synchronization

/// Makes previews of a progressive JPEG while its bytes arrive: one for each scan that is whole, a stated number a second at most.
final class PreviewMaker: Sendable {
    private struct State {
        /// The progress that no preview was made of.
        var latest: (@Sendable () -> Data)?
        var isScheduled = false
        var hasEnded = false
        var scans = 0
        /// When the next preview may begin.
        var next = ContinuousClock.now
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
        work = LimitedWork(limiter, options.download.priority, options.download.processingQueue)
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

    /// Ends the previews.
    func end() { state.withLock { ($0.hasEnded, $0.latest) = (true, nil) } }

    private func schedule(_ start: ContinuousClock.Instant) {
        let delay = ContinuousClock.now.duration(to: start) / .seconds(1)
        guard delay > 0 else { return work.enqueue(make) }
        DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + delay) { [self] in work.enqueue(make) }
    }

    /// Makes a preview, if another scan is whole.
    private func make() {
        let (latest, known) = state.withLock { state in
            defer { state.latest = nil }
            return (state.hasEnded ? nil : state.latest, state.scans)
        }
        guard let bytes = latest?() else { return }
        guard let scans = bytes.withUnsafeBytes({ JPEGSegments.wholeScans(ByteView($0)) }) else { return end() }
        if scans.count > known,
            let picture = try? load.options.processor.process(.data(bytes.prefix(scans.end)), decoder: decoder)
        {
            let shown = load.options.imageModifier?.modified(picture) ?? picture
            lane.execute { [self] in
                if !state.withLock({ $0.hasEnded }) { receive(shown) }
            }
        }
        let next = state.withLock { state -> ContinuousClock.Instant? in
            if scans.count > state.scans {
                state.scans = scans.count
                state.next = ContinuousClock.now + .seconds(min(1 / load.options.previewsPerSecond, 3_600))
            }
            state.isScheduled = state.latest != nil && !state.hasEnded
            return state.isScheduled ? state.next : nil
        }
        if let next { schedule(next) }
    }
}
