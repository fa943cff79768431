import Foundation
import HalcyonEviction
import HalcyonLearning
import HalcyonPrefetch
import HalcyonTestSupport
import Testing

@testable import HalcyonExperiments
@testable import HalcyonSimulation
@testable import HalcyonTrace

/// Varies each input of a replay and requires that the identity of a cell differs wherever the result does.
@Suite("Identities of cells have all that decides a result", .timeLimit(.minutes(20)))
struct IdentityConformanceTests {
    /// An input that varies.
    private enum Input: CaseIterable {
        case seed, labels, keys, recording, times, sizes, users
    }

    /// A run: a job over a trace with labels.
    private struct Run {
        var job: ReplayJob
        var labels = LabelControl.given
        var trace: Trace

        var identity: CellIdentity { CellIdentity(job, labels: labels, requests: RequestIdentity(trace)) }

        /// The counts that a stored cell has.
        func counts() throws -> [Int] {
            let result = try job.run(over: ReplayInput(labels.applied(to: trace)))
            return [result.hits, result.evictions, result.prefetch?.fetched ?? 0, result.prefetch?.used ?? 0]
        }

        /// Returns the run with another value of one input.
        func varied(_ input: Input, by folder: TemporaryFolder) throws -> [Run] {
            var other = self
            switch input {
            case .seed:
                return (2...4 as ClosedRange<UInt64>).map { seed in
                    other.job.options.seed = seed
                    return other
                }
            case .labels: other.labels = .without
            case .keys: other.trace = try Self.trace(in: folder, key: { 3 * $0 })
            case .recording: other.trace.recording = Self.recording(every: 7, fetch: 40_000_000)
            case .times: other.trace = try Self.trace(in: folder, time: { $0 * 240 })
            case .sizes: other.trace = try Self.trace(in: folder, size: { 1 + $0 % 7 })
            case .users: other.trace = try Self.trace(in: folder, user: { $0 % 5 })
            }
            if input != .recording { other.trace.recording = trace.recording }
            return [other]
        }

        /// Requests of 10 users for 60 objects in 6 categories, in visits of 30 requests.
        static func trace(
            in folder: TemporaryFolder, key: (Int) -> Int = { $0 }, time: (Int) -> Int = { $0 },
            size: (Int) -> Int = { 1 + $0 % 3 }, user: (Int) -> Int = { $0 % 10 }
        ) throws -> Trace {
            var state: UInt64 = 99
            var (text, clock) = ("time,key,size,category,user\n", 0)
            for number in 0..<6_000 {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                let draw = Int(state >> 40)
                let owner = user(number / 30)
                // Each user prefers a few objects, and follows some by the next number.
                let object = draw % 3 == 0 ? (owner * 7 + draw / 3 % 9) % 60 : (number * 13 / 7 + owner) % 60
                clock += time(number % 30 == 0 ? 3_600 : 1 + draw % 4)
                text += "\(clock),\(key(object)),\(size(object)),c\(object % 6),u\(owner)\n"
            }
            var options = TraceLoadOptions()
            options.names = [.keys]
            return try Trace.load(folder.file("\(UUID()).csv", text), options)
        }

        static func recording(every step: Int, fetch duration: Int64) -> TraceRecording {
            let events = (0..<100).map { number in
                TraceRecording.Event(
                    position: number * step, time: Int64(number), kind: number % 2 == 0 ? .prefetchStart : .prefetchEnd,
                    object: UInt32(number / 2 % 60), user: 0, size: 1)
            }
            return TraceRecording(events: events, fetches: MeasuredFetches([0: [duration]]))
        }
    }

    /// Requires for one job that each varied input that moves a count also moves the identity. Returns the inputs that
    /// moved a count.
    private func check(_ job: ReplayJob, _ name: String, recorded: Bool) throws -> Set<Input> {
        let folder = try TemporaryFolder()
        var trace = try Run.trace(in: folder)
        if recorded { trace.recording = Run.recording(every: 5, fetch: 2_000_000) }
        let run = Run(job: job, trace: trace)
        let counts = try run.counts()
        var moved: Set<Input> = []
        for input in Input.allCases where input != .recording || recorded {
            for other in try run.varied(input, by: folder) where try other.counts() != counts {
                moved.insert(input)
                #expect(
                    other.identity.hash != run.identity.hash, "\(name) depends on the \(input), its identity does not")
            }
        }
        return moved
    }

    @Test("Eviction policies", arguments: PolicyCatalogue.standard.entries.map(\.info.name))
    func evictionPolicies(name: String) throws {
        let policy = try PolicyCatalogue.standard.policy(name)
        let moved = try check(ReplayJob(policy: policy, capacity: .number(40)), name, recorded: false)
        // A declared trait is not vacuous, so that the check above can fail.
        if name == "random" || name == "learned" { #expect(moved.contains(.seed)) }
    }

    @Test("Prefetch policies", arguments: PrefetchCatalogue.entries.map(\.name) + [PrefetchOptions.recordedName])
    func prefetchPolicies(name: String) throws {
        var options = ReplayOptions()
        options.prefetch = try PrefetchOptions(policy: name, budget: PrefetchBudget(parsing: "2/request"))
        let needsLists = options.prefetch?.traits.contains(.usesAnnouncements) == true
        if needsLists { options.announcements = AnnouncementOptions(count: 9) }
        for mode in needsLists ? [ReplayMode.perUser] : [.perUser, .shared] {
            let job = ReplayJob(
                policy: try PolicyCatalogue.standard.policy("lru"), capacity: .number(20), mode: mode, options: options)
            let moved = try check(job, "\(name), \(mode)", recorded: true)
            if name == "next-key" { #expect(moved.contains(.keys)) }
            if name == PrefetchOptions.recordedName { #expect(moved.contains(.recording)) }
            if name.hasPrefix("planner"), mode == .perUser { #expect(moved.contains(.seed)) }
            if name == "category-popular" { #expect(moved.contains(.labels)) }
        }
    }

    @Test("Announcements that move the counts of a device are part of the identity")
    func announcementsArePartOfTheIdentity() throws {
        var options = ReplayOptions(announcements: AnnouncementOptions(count: 9))
        options.prefetch = try PrefetchOptions(policy: "announced", budget: PrefetchBudget(parsing: "2/request"))
        let folder = try TemporaryFolder()
        let run = Run(
            job: ReplayJob(
                policy: try PolicyCatalogue.standard.policy("lru"), capacity: .number(20), mode: .perUser,
                options: options),
            trace: try Run.trace(in: folder))
        var hashes: Set = [run.identity.hash]
        for other in [
            AnnouncementOptions(count: 4), AnnouncementOptions(count: 9, period: 7_200_000_000),
        ] {
            var varied = run
            varied.job.options.announcements = other
            #expect(try varied.counts() != run.counts())
            #expect(hashes.insert(varied.identity.hash).inserted)
        }
        for other in [AnnouncementOptions(count: 9, hasCounts: true), AnnouncementOptions(count: 9, entryBytes: 8)] {
            var varied = run
            varied.job.options.announcements = other
            #expect(hashes.insert(varied.identity.hash).inserted)
        }
    }

    @Test("Device knowledge and server knowledge of a prefetch policy are two cells")
    func knowledgeIsPartOfTheIdentity() throws {
        var options = ReplayOptions()
        options.prefetch = try PrefetchOptions(policy: "markov", budget: PrefetchBudget(parsing: "2/request"))
        let folder = try TemporaryFolder()
        let run = Run(
            job: ReplayJob(
                policy: try PolicyCatalogue.standard.policy("lru"), capacity: .number(20), mode: .perUser,
                knowledge: .server, options: options),
            trace: try Run.trace(in: folder))
        var own = run
        own.job.knowledge = .device
        #expect(try own.counts() != run.counts())
        #expect(own.identity.hash != run.identity.hash)
    }

    @Test("planner(visits=on) runs with each seed and with each label control of a suite")
    func visitPlannerHasSeedsAndLabels() throws {
        func jobs(_ fields: String) throws -> Int {
            let text = """
                schema: halcyon.suite/1
                traces: [a.csv]
                experiments:
                  - {name: one, modes: per_user, policies: lru, capacities: 20, prefetch: planner(visits=on), \(fields)}
                """
            return try Suite(parsing: text, file: "a.yml").jobs(onTrace: "a").count
        }
        #expect(try jobs("seeds: 5") == 5)
        #expect(try jobs("seeds: [2]") == 1)
        #expect(try jobs("labels: [without]") == 1)
    }
}
