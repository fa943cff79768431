import Foundation
import Halcyon
import HalcyonEviction
import HalcyonTestSupport
import Synchronization
import Testing

@testable import HalcyonCurl
@testable import HalcyonNetworking

@Suite("Downloader: Retry-After, exponential pauses, connectivity", .timeLimit(.minutes(20)))
struct RetryTests {
    private let lost = NetworkError.connectionLost("It broke")

    private func pause(
        _ strategy: some RetryStrategy, _ error: any Error, count: Int = 0, retryAfter: Duration? = nil
    ) async -> Duration? {
        let context = RetryContext(key: "http://a/", error: error, retriedCount: count, retryAfter: retryAfter)
        guard case .retry(let pause, _) = await strategy.decision(for: context) else { return nil }
        return pause
    }

    @Test("Retry-After is parsed in seconds and as a date")
    func retryAfterParsesSecondsAndDates() {
        func pause(_ text: String?) -> Duration? {
            var head = ResponseHead(url: fake("a"), status: 503)
            head.headers["Retry-After"] = text
            // Tue, 14 Nov 2023 22:13:20 GMT.
            return head.retryAfter(now: 1_700_000_000)
        }
        #expect(pause("120") == .seconds(120) && pause("0") == .zero)
        #expect(pause("99999999999999999999") == .seconds(2_147_483_648))
        #expect(pause("Tue, 14 Nov 2023 22:13:50 GMT") == .seconds(30))
        #expect(pause("Tue, 14 Nov 2023 22:13:10 GMT") == .zero)
        for text in ["", "-5", "soon", "1.5", "5 s"] { #expect(pause(text) == nil, "\(text)") }
        #expect(pause(nil) == nil)
    }

    @Test("A load waits for Retry-After, and fails if that is too long")
    func loadWaitsForRetryAfter() async throws {
        let asked = Mutex("7")
        let server = try HostileServer { visit in
            let seconds = asked.withLock { $0 }
            if seconds.isEmpty { return visit.answer(pattern(50)) }
            visit.answer([], status: "503 Busy", headers: ["Retry-After: \(seconds)"])
        }
        let clock = ManualClock()
        let downloader = ImageDownloader.test(clock: clock)
        var options = DownloadOptions()
        options.retryStrategy = DelayRetryStrategy(maxRetryCount: 3, retryInterval: .seconds(1))
        let load = Task { [options] in try await downloader.download(server.url("/a"), options: options).value.count }
        await clock.waitForSleepers(1)
        clock.advance(by: 6.9)
        #expect(clock.sleeperCount == 1)
        asked.withLock { $0 = "" }
        clock.advance(by: 0.1)
        #expect(try await load.value == 50)

        asked.withLock { $0 = "121" }
        do {
            _ = try await downloader.download(server.url("/a"), options: options)
            Issue.record("it was answered")
        } catch NetworkError.invalidStatusCode(let head) {
            #expect(head.status == 503 && head.headers["Retry-After"] == "121" && head.url == server.url("/a"))
        }
        #expect(server.visits.count == 3)
    }

    @Test("Exponential pauses are random below a doubling, limited bound; a seed repeats them")
    func exponentialPausesStayBelowDoublingBound() async {
        func strategy(_ seed: UInt64) -> ExponentialBackoffRetryStrategy {
            ExponentialBackoffRetryStrategy(
                maxRetryCount: 2_000, base: .seconds(2), maximumPause: .seconds(10), random: SplitMix64(seed: seed))
        }
        let (one, same, other) = (strategy(1), strategy(1), strategy(2))
        var highest = [Duration.zero, .zero, .zero, .zero]
        for round in 0..<400 {
            let count = round % 4
            let bound = [Duration.seconds(2), .seconds(4), .seconds(8), .seconds(10)][count]
            let pause = await pause(one, lost, count: count)
            #expect(pause == (await self.pause(same, lost, count: count)))
            #expect(pause.map { $0 >= .zero && $0 < bound } == true)
            highest[count] = max(highest[count], pause ?? .zero)
        }
        // With a hundred draws each, the highest is in the upper tenth except in one of 37,000 runs.
        #expect(zip(highest, [1.8, 3.6, 7.2, 9]).allSatisfy { $0 > .seconds($1) })
        #expect(await pause(one, lost, count: 5) != (await pause(other, lost, count: 5)))
        let late = await pause(one, lost, count: 1_999)
        #expect(late.map { $0 < .seconds(10) } == true)
        #expect(await pause(one, lost, count: 2_000) == nil)
        #expect(await pause(one, NetworkError.tls("no")) == nil)
        // The server's Retry-After is a lower bound.
        let asked = await pause(one, lost, retryAfter: .seconds(30))
        #expect(asked.map { $0 >= .seconds(30) && $0 < .seconds(32) } == true)
        #expect(await pause(one, lost, retryAfter: .seconds(121)) == nil)
    }

    /// A monitor whose state a test sets.
    private struct Monitor: ConnectivityMonitor {
        let state = ConnectivityState()

        init(_ isConnected: Bool) { state.set(isConnected) }

        var isConnected: Bool { get async { await state.known() } }
        func waitUntilConnected() async throws { try await state.waitUntilConnected() }
    }

    @Test("Without a network a load waits and retries at once on connection, within its limits")
    func loadWaitsForConnectivity() async throws {
        let (monitor, clock) = (Monitor(false), ManualClock())
        let strategy = ConnectivityRetryStrategy(
            maxRetryCount: 2, timeout: .seconds(30), monitor: monitor,
            whenConnected: DelayRetryStrategy(maxRetryCount: 5, retryInterval: .seconds(4)), clock: clock)
        let waiting = Task { await pause(strategy, lost) }
        await clock.waitForSleepers(1)
        monitor.state.set(true)
        #expect(await waiting.value == .zero)
        #expect(await waitUntil { clock.sleeperCount == 0 })
        // With a network the other strategy decides, as it does for a status.
        #expect(await pause(strategy, lost) == .seconds(4))
        monitor.state.set(false)
        #expect(await pause(strategy, NetworkError.invalidStatusCode(503, url: fake("a"))) == .seconds(4))
        #expect(await pause(strategy, lost, count: 2) == nil)
        let late = Task { await pause(strategy, lost) }
        await clock.waitForSleepers(1)
        clock.advance(by: 30)
        #expect(await late.value == nil)
        let cancelled = Task { await pause(strategy, lost) }
        await clock.waitForSleepers(1)
        cancelled.cancel()
        #expect(await cancelled.value == nil)
    }

    @Test("No strategy retries a cancellation, also if it waits for a network or asks another one")
    func noStrategyRetriesCancellation() async {
        struct Always: RetryStrategy {
            func decision(for context: RetryContext) async -> RetryDecision { .retry(after: .zero) }
        }
        let strategies: [any RetryStrategy] = [
            DelayRetryStrategy(maxRetryCount: 9), ExponentialBackoffRetryStrategy(maxRetryCount: 9),
            ConnectivityRetryStrategy(monitor: Monitor(false), whenConnected: Always(), clock: ManualClock()),
            ConnectivityRetryStrategy(monitor: Monitor(true), whenConnected: Always(), clock: ManualClock()),
        ]
        let errors: [any Error] = [
            CancellationError(), NetworkError.cancelled, URLError(.cancelled), DisplayError.superseded,
        ]
        for strategy in strategies {
            for error in errors { #expect(await pause(strategy, error) == nil, "\(strategy), \(error)") }
        }
        #expect(await pause(strategies[3], lost) == .zero)
    }

    @Test("A pause that never ends does not retry; a negative one is none, a very long one a century")
    func endlessPauseStops() async {
        func pause(_ interval: DelayRetryStrategy.Interval, count: Int = 1) async -> Duration? {
            await self.pause(DelayRetryStrategy(maxRetryCount: .max, retryInterval: interval), lost, count: count)
        }
        for endless in [Double.infinity, -.infinity, .nan, .signalingNaN] {
            #expect(await pause(.seconds(endless)) == nil)
            #expect(await pause(.accumulated(endless)) == nil)
            #expect(await pause(.custom { _ in endless }) == nil)
        }
        #expect(await pause(.accumulated(.greatestFiniteMagnitude)) == nil)
        #expect(await pause(.seconds(-3)) == .zero)
        #expect(await pause(.seconds(1e300)) == .seconds(3_155_760_000))
        #expect(await pause(.accumulated(2), count: .max - 1) == .seconds(3_155_760_000))
        #expect(await pause(.accumulated(2), count: 2) == .seconds(6))
    }

    @Test("Cancelling ends a load that waits for a network")
    func cancelEndsWaitForConnectivity() async throws {
        let (transport, clock) = (FakeTransport(), ManualClock())
        let downloader = ImageDownloader.test(transport, clock: clock)
        var options = DownloadOptions()
        options.retryStrategy = ConnectivityRetryStrategy(monitor: Monitor(false), clock: clock)
        transport.fail("a", .cannotConnect("No"))
        let load = Task { [options] in
            await networkError { try await downloader.download(fake("a"), options: options) }
        }
        await clock.waitForSleepers(1)
        downloader.cancel(url: fake("a"))
        #expect(await load.value == .cancelled)
    }

    #if !canImport(Network)
        @Test("The system's monitor reads the state again on each change")
        func systemMonitorReadsStateOnChange() async throws {
            var ends: [Int32] = [0, 0]
            #expect(pipe(&ends) == 0)
            let (read, write) = (ends[0], ends[1])
            defer { close(write) }
            #expect(fcntl(read, F_SETFL, O_NONBLOCK) == 0)
            let isConnected = Mutex(false)
            let reads = Mutex(0)
            let monitor = SystemConnectivityMonitor(changes: read) {
                reads.withLock { $0 += 1 }
                return isConnected.withLock { $0 }
            }
            #expect(await monitor.isConnected == false)
            let waiting = Task { try await monitor.waitUntilConnected() }
            isConnected.withLock { $0 = true }
            #expect(reads.withLock { $0 } == 1)
            #expect(Foundation.write(write, "x", 1) == 1)
            try await waiting.value
            #expect(await monitor.isConnected)
            let unneeded = SystemConnectivityMonitor(changes: nil) { false }
            let stopped = Task { try await unneeded.waitUntilConnected() }
            stopped.cancel()
            await #expect(throws: CancellationError.self) { try await stopped.value }
        }

        @Test("The system's monitor knows its state, on Linux by a netlink socket")
        func systemMonitorOpensNetlinkSocket() async throws {
            _ = await SystemConnectivityMonitor.shared.isConnected
            let descriptor = NetworkInterfaces.changes()
            #if os(Linux)
                #expect(descriptor != nil)
            #endif
            guard let descriptor else { return }
            NetworkInterfaces.drain(descriptor)
            close(descriptor)
        }

        @Test(
            "A link-local address is no usable connection",
            arguments: [
                ("192.168.1.7", AF_INET, true), ("169.254.3.4", AF_INET, false), ("169.253.3.4", AF_INET, true),
                ("2001:db8::1", AF_INET6, true), ("fe80::1", AF_INET6, false), ("febf::1", AF_INET6, false),
                ("fec0::1", AF_INET6, true), ("", AF_UNIX, false),
            ])
        func linkLocalAddressIsNotUsable(text: String, family: Int32, isUsable: Bool) {
            var (v4, v6) = (sockaddr_in(), sockaddr_in6())
            _ = inet_pton(AF_INET, text, &v4.sin_addr)
            _ = inet_pton(AF_INET6, text, &v6.sin6_addr)
            let found =
                family == AF_INET6
                ? withUnsafeBytes(of: &v6) { NetworkInterfaces.isUsable($0.baseAddress!, family: family) }
                : withUnsafeBytes(of: &v4) { NetworkInterfaces.isUsable($0.baseAddress!, family: family) }
            #expect(found == isUsable)
        }

        @Test(
            "An interface connects if it is up, running, no loopback and has a usable address",
            arguments: [
                (IFF_UP | IFF_RUNNING, "192.168.1.7", true), (IFF_UP | IFF_RUNNING | IFF_BROADCAST, "10.0.0.1", true),
                (IFF_UP, "192.168.1.7", false), (IFF_RUNNING, "192.168.1.7", false), (0, "192.168.1.7", false),
                (IFF_UP | IFF_RUNNING | IFF_LOOPBACK, "192.168.1.7", false),
                (IFF_UP | IFF_RUNNING, "169.254.3.4", false), (IFF_UP | IFF_RUNNING, nil, false),
            ] as [(Int, String?, Bool)])
        func runningInterfaceWithAddressConnects(flags: Int, text: String?, isConnected: Bool) {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            if let text { _ = inet_pton(AF_INET, text, &address.sin_addr) }
            let found = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    NetworkInterfaces.isConnected(flags: UInt32(flags), address: text == nil ? nil : $0)
                }
            }
            #expect(found == isConnected)
        }
    #endif
}
