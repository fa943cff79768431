import Foundation
import HalcyonSupport
import Synchronization

#if canImport(Network)
    import Network
#endif

/// Observes whether the machine has a network. It says nothing about a particular server.
public protocol ConnectivityMonitor: Sendable {
    /// Whether there is a network now.
    var isConnected: Bool { get async }
    /// Returns as soon as there is a network, at once if there is one. It must not block its thread.
    ///
    /// - Throws: `CancellationError` if the task is cancelled before.
    func waitUntilConnected() async throws
}

/// Retries as soon as there is a network again.
///
/// If a connection has failed and the machine has no network, the load waits for one, at most ``timeout``, and is then retried at once.
/// In all other cases another strategy decides.
public struct ConnectivityRetryStrategy: RetryStrategy {
    /// The highest number of retries, of both kinds.
    public let maxRetryCount: Int
    /// The longest wait for a network; after it the load fails.
    public let timeout: Duration
    private let monitor: any ConnectivityMonitor
    private let whenConnected: any RetryStrategy
    private let clock: any CacheClock

    /// Creates a strategy.
    ///
    /// - Parameters:
    ///   - whenConnected: decides if there is a network, or the error is none of a connection; by default with exponential pauses.
    ///   - clock: the clock of the timeout.
    public init(
        maxRetryCount: Int = 3, timeout: Duration = .seconds(30),
        monitor: any ConnectivityMonitor = SystemConnectivityMonitor.shared,
        whenConnected: (any RetryStrategy)? = nil, clock: any CacheClock = SystemClock()
    ) {
        self.maxRetryCount = maxRetryCount
        self.timeout = timeout
        self.monitor = monitor
        self.whenConnected = whenConnected ?? ExponentialBackoffRetryStrategy(maxRetryCount: maxRetryCount)
        self.clock = clock
    }

    public func decision(for context: RetryContext) async -> RetryDecision {
        guard context.retriedCount < maxRetryCount, !context.error.isCancellation else { return .stop }
        let isConnectionFailure = (context.error as? NetworkError)?.isConnectionFailure == true
        guard isConnectionFailure, await !monitor.isConnected else { return await whenConnected.decision(for: context) }
        return await isConnectedInTime() ? .retry(after: .zero) : .stop
    }

    private func isConnectedInTime() async -> Bool {
        await withTaskGroup(of: Bool.self) { group in
            group.addTask { [monitor] in
                do {
                    try await monitor.waitUntilConnected()
                    return true
                } catch {
                    return false
                }
            }
            group.addTask { [clock, timeout] in
                try? await clock.sleep(microseconds: timeout.microseconds)
                return false
            }
            defer { group.cancelAll() }
            return await group.next() ?? false
        }
    }
}

/// The network state of the system.
///
/// On Apple's platforms it is that of `NWPathMonitor` (type-checked, never run). On Linux there is a network if an interface other than
/// loopback is up and running and has an address that is not link-local. A netlink socket reports changes of links, addresses and routes,
/// upon which the state is read again. Without that socket, as in some sandboxes, the state is read every 2 seconds.
public final class SystemConnectivityMonitor: ConnectivityMonitor {
    /// The monitor of the process.
    public static let shared = SystemConnectivityMonitor()

    private let state = ConnectivityState()
    #if canImport(Network)
        private let monitor = NWPathMonitor()
    #else
        // Only `deinit` uses it, to cancel it, which Dispatch allows on any thread.
        nonisolated(unsafe) private let source: any DispatchSourceProtocol
    #endif

    #if canImport(Network)
        /// Starts a monitor, which ends with the object.
        public init() {
            monitor.pathUpdateHandler = { [state] path in state.set(path.status == .satisfied) }
            monitor.start(queue: DispatchQueue(label: "halcyon.connectivity", qos: .utility))
        }

        deinit { monitor.cancel() }
    #else
        /// Starts a monitor, which ends with the object.
        public convenience init() {
            self.init(changes: NetworkInterfaces.changes(), isConnected: NetworkInterfaces.areConnected)
        }

        /// Starts a monitor of a source of changes.
        ///
        /// - Parameters:
        ///   - descriptor: a nonblocking descriptor that becomes readable with each change, and is closed with the monitor; `nil` polls.
        ///   - isConnected: reads the state, on a queue of the monitor.
        init(changes descriptor: Int32?, isConnected: @escaping @Sendable () -> Bool) {
            let queue = DispatchQueue(label: "halcyon.connectivity", qos: .utility)
            if let descriptor {
                let reads = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
                reads.setEventHandler { [state] in
                    NetworkInterfaces.drain(descriptor)
                    state.set(isConnected())
                }
                reads.setCancelHandler { close(descriptor) }
                source = reads
            } else {
                let timer = DispatchSource.makeTimerSource(queue: queue)
                timer.schedule(deadline: .now() + 2, repeating: 2, leeway: .milliseconds(500))
                timer.setEventHandler { [state] in state.set(isConnected()) }
                source = timer
            }
            queue.async { [state] in state.set(isConnected()) }
            source.activate()
        }

        deinit { source.cancel() }
    #endif

    public var isConnected: Bool {
        get async { await state.known() }
    }

    public func waitUntilConnected() async throws { try await state.waitUntilConnected() }

    /// Whether the network is in Low Data Mode, as the system has last reported (type-checked, never run). On Linux `false`: it has no such
    /// mode.
    public var isConstrained: Bool {
        #if canImport(Network)
            monitor.currentPath.isConstrained
        #else
            false
        #endif
    }
}

/// A state of connectivity, and the tasks that wait for it.
final class ConnectivityState: Sendable {
    private struct Waiter {
        /// Whether any state will do.
        let takesAny: Bool
        let continuation: CheckedContinuation<Bool, Never>
    }

    private struct State {
        var isConnected: Bool?
        var lastID = 0
        var waiters: [Int: Waiter] = [:]
    }

    private let state = Mutex(State())

    /// Sets the state, and resumes the tasks that wait for it.
    func set(_ isConnected: Bool) {
        let due = state.withLock { state in
            state.isConnected = isConnected
            let due = state.waiters.filter { isConnected || $0.value.takesAny }
            for id in due.keys { state.waiters[id] = nil }
            return due.values.map(\.continuation)
        }
        for continuation in due { continuation.resume(returning: isConnected) }
    }

    /// The state, as soon as it is known; `false` if the task is cancelled before.
    func known() async -> Bool { await wait(takesAny: true) }

    /// Returns as soon as there is a network.
    func waitUntilConnected() async throws {
        guard await wait(takesAny: false) else { throw CancellationError() }
    }

    private func wait(takesAny: Bool) async -> Bool {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let known = state.withLock { state -> Bool? in
                    if let isConnected = state.isConnected, takesAny || isConnected { return isConnected }
                    if Task.isCancelled { return false }
                    state.waiters[id] = Waiter(takesAny: takesAny, continuation: continuation)
                    return nil
                }
                if let known { continuation.resume(returning: known) }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: id) }?.continuation.resume(returning: false)
        }
    }
}

#if !canImport(Network)
    /// The network interfaces of the machine.
    enum NetworkInterfaces {
        /// Whether an interface other than loopback is up and running and has an address that is not link-local.
        static func areConnected() -> Bool {
            var first: UnsafeMutablePointer<ifaddrs>?
            // What cannot be read is no reason to wait for a network.
            guard getifaddrs(&first) == 0 else { return true }
            defer { freeifaddrs(first) }
            var next = first
            while let entry = next?.pointee {
                next = entry.ifa_next
                if isConnected(flags: entry.ifa_flags, address: entry.ifa_addr) { return true }
            }
            return false
        }

        /// Whether an interface with these flags and this address is up and running, is no loopback and has an address that is not
        /// link-local.
        static func isConnected(flags: UInt32, address: UnsafePointer<sockaddr>?) -> Bool {
            let (wanted, loopback) = (UInt32(IFF_UP | IFF_RUNNING), UInt32(IFF_LOOPBACK))
            guard flags & wanted == wanted, flags & loopback == 0, let address else { return false }
            return isUsable(UnsafeRawPointer(address), family: Int32(address.pointee.sa_family))
        }

        /// Whether a socket address is one by which other networks can be reached: not a link-local one.
        static func isUsable(_ address: UnsafeRawPointer, family: Int32) -> Bool {
            switch family {
            case AF_INET:
                let bytes = UnsafeRawBufferPointer(start: address + 4, count: 4)
                return !(bytes[0] == 169 && bytes[1] == 254)
            case AF_INET6:
                let bytes = UnsafeRawBufferPointer(start: address + 8, count: 16)
                return !(bytes[0] == 0xfe && bytes[1] & 0xc0 == 0x80)
            default: return false
            }
        }

        /// A nonblocking netlink socket that receives changes of links, addresses and routes; `nil` if the system has none.
        static func changes() -> Int32? {
            #if os(Linux)
                // The values of linux/netlink.h and linux/rtnetlink.h, which no module of Swift has: AF_NETLINK, NETLINK_ROUTE, and
                // the groups LINK, IPV4_IFADDR, IPV4_ROUTE, IPV6_IFADDR and IPV6_ROUTE.
                let (family, protocolNumber, groups) = (Int32(16), Int32(0), UInt32(0x1 | 0x10 | 0x40 | 0x100 | 0x400))
                let kind = Int32(SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
                let descriptor = socket(family, kind, protocolNumber)
                guard descriptor >= 0 else { return nil }
                // struct sockaddr_nl: family and padding, port, groups.
                var address = (UInt16(family), UInt16(0), UInt32(0), groups)
                let size = socklen_t(MemoryLayout.size(ofValue: address))
                let isBound = withUnsafeMutableBytes(of: &address) { bytes in
                    bytes.baseAddress.map { bind(descriptor, $0.assumingMemoryBound(to: sockaddr.self), size) } == 0
                }
                guard isBound else {
                    close(descriptor)
                    return nil
                }
                return descriptor
            #else
                return nil
            #endif
        }

        /// Reads what a descriptor has, without waiting for more.
        static func drain(_ descriptor: Int32) {
            var buffer = [UInt8](repeating: 0, count: 8_192)
            // An overrun (ENOBUFS) means that changes were lost, and the state is read again in any case.
            while read(descriptor, &buffer, buffer.count) > 0 {}
        }
    }
#endif
