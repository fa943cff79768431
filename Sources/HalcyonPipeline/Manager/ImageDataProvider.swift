import Foundation
import HalcyonSupport

/// A source of the bytes of an image, for example a file, an archive, a database or a generator.
///
/// Concurrent loads from providers of the same type with the same key share the bytes of one call. The
/// ``ImageOptions/retryStrategy`` receives the errors that a provider throws, as for a failed transfer.
public protocol ImageDataProvider: Sendable {
    /// What the image is kept under; two providers with the same key have the same image.
    var cacheKey: String { get }
    /// The bytes of a file in a known format. Called off the caller's thread, and cancelled when the last one who waits is gone.
    func data() async throws -> Data
}

/// A file of this machine.
struct LocalFileProvider: ImageDataProvider {
    let url: URL
    let cacheKey: String

    init(_ url: URL, cacheKey: String?) {
        self.url = url
        self.cacheKey = cacheKey ?? url.absoluteString
    }

    func data() async throws -> Data {
        do {
            let queue = CallbackQueue.dispatch(.global(qos: .userInitiated))
            return try await queue.result { [url] in try Data(contentsOf: url) }
        } catch {
            throw ManagerError.cannotReadFile(url, underlying: error)
        }
    }
}

/// Bytes that are here already.
struct DataProvider: ImageDataProvider {
    private let bytes: Data
    let cacheKey: String

    init(_ bytes: Data, cacheKey: String) {
        self.bytes = bytes
        self.cacheKey = cacheKey
    }

    func data() async throws -> Data { bytes }
}

extension CallbackQueue {
    /// What a block that may take long gives when it is called there.
    func result<Value: Sendable>(_ block: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            execute { continuation.resume(with: Result(catching: block)) }
        }
    }
}
