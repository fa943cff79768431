/// What a processor has made of a transfer's body, or why it has not: one object for all who share it.
final class DownloadOutcome<Value: Sendable>: DownloadOutcomeOfAnyKind {
    let result: Result<DownloadResult<Value>, any Error>

    /// Lets a processor work.
    init(_ body: LoadedBody, _ processor: DownloadProcessor<Value>) {
        result = Result {
            DownloadResult(
                value: try processor.process(body.data, body.head), originalData: body.data, response: body.head,
                metrics: body.metrics, redirects: body.redirects, freshness: body.freshness)
        }
    }

    var isSuccess: Bool { if case .success = result { true } else { false } }
}

/// An outcome whose kind of value only those know who wait for it.
protocol DownloadOutcomeOfAnyKind: AnyObject, Sendable {
    var isSuccess: Bool { get }
}
