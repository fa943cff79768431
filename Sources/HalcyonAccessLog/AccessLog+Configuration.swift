import Foundation

extension AccessLog {
    /// How keys are kept.
    public enum KeyStorage: Sendable {
        /// By the first 128 bits of their SHA-256 only. Who knows a key can tell whether it is in the log; the log tells
        /// nobody the keys.
        case hashed
        /// As they are, beside the hash. A key that is empty, longer than 4,096 bytes or holds control characters keeps
        /// only its hash.
        case raw
    }

    /// What a log holds at most; the oldest accesses go first. A bound that is `nil` does not hold.
    ///
    /// A process that is killed while it removes old accesses leaves no gap, and every name that is needed. See
    /// `ProcessTests.killDuringTrimmingLeavesNoHole()`.
    public struct Bounds: Sendable, Equatable {
        /// Accesses, and as many items of lists.
        public var rows: Int?
        /// Bytes that the file and its write-ahead log take together, at least 256 KiB. It holds after each
        /// flush; while a batch is being written and the oldest removed it may be exceeded by as much, and as
        /// long as a reader has the file open by what is written meanwhile.
        public var bytes: Int?
        /// Days between an access or a list and now.
        public var days: Int?

        /// One million accesses and items of lists each and 90 days, in at most 128 MB.
        public init(rows: Int? = 1_000_000, bytes: Int? = 128_000_000, days: Int? = 90) {
            self.rows = rows
            self.bytes = bytes
            self.days = days
        }

        /// No bounds.
        public static let none = Bounds(rows: nil, bytes: nil, days: nil)
    }

    /// What can be chosen of a log. Everything has a default.
    public struct Configuration: Sendable {
        /// How keys are kept.
        public var keys = KeyStorage.hashed
        /// What the log holds at most.
        public var bounds = Bounds()
        /// How long an access may wait until it is in the file, when the disk keeps up. Writing begins after half of it.
        ///
        /// See `RecordingTests.accessesAreWrittenAfterHalfTheFlushInterval()`.
        public var flushInterval = Duration.seconds(1)
        /// The accesses written in one transaction, and the number that starts one before the interval is over.
        public var batch = 4_096
        /// The accesses that may wait; more are lost and counted.
        public var waitingLimit = 131_072
        /// How long to wait for a file that another process has locked, before trying again at the next interval.
        public var lockTimeout = Duration.milliseconds(500)
        /// The pages that the file may have, in place of a full disk.
        var pageLimit: Int?
        /// Whether accesses are recorded from the start; see ``AccessLog/isRecording``.
        public var isRecording = true
        /// Told what happens to the file, on the log's own queue.
        public var onEvent: (@Sendable (AccessLogEvent) -> Void)?
        /// The clock that the flush interval runs by.
        public var clock: any Clock<Duration> = ContinuousClock()
        /// The time that accesses are stamped with, in microseconds since 1970.
        public var now: @Sendable () -> Int64 = Configuration.wallTime

        /// The defaults.
        public init() {}

        /// The system's time in microseconds since 1970.
        public static let wallTime: @Sendable () -> Int64 = {
            var time = timespec()
            clock_gettime(CLOCK_REALTIME, &time)
            return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
        }
    }
}
