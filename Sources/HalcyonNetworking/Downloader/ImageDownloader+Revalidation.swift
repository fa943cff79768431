import Foundation

/// What a server says of something that was loaded before.
public enum Revalidation<Value: Sendable>: Sendable {
    /// It has not changed: what is there may be used as this says.
    case notModified(Freshness)
    /// It has changed, to this.
    case modified(DownloadResult<Value>)
}

extension ImageDownloader {
    /// Asks whether something has changed, and loads it if it has.
    ///
    /// - Parameter freshness: what was known of it. Without validators it is loaded anew.
    /// - Throws: as ``download(_:processor:options:)``.
    public func revalidate<Value>(
        _ url: URL, _ freshness: Freshness, processor: DownloadProcessor<Value>,
        options: DownloadOptions = DownloadOptions()
    ) async throws -> Revalidation<Value> {
        var request = try request(for: url, options)
        freshness.validators.apply(to: &request)
        let requested = clock.now / 1_000_000
        do {
            return .modified(try await download(request, processor, options, nil))
        } catch NetworkError.notModified(let head) {
            return .notModified(freshness.refreshed(by: head, requested: requested, received: clock.now / 1_000_000))
        }
    }
}
