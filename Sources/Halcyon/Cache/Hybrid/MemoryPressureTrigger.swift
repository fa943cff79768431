#if os(Linux)
    import Foundation
    import Synchronization

    /// Tells when memory is short on Linux: by the kernel's pressure-stall information, of the process' control group or
    /// else of the machine; where that cannot be watched, by how much of the group's limit is used.
    ///
    /// A pressure of ``MemoryPressure/some`` is that some task waited for memory for 150 ms within a second, of
    /// ``MemoryPressure/full`` that all did; by use, that 90 or 97 % of the limit is used. See "PSI" in the kernel's
    /// documentation.
    public final class MemoryPressureTrigger: CacheTrigger {
        /// What a trigger watches.
        public enum Source: Sendable, Equatable {
            /// A file of pressure-stall information.
            case stalls(path: String)
            /// What is used of a limit.
            case use(current: String, limit: Int)
            /// Nothing: there is neither.
            case nothing
        }

        /// What this trigger watches.
        public let source: Source
        private let interval: Int64
        private let sweeper = Sweeper()
        private let isRunning = Atomic<Bool>(false)

        /// A trigger for this process.
        public convenience init() { self.init(root: "") }

        /// A trigger for a machine whose `/proc` and `/sys` lie under `root`.
        ///
        /// - Parameter interval: the microseconds between two looks at the use.
        init(root: String, interval: Int64 = 1_000_000) {
            self.interval = interval
            source = Self.source(root)
        }

        private static func source(_ root: String) -> Source {
            let groups = (try? String(contentsOfFile: root + "/proc/self/cgroup", encoding: .utf8)) ?? ""
            let group = groups.split(separator: "\n").first { $0.hasPrefix("0::") }.map { String($0.dropFirst(3)) }
            let folder = root + "/sys/fs/cgroup" + (group ?? "/")
            for path in [folder + "/memory.pressure", root + "/proc/pressure/memory"] where access(path, W_OK) == 0 {
                return .stalls(path: path)
            }
            let limit = MemoryBudget(physical: .max, root: root).bytes
            let current = folder + "/memory.current"
            return limit < .max && access(current, R_OK) == 0 ? .use(current: current, limit: limit) : .nothing
        }

        /// How short memory is where `used` of `limit` is in use.
        static func pressure(used: Int, limit: Int) -> MemoryPressure? {
            let share = Double(used) / Double(max(limit, 1))
            return share >= 0.97 ? .full : share >= 0.9 ? .some : nil
        }

        public func start(_ handler: @escaping @Sendable (CacheTriggerEvent) -> Void) {
            isRunning.store(true, ordering: .relaxed)
            switch source {
            case .nothing: break
            case .use(let current, let limit):
                let span = interval
                sweeper.start(clock: SystemClock(), interval: { span }) {
                    let text = (try? String(contentsOfFile: current, encoding: .utf8)) ?? ""
                    let used = Int(text.trimmingCharacters(in: .whitespacesAndNewlines))
                    if let used, let pressure = Self.pressure(used: used, limit: limit) {
                        handler(.memoryPressure(pressure))
                    }
                    return true
                }
            case .stalls(let path):
                let watches = [("some", MemoryPressure.some), ("full", .full)].compactMap { kind, pressure in
                    Watch(path: path, kind: kind, pressure: pressure)
                }
                if watches.isEmpty { return }
                Thread.detachNewThread { [weak self] in
                    while self?.isRunning.load(ordering: .relaxed) == true {
                        for pressure in Watch.wait(watches, milliseconds: 500) { handler(.memoryPressure(pressure)) }
                    }
                }
            }
        }

        public func stop() {
            isRunning.store(false, ordering: .relaxed)
            sweeper.stop()
        }
    }

    /// A threshold of pressure-stall information that is watched.
    private final class Watch: Sendable {
        let pressure: MemoryPressure
        private let descriptor: Int32

        init?(path: String, kind: String, pressure: MemoryPressure) {
            self.pressure = pressure
            descriptor = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
            if descriptor < 0 { return nil }
            let text = Array("\(kind) 150000 1000000\0".utf8)
            if write(descriptor, text, text.count) != text.count {
                close(descriptor)
                return nil
            }
        }

        deinit { close(descriptor) }

        /// The pressures that came up within some time, the least first.
        static func wait(_ watches: [Watch], milliseconds: Int32) -> [MemoryPressure] {
            var polls = watches.map { pollfd(fd: $0.descriptor, events: Int16(POLLPRI), revents: 0) }
            if poll(&polls, UInt(polls.count), milliseconds) <= 0 { return [] }
            return zip(watches, polls).filter { $1.revents & Int16(POLLPRI) != 0 }.map(\.0.pressure)
        }
    }
#endif
