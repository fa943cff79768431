import Foundation

/// A whole answer.
public struct TransportResponse: Sendable {
    /// What the server said first.
    public var head: ResponseHead
    /// The body, decompressed.
    public var body: Data
    /// What it took.
    public var metrics: TransferMetrics
}

extension Transport {
    /// The whole answer to a request, in memory. Whatever its status is, it is no error here.
    ///
    /// - Throws: ``NetworkError``; ``NetworkError/cancelled`` if the task is cancelled.
    public func response(to request: TransportRequest) async throws -> TransportResponse {
        try await response(
            to: request, collector: BodyCollector(), control: TransferControl(priority: request.priority))
    }

    /// The whole answer, kept by a collector and led by a control that others may have, too.
    func response(
        to request: TransportRequest, collector: BodyCollector, control: TransferControl
    ) async throws -> TransportResponse {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                collector.whenFinished { continuation.resume(with: $0) }
                control.attach(start(request, receiver: collector), startedAt: request.priority)
            }
        } onCancel: {
            control.cancel()
        }
    }
}
