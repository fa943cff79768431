import HalcyonEviction
import HalcyonPrefetch
import HalcyonTraceTestSupport
import HalcyonTrace
import Testing

@testable import HalcyonLearning
@testable import HalcyonSimulation

@Suite("Notes on the limits of learners", .timeLimit(.minutes(20)))
struct LimitNotesTests {
    private func run(
        _ policy: String, capacity: Int = 5, mode: ReplayMode = .shared, knowledge: Knowledge = .device,
        prefetch: String? = nil, requests: Int = 400, objects: UInt32 = 40
    ) throws -> (RunResult, TraceSummary) {
        let trace = TinyTraces.scrambled(count: requests, objects: objects, users: 3)
        let options = try prefetch.map {
            try PrefetchOptions(policy: $0, budget: PrefetchBudget(parsing: "1/request"), latency: .ideal)
        }
        let job = ReplayJob(
            policy: try PolicyCatalogue.standard.policy(policy), capacity: .number(capacity), mode: mode,
            knowledge: knowledge,
            options: ReplayOptions(prefetch: options))
        return (try job.run(over: ReplayInput(trace)), TraceSummary(trace, path: "t.csv"))
    }

    private func notes(
        _ run: RunResult, _ summary: TraceSummary, users: Int = 3, objects: Int = 40, categories: Int = 0
    ) -> [String] {
        var summary = summary
        (summary.users, summary.objects, summary.categories) = (users, objects, categories)
        return LimitNotes.sentences(for: run, trace: summary)
    }

    @Test("learned: a note names more users or categories than its tables have places for")
    func learnedNotesMoreUsersOrCategoriesThanPlaces() throws {
        let (run, summary) = try run("learned")
        #expect(notes(run, summary, users: 16_384, objects: 1 << 30, categories: 16_384).isEmpty)
        let users = notes(run, summary, users: 16_385)
        #expect(users.count == 1 && users[0].contains("16,384 users") && users[0].contains("16,385"))
        let categories = notes(run, summary, categories: 16_385)
        #expect(categories.count == 1 && categories[0].contains("16,384 categories"))
        // The own model of a user's cache sees one user.
        let (own, ownSummary) = try self.run("learned", mode: .perUser, knowledge: .device)
        #expect(notes(own, ownSummary, users: 100_000).isEmpty)
        let (shared, sharedSummary) = try self.run("learned", mode: .perUser, knowledge: .server)
        #expect(notes(shared, sharedSummary, users: 100_000).count == 1)
        let (lru, lruSummary) = try self.run("lru")
        #expect(notes(lru, lruSummary, users: 1 << 30, objects: 1 << 30, categories: 1 << 30).isEmpty)
    }

    /// The window of a cache of 200 objects is at least 208 requests; 2.5 samples each are within 32,000. A cache of 40,000
    /// objects has a window of tens of thousands.
    @Test("learned: in a large cache a note names samples that were not taken")
    func learnedNotesFewerSamplesInALargeCache() throws {
        let (small, summary) = try run("learned", capacity: 200, requests: 4_000, objects: 2_000)
        #expect(small.metrics["samples_not_taken"] == 0 && small.metrics["training_samples"] ?? 0 > 0)
        #expect(notes(small, summary).isEmpty)
        let (large, largeSummary) = try run("learned", capacity: 40_000, requests: 40_000, objects: 200_000)
        let missing = try #require(large.metrics["samples_not_taken"])
        #expect(missing > 0)
        let sentences = notes(large, largeSummary)
        #expect(sentences.count == 1 && sentences[0].contains("32,000 wait"), "\(sentences)")
    }

    @Test("planner: a note names more objects, users or categories than it distinguishes")
    func plannerNotesMoreThanItDistinguishes() throws {
        let (run, summary) = try run("lru", prefetch: "planner(price=0.05)")
        #expect(notes(run, summary, users: 1 << 20 - 1, objects: 1 << 22, categories: 1 << 16).isEmpty)
        #expect(notes(run, summary, objects: 1 << 22 + 1).count == 1)
        #expect(notes(run, summary, users: 1 << 20).count == 1)
        #expect(notes(run, summary, categories: 1 << 16 + 1).count == 1)
        let all = notes(run, summary, users: 1 << 21, objects: 1 << 23, categories: 1 << 17)
        #expect(all.count == 3 && all.allSatisfy { $0.hasPrefix("planner ") && $0.hasSuffix(".") })
    }

    @Test("The baselines of prefetching have their own limits")
    func prefetchBaselinesHaveTheirOwnLimits() throws {
        for (name, count) in [("popular", 1), ("mithril", 1), ("markov", 1), ("category-popular", 3), ("next-key", 0)] {
            let (run, summary) = try run("lru", prefetch: name)
            let sentences = notes(run, summary, users: 1 << 23, objects: 1 << 25, categories: 1 << 17)
            #expect(sentences.count == count, "\(name): \(sentences)")
            #expect(notes(run, summary).isEmpty)
        }
    }

    @Test("A note that holds for several runs appears once")
    func noteForSeveralRunsAppearsOnce() throws {
        let (run, summary) = try run("learned")
        var many = summary
        many.users = 20_000
        #expect(LimitNotes.sentences(for: [run, run], trace: many).count == 1)
    }

    /// Both users have the same place in the table of 2¹⁴.
    @Test("Users whose numbers share a place replace each other")
    func usersThatShareAPlaceReplaceEachOther() {
        var profiles = UserProfiles(users: UInt32(LearnedPolicy.userBound), pairs: 64)
        let other = UInt32(LearnedPolicy.userBound)
        [UInt32(1)].withUnsafeBufferPointer { members in
            for user: UInt32 in [0, other - 1, other] {
                profiles.note(Access(entry: 0, user: user), isRepeat: false, members: members, now: 1, second: 0)
            }
        }
        let known = [0, other - 1, other].map { profiles.profile(of: $0) != nil }
        #expect(known == [false, true, true])
    }
}
