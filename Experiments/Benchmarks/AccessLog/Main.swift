import Foundation
import HalcyonAccessLog
import Synchronization

/// What an access log costs who records, and how many accesses a second it takes: `make bench-log`.
///
/// Accesses are drawn before anything is timed: 100,000 keys of 50 bytes, skewed, 40 sets of categories, 500 users.
///
/// With `HALCYON_BENCH_SHORT` in the environment it does a little of everything, to see that it works; the figures mean nothing.
@main
struct Main {
    static func main() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("halcyon-bench-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let workload = Workload()
        print("| measured | figure | floor |\n|---|--:|--:|")
        for threads in [1, 4] {
            let cost = try await callerCost(workload, threads: threads, folder)
            print("| a call of record, \(threads) thread\(threads > 1 ? "s" : ""), mean | \(cost) ns | 1,000 ns |")
        }
        let calls = try await slowestCalls(workload, folder)
        print("| … 99 %, 99.9 %, slowest of 1,000,000 at 200,000/s | \(calls) ns | |")
        for keys in [AccessLog.KeyStorage.hashed, .raw] {
            let rate = try await sustained(workload, keys, folder)
            print("| written in a row, \(keys) keys, 3,000,000 accesses | \(rate) | 200,000/s |")
        }
        print("| read by AccessLogReader | \(try await reading(workload, folder)) | |")
    }

    private static let isShort = ProcessInfo.processInfo.environment["HALCYON_BENCH_SHORT"] != nil

    static func log(_ folder: URL, _ change: (inout AccessLog.Configuration) -> Void = { _ in }) -> AccessLog {
        var configuration = AccessLog.Configuration()
        change(&configuration)
        return AccessLog(path: folder.appendingPathComponent("\(UUID().uuidString).sqlite").path, configuration)
    }

    /// Nanoseconds of processor time that a call takes, over ten rounds of 100,000 that never meet the limit; the writer works meanwhile.
    static func callerCost(_ workload: Workload, threads: Int, _ folder: URL) async throws -> Int {
        let log = log(folder)
        var rounds: [Double] = []
        for round in 0..<(isShort ? 2 : 10) {
            let each = 100_000 / threads
            let spent = Mutex(0)
            DispatchQueue.concurrentPerform(iterations: threads) { thread in
                let first = round * 100_000 + thread * each
                let start = processorNanoseconds()
                for number in first..<first + each { workload.record(number, in: log) }
                let nanoseconds = processorNanoseconds() - start
                spent.withLock { $0 += nanoseconds }
            }
            rounds.append(Double(spent.withLock { $0 }) / Double(each * threads))
            try await log.flush()
        }
        try await log.close()
        precondition(log.statistics.lostCount == 0)
        return Int(rounds.sorted()[rounds.count / 2])
    }

    /// What this thread, or this process, has used of processors.
    static func processorNanoseconds(_ clock: clockid_t = CLOCK_THREAD_CPUTIME_ID) -> Int {
        var time = timespec()
        clock_gettime(clock, &time)
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }

    /// Single calls, a million of them, five microseconds apart.
    static func slowestCalls(_ workload: Workload, _ folder: URL) async throws -> String {
        let log = log(folder)
        var nanoseconds = [Int](repeating: 0, count: isShort ? 50_000 : 1_000_000)
        let start = ContinuousClock.now
        for number in nanoseconds.indices {
            let due = start + .microseconds(5) * number
            while ContinuousClock.now < due {}
            let before = ContinuousClock.now
            workload.record(number, in: log)
            nanoseconds[number] = Int((ContinuousClock.now - before) / .nanoseconds(1))
        }
        try await log.close()
        nanoseconds.sort()
        let figures = [0.99, 0.999, 1].map {
            nanoseconds[min(Int(Double(nanoseconds.count) * $0), nanoseconds.count - 1)]
        }
        return figures.map(String.init).joined(separator: ", ") + " (\(log.statistics.lostCount) lost)"
    }

    /// Accesses a second from the first record to the last in the file, as fast as the log takes them without losing any,
    /// under the default bounds, so that two thirds are removed again on the way.
    static func sustained(_ workload: Workload, _ keys: AccessLog.KeyStorage, _ folder: URL) async throws -> String {
        let log = log(folder) { $0.keys = keys }
        let count = isShort ? 100_000 : 3_000_000
        let start = ContinuousClock.now
        let spent = processorNanoseconds(CLOCK_PROCESS_CPUTIME_ID)
        for number in 0..<count {
            if number % 1_024 == 0 {
                while log.statistics.waiting > 65_536 { try await Task.sleep(for: .milliseconds(1)) }
            }
            workload.record(number, in: log)
        }
        try await log.flush()
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        precondition(log.statistics.lostCount == 0 && log.statistics.written == count)
        try await log.close()
        let each = (processorNanoseconds(CLOCK_PROCESS_CPUTIME_ID) - spent) / count
        return "\(Int(Double(count) / seconds))/s, \(each) ns of processor time each"
    }

    static func reading(_ workload: Workload, _ folder: URL) async throws -> String {
        let log = log(folder)
        for number in 0..<(isShort ? 50_000 : 500_000) {
            if number % 100_000 == 0 { try await log.flush() }
            workload.record(number, in: log)
        }
        try await log.close()
        let start = ContinuousClock.now
        let reader = try AccessLogReader(path: log.path)
        var count = 0
        while true {
            let batch = try reader.next()
            if batch.isEmpty { break }
            count += batch.count
        }
        return "\(Int(Double(count) / ((ContinuousClock.now - start) / .seconds(1))))/s"
    }
}

/// Accesses drawn in advance.
struct Workload: Sendable {
    private let keys = (0..<100_000).map { "https://images.example.org/catalogue/\(100_000_000 + $0).jpg" }
    private let sets = (0..<40).map { ["category \($0)", "category \($0 % 7)"] }
    private let users = (0..<500).map { "user \($0)" }
    private let order: [Int32]

    init() {
        var state: UInt64 = 1
        order = (0..<1_048_576).map { _ in
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let share = Double(state >> 11) / Double(1 << 53)
            return Int32(100_000 * share * share * share)
        }
    }

    @inline(__always)
    func record(_ number: Int, in log: AccessLog) {
        let object = Int(order[number & 1_048_575])
        log.record(
            keys[object], cost: 40_000, categories: sets[object % 40], outcome: .memory, user: users[number % 500])
    }
}
