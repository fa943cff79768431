import HalcyonSupport

#if os(Linux)
    import Foundation
    import Synchronization

    /// Reports memory pressure on Linux.
    ///
    /// It watches the kernel's pressure-stall information of the process's control group, or else of the machine. If
    /// neither can be watched, it reads the used share of the group's memory limit each second.
    ///
    /// With stall information, the pressure is ``MemoryPressure/some`` if some task waited for memory during 15 % of
    /// a window, and ``MemoryPressure/full`` if all did. The window is one second. If the kernel refuses this, as it
    /// does for processes without `CAP_SYS_RESOURCE`, the window is two seconds. Some kernels report far shorter
    /// stalls, so that each report is checked against the total that the file states. Source: "PSI" in the kernel's
    /// documentation.
    ///
    /// With the used share, the thresholds are 90 and 97 %. The group is the one whose limit is least, of the process's
    /// group and its ancestors. File pages that were not used recently (`inactive_file` in `memory.stat`) do not count as
    /// used, because the kernel frees them before it kills a process. Without this, a process that reads and writes files
    /// would always appear to be short of memory.
    ///
    /// See `CleaningTests.pressureSourceFallsBackToUse()` and `CleaningTests.pressureBeginsAtNineTenths()`.
    public final class MemoryPressureTrigger: CacheTrigger {
        /// The source that a trigger watches.
        public enum Source: Sendable, Equatable {
            /// A file of pressure-stall information.
            case stalls(path: String)
            /// The file with the used bytes, and their limit.
            ///
            /// `memory.stat` in the same folder states how much of it the kernel can free at once.
            case use(current: String, limit: Int)
            /// No source, because the system has neither.
            case nothing
        }

        /// The trigger of this process. One thread serves all caches.
        public static let shared = MemoryPressureTrigger()

        private struct State {
            var source: Source
            /// The number of the running watch; a thread with another number ends.
            var generation: UInt64 = 0
        }

        private let handlers = TriggerHandlers()
        /// Whether a watch runs. Held while one is started or stopped.
        private let lifecycle = Mutex(false)
        private let state: Mutex<State>
        /// The sources after the first, in order of preference.
        private let alternatives: [Source]
        private let interval: Int64
        private let sweeper = Sweeper()

        /// Creates a trigger for this process.
        public convenience init() { self.init(root: "") }

        /// Creates a trigger for a machine whose `/proc` and `/sys` are below `root`.
        ///
        /// - Parameter interval: the microseconds between two readings of the used memory.
        init(root: String, interval: Int64 = 1_000_000) {
            self.interval = interval
            let found = Self.sources(root)
            state = Mutex(State(source: found.first ?? .nothing))
            alternatives = Array(found.dropFirst())
        }

        /// The source that the trigger watches.
        public var source: Source { state.withLock { $0.source } }

        /// Returns the available sources in order of preference.
        private static func sources(_ root: String) -> [Source] {
            let groups = (try? String(contentsOfFile: root + "/proc/self/cgroup", encoding: .utf8)) ?? ""
            let group = groups.split(separator: "\n").first { $0.hasPrefix("0::") }.map { String($0.dropFirst(3)) }
            let folder = root + "/sys/fs/cgroup" + (group ?? "/")
            var sources: [Source] =
                [folder + "/memory.pressure", root + "/proc/pressure/memory"]
                .first { PressureWatch(path: $0, kind: .some) != nil }
                .map { [.stalls(path: $0)] } ?? []
            if let group = MemoryBudget.limitedGroup(root: root) {
                let current = group.folder + (group.version == 2 ? "/memory.current" : "/memory.usage_in_bytes")
                if access(current, R_OK) == 0 { sources.append(.use(current: current, limit: group.limit)) }
            }
            return sources
        }

        /// Returns the bytes of a group that the kernel cannot free at once; `nil` if the file cannot be read.
        ///
        /// They are the used bytes of a file, without the inactive file pages that `memory.stat` beside it states.
        static func used(current: String) -> Int? {
            let text = (try? String(contentsOfFile: current, encoding: .utf8)) ?? ""
            guard let used = Int(text.trimmingCharacters(in: .whitespacesAndNewlines)) else { return nil }
            let folder = current.prefix(upTo: current.lastIndex(of: "/") ?? current.startIndex)
            let statistics = (try? String(contentsOfFile: folder + "/memory.stat", encoding: .utf8)) ?? ""
            var inactive: [Substring: Int] = [:]
            for line in statistics.split(separator: "\n") {
                let fields = line.split(separator: " ")
                if fields.count == 2, let count = Int(fields[1]) { inactive[fields[0]] = count }
            }
            // Version 1 states the pages of the group alone, and with its descendants, which the used bytes include.
            return max(used - (inactive["total_inactive_file"] ?? inactive["inactive_file"] ?? 0), 0)
        }

        /// Returns the pressure if `used` bytes of `limit` are in use; `nil` for none.
        static func pressure(used: Int, limit: Int) -> MemoryPressure? {
            let share = Double(used) / Double(max(limit, 1))
            return share >= 0.97 ? .full : share >= 0.9 ? .some : nil
        }

        public func subscribe(_ handler: @escaping @Sendable (CacheTriggerEvent) -> Void) -> TriggerSubscription {
            // The subscription keeps the trigger: a cache keeps subscriptions only.
            handlers.add(handler) { [self] in update() }
        }

        /// Starts or stops watching: it watches while there is a handler.
        private func update() {
            lifecycle.withLock { isRunning in
                if isRunning == !handlers.isEmpty { return }
                isRunning.toggle()
                let (source, generation) = state.withLock { state in
                    state.generation += 1
                    return (state.source, state.generation)
                }
                if isRunning { watch(source, generation) } else { sweeper.stop() }
            }
        }

        private func watch(_ source: Source, _ generation: UInt64) {
            switch source {
            case .nothing: break
            case .use(let current, let limit):
                let span = interval
                sweeper.start(clock: SystemClock(), interval: { span }) { [weak self] in
                    guard let self, isCurrent(generation) else { return false }
                    if let used = Self.used(current: current), let pressure = Self.pressure(used: used, limit: limit) {
                        report(pressure)
                    }
                    return true
                }
            case .stalls(let path):
                let watches = [MemoryPressure.some, .full].compactMap { PressureWatch(path: path, kind: $0) }
                if watches.isEmpty { return replaceSource(generation) }
                Thread.detachNewThread { [weak self] in
                    while self?.isCurrent(generation) == true {
                        guard let found = PressureWatch.wait(watches, milliseconds: 500) else {
                            self?.replaceSource(generation)
                            return
                        }
                        for pressure in found where self?.isCurrent(generation) == true { self?.report(pressure) }
                    }
                }
            }
        }

        private func isCurrent(_ generation: UInt64) -> Bool { state.withLock { $0.generation == generation } }

        private func report(_ pressure: MemoryPressure) {
            for handler in handlers.all { handler(.memoryPressure(pressure)) }
        }

        /// Watches the next source after one has ended, for example because its control group was removed.
        private func replaceSource(_ generation: UInt64) {
            let next = state.withLock { state -> Source? in
                guard state.generation == generation else { return nil }
                let place = alternatives.firstIndex(of: state.source)
                let next = alternatives.dropFirst(place.map { $0 + 1 } ?? 0).first ?? .nothing
                state.source = next
                return next
            }
            if let next { watch(next, generation) }
        }
    }
#endif
