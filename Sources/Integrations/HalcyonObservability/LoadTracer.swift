import HalcyonNetworking
@_spi(Observation) import HalcyonPipeline
import Synchronization
import Tracing

#if canImport(os)
    import os
#endif

/// Makes spans of the loads of a manager through swift-distributed-tracing, and signpost intervals on Apple's
/// platforms (never compiled).
///
/// ```swift
/// InstrumentationSystem.bootstrap(tracer)
/// let tracing = LoadTracer(manager)
/// ```
///
/// A load that memory does not answer at once is the span `halcyon.load`, a child of the caller's span. Its children
/// are `halcyon.transfer`, the wait for the bytes, and `halcyon.decode`, decoding and processing. A load that shares the
/// image of another one has no span of decoding. Attributes are the place from which the image came, whether it is a
/// prefetch, and the URL's scheme, host and path; query, fragment, credentials and user are left out.
///
/// Without a tracer the spans cost nothing but a check. The manager's loads are observed until this is released.
public final class LoadTracer: Sendable {
    private let detach: @Sendable () -> Void

    /// Observes the loads of a manager.
    ///
    /// - Parameter tracer: makes the spans; by default the tracer that is bootstrapped when a load starts.
    public init(_ manager: HalcyonManager, tracer: (any Tracer)? = nil) {
        let observer = SpanObserver(tracer)
        manager.loadObservers.add(observer)
        detach = { [observers = manager.loadObservers] in observers.remove(observer) }
    }

    deinit { detach() }
}

/// Starts the span of each load.
private final class SpanObserver: LoadObserver {
    private let tracer: (any Tracer)?

    init(_ tracer: (any Tracer)?) { self.tracer = tracer }

    func started(_ resource: Resource, isPrefetch: Bool) -> any LoadObservation {
        TracedLoad(resource, isPrefetch: isPrefetch, tracer ?? InstrumentationSystem.tracer)
    }
}

/// The spans of a load.
private final class TracedLoad: LoadObservation {
    private struct State {
        var stages: [LoadStage: OpenSpan] = [:]
        var isEnded = false
    }

    private let tracer: any Tracer
    private let load: OpenSpan
    private let state = Mutex(State())

    init(_ resource: Resource, isPrefetch: Bool, _ tracer: any Tracer) {
        self.tracer = tracer
        load = OpenSpan(.load, tracer, .current ?? .topLevel)
        guard load.span.isRecording else { return }
        load.span.attributes["halcyon.prefetch"] = isPrefetch
        if let url = resource.source.url { load.span.attributes["url.full"] = Redaction.text(of: url) }
    }

    func started(_ stage: LoadStage) {
        if state.withLock({ $0.isEnded }) { return }
        let span = OpenSpan(stage == .transfer ? .transfer : .decode, tracer, load.span.context)
        let (other, isEnded) = state.withLock { state in
            if state.isEnded { return (span as OpenSpan?, true) }
            return (state.stages.updateValue(span, forKey: stage), false)
        }
        other?.end(isEnded ? CancellationError() : nil)
    }

    func ended(_ stage: LoadStage, _ error: (any Error)?) {
        state.withLock { $0.stages.removeValue(forKey: stage) }?.end(error)
    }

    func ended(_ result: Result<ImageOrigin, any Error>) {
        let open = state.withLock { state in
            state.isEnded = true
            defer { state.stages = [:] }
            return state.stages
        }
        var failure: (any Error)?
        if case .failure(let error) = result { failure = error }
        for span in open.values { span.end(failure) }
        load.span.attributes["halcyon.outcome"] = result.outcome
        load.end(failure)
    }
}

/// A span that has started, and its interval between signposts.
private struct OpenSpan: Sendable {
    enum Name { case load, transfer, decode }

    let span: any Span
    #if canImport(os)
        private static let signposter = OSSignposter(subsystem: "halcyon", category: "loads")
        private let name: Name
        private let signpost: UInt64
    #endif

    init(_ name: Name, _ tracer: any Tracer, _ context: ServiceContext) {
        let label =
            switch name {
            case .load: "halcyon.load"
            case .transfer: "halcyon.transfer"
            case .decode: "halcyon.decode"
            }
        span = tracer.startSpan(label, context: context)
        #if canImport(os)
            self.name = name
            let id = Self.signposter.makeSignpostID()
            signpost = id.rawValue
            switch name {
            case .load: _ = Self.signposter.beginInterval("load", id: id)
            case .transfer: _ = Self.signposter.beginInterval("transfer", id: id)
            case .decode: _ = Self.signposter.beginInterval("decode", id: id)
            }
        #endif
    }

    /// Ends the span. An error other than a cancellation is its status; its text is redacted.
    func end(_ error: (any Error)?) {
        if let error, !error.isCancellation {
            span.setStatus(SpanStatus(code: .error, message: Redaction.text("\(error)")))
        }
        span.end()
        #if canImport(os)
            let state = OSSignpostIntervalState.beginState(id: OSSignpostID(signpost))
            switch name {
            case .load: Self.signposter.endInterval("load", state)
            case .transfer: Self.signposter.endInterval("transfer", state)
            case .decode: Self.signposter.endInterval("decode", state)
            }
        #endif
    }
}
