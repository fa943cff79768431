#if os(Linux)
    import Foundation
    import Synchronization

    /// A watched threshold of pressure-stall information.
    ///
    /// The kernel reports that the threshold was exceeded, and the watch checks this against the total time that the
    /// file states. Linux 6.18 has been seen to report a stall of 50 µs with a threshold of 150 ms.
    final class PressureWatch: Sendable {
        let pressure: MemoryPressure
        private let descriptor: Int32
        private let stalls: Mutex<StallWindow>

        /// Watches a file; `nil` if the kernel refuses it.
        init?(path: String, kind: MemoryPressure) {
            pressure = kind
            descriptor = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
            // Processes without privileges may use windows of whole multiples of two seconds only.
            let thresholds = [(stall: 150_000, window: 1_000_000), (stall: 300_000, window: 2_000_000)]
            let fitting = thresholds.first { [descriptor] threshold in
                let text = Array("\(kind == .some ? "some" : "full") \(threshold.stall) \(threshold.window)\0".utf8)
                return descriptor >= 0 && write(descriptor, text, text.count) == text.count
            }
            stalls = Mutex(
                StallWindow(
                    threshold: .microseconds(fitting?.stall ?? 0), window: .microseconds(fitting?.window ?? 0)))
            // All properties are set, so that `deinit` closes the descriptor.
            if fitting == nil { return nil }
            _ = isExceeded(at: .now)
        }

        deinit { if descriptor >= 0 { SystemFiles.close(descriptor) } }

        /// Waits until a threshold is exceeded.
        ///
        /// - Returns: the pressures, the lowest first; empty after a timeout; `nil` if a file can no longer be
        ///   watched.
        static func wait(_ watches: [PressureWatch], milliseconds: Int32) -> [MemoryPressure]? {
            var polls = watches.map { pollfd(fd: $0.descriptor, events: Int16(POLLPRI), revents: 0) }
            let count = poll(&polls, UInt(polls.count), milliseconds)
            if count < 0 { return errno == EINTR ? [] : nil }
            let ended = Int16(POLLERR | POLLHUP | POLLNVAL)
            if polls.contains(where: { $0.revents & ended != 0 }) { return nil }
            // Read after timeouts, too, so that there is a reading from the start of each window.
            let now = ContinuousClock.now
            let exceeded = watches.map { $0.isExceeded(at: now) }
            var found: [MemoryPressure] = []
            for (place, watch) in watches.enumerated() where polls[place].revents & Int16(POLLPRI) != 0 {
                guard let isExceeded = exceeded[place] else { return nil }
                if isExceeded { found.append(watch.pressure) }
            }
            return found
        }

        /// Reads the total of the file and returns whether it grew by the threshold within the window; `nil` if the
        /// file states none.
        func isExceeded(at time: ContinuousClock.Instant) -> Bool? {
            var bytes = [UInt8](repeating: 0, count: 256)
            let count = pread(descriptor, &bytes, bytes.count, 0)
            guard count > 0 else { return nil }
            let text = String(decoding: bytes[..<count], as: UTF8.self)
            guard let total = Self.total(text, kind: pressure) else { return nil }
            return stalls.withLock { $0.record(total, at: time) }
        }

        /// Returns the total of stalls that a file of the kernel states, which has it in microseconds.
        static func total(_ text: String, kind: MemoryPressure) -> Duration? {
            let name = kind == .some ? "some " : "full "
            let line = text.split(separator: "\n").first { $0.hasPrefix(name) }
            let field = line?.split(separator: " ").first { $0.hasPrefix("total=") }
            return field.flatMap { Int64($0.dropFirst(6)) }.map { .microseconds($0) }
        }
    }

    /// Readings of a total that only grows, and whether it grew by a threshold within a window.
    struct StallWindow {
        let threshold: Duration
        let window: Duration
        /// The oldest first. At most one of them is older than the window.
        private var readings: [(time: ContinuousClock.Instant, total: Duration)] = []

        init(threshold: Duration, window: Duration) {
            self.threshold = threshold
            self.window = window
        }

        /// Adds a reading and returns whether the total grew by the threshold since the last reading before the
        /// window, or since the first of all.
        mutating func record(_ total: Duration, at time: ContinuousClock.Instant) -> Bool {
            readings.append((time, total))
            let start = readings.lastIndex { $0.time <= time - window } ?? 0
            readings.removeFirst(start)
            return total - readings[0].total >= threshold
        }
    }
#endif
