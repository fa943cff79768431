import Synchronization

/// The numbers of ended transfers, and their bytes.
public struct TransferCounts: Sendable, Equatable {
    /// The transfers that ended with an answer, also with "not modified".
    public var succeeded = 0
    /// The transfers that failed.
    public var failed = 0
    /// The transfers that were cancelled.
    public var cancelled = 0
    /// The bytes of bodies that were received, after decompression, also of transfers that failed.
    public var receivedBytes = 0

    /// Creates counts, by default 0.
    public init(succeeded: Int = 0, failed: Int = 0, cancelled: Int = 0, receivedBytes: Int = 0) {
        self.succeeded = succeeded
        self.failed = failed
        self.cancelled = cancelled
        self.receivedBytes = receivedBytes
    }
}

/// Counts the transfers of a downloader.
final class TransferCounter: Sendable {
    private let state = Mutex(TransferCounts())

    var counts: TransferCounts { state.withLock { $0 } }

    func received(_ bytes: Int) { state.withLock { $0.receivedBytes += max(bytes, 0) } }

    func succeeded() { state.withLock { $0.succeeded += 1 } }

    func failed(_ error: any Error) {
        state.withLock { counts in
            if case .notModified? = error as? NetworkError {
                counts.succeeded += 1
            } else if error.isCancellation {
                counts.cancelled += 1
            } else {
                counts.failed += 1
            }
        }
    }
}
