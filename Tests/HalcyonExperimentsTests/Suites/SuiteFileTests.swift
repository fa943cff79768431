import Foundation
import HalcyonEviction
import HalcyonLearning
import HalcyonSimulation
import HalcyonTestSupport
import Testing

@testable import HalcyonExperiments

@Suite("Suites: the file", .timeLimit(.minutes(20)))
struct SuiteFileTests {
    private static let text = """
        schema: halcyon.suite/1
        description: Two traces.
        traces:
          - a.csv.zst
          - {path: "${HALCYON_TEST_FOLDER}/b.csv", name: other, limit: 100, skip: 7, sizes: unit, columns: key=item, preset: meta-cdn, sort: true, shuffle: 4, open_delay: 500ms}
          - {path: c.tr, columns: "time=1,key=2", header: no, delimiter: " ", format: csv, time_unit: ms, use_ttl: true, then: [d.tr, "${HALCYON_TEST_FOLDER}/e.tr"]}
        experiments:
          - name: one
            policies: [lru, {policy: "s3-fifo(ghost=1)", grid: {small: [0.05, 0.2]}}, learned, kingfisher]
            capacities: [1%, 10..1000:3]
            seeds: 2
            labels: [given, without, "permuted within=age,popularity"]
            permutations: 2
            warmup: 0.25
          - name: two
            traces: other
            modes: [shared, per_user]
            policies: [learned]
            knowledge: [server, device]
            tiers: [{memory: 5, disk: 50, disk_policy: lru, memory_lifetime: 300s, latency: "network=200"}]
            prefetch: [none, {policy: popular, budget: 1/request, latency: 2s}]
        """

    @Test("Every field of a suite is read")
    func everyFieldOfASuiteIsRead() throws {
        let suite = try Suite(parsing: Self.text, file: "x/tiny.yml")
        #expect(suite.name == "tiny")
        #expect(suite.description == "Two traces.")
        #expect(suite.traces.map(\.name) == ["a", "other", "c"])
        let headerless = suite.traces[2]
        #expect(headerless.header == .no && headerless.delimiter == 32 && headerless.format == .csv)
        #expect(headerless.columns == "time=1,key=2" && headerless.timeUnit == .milliseconds)
        #expect(headerless.usesLifetimes)
        #expect(headerless.then == ["d.tr", "${HALCYON_TEST_FOLDER}/e.tr"])
        var other = TraceReference(path: "${HALCYON_TEST_FOLDER}/b.csv", name: "other")
        (other.limit, other.skip, other.sizes, other.columns) = (100, 7, "unit", "key=item")
        (other.sort, other.preset) = (true, .metaCDN)
        (other.shuffle, other.openDelay) = (4, 500_000)
        #expect(suite.traces[1] == other)
        let one = suite.experiments[0]
        #expect(one.capacities.map(\.description) == ["1%", "10", "100", "1000"])
        #expect(one.warmup == 0.25)
        #expect(
            one.labels.map(\.description) == [
                "given", "without", "permuted within=popularity,age #1", "permuted within=popularity,age #2",
            ])
        let two = suite.experiments[1]
        #expect(two.traces == ["other"])
        #expect(two.tiers[0].memoryLifetime == 300_000_000)
        #expect(two.tiers[0].latency.network == 200)
        #expect(two.tiers[0].diskPolicy?.label == "lru")
        #expect(two.prefetch.map { $0?.latency } == [nil, .fixed(2_000_000)])
    }

    @Test("An experiment is every combination once, without combinations that cannot differ")
    func experimentIsEveryDistinctCombinationOnce() throws {
        let suite = try Suite(parsing: Self.text, file: "tiny.yml")
        let first = suite.jobs(onTrace: "a")
        // Four policies that are not random and ignore categories, and the learner with 4 labels and 2 seeds.
        #expect(first.count == 4 * (1 + 2 + 1) + 4 * 4 * 2)
        #expect(
            Set(first.map(\.job.label)) == [
                "lru", "s3-fifo(ghost=1,small=0.05)", "s3-fifo(ghost=1,small=0.2)", "learned", "kingfisher",
            ])
        #expect(first.filter { $0.job.label == "lru" }.allSatisfy { $0.labels == .given })
        // Shared: 2 kinds of prefetching. Per user: 2 kinds of knowledge, 2 kinds of prefetching.
        let second = suite.jobs(onTrace: "other").dropFirst(first.count)
        #expect(second.count == 2 + 4)
        let all = suite.jobs(onTrace: "other").map {
            CellIdentity($0.job, labels: $0.labels, requests: RequestIdentity(fingerprint: "f")).hash
        }
        #expect(Set(all).count == all.count)
    }

    @Test("Announcements are for the prefetch policies of devices: the other runs are there once")
    func announcementsAreForDevices() throws {
        let text = """
            schema: halcyon.suite/1
            traces: [a.csv]
            experiments:
              - {name: one, modes: [shared, per_user], knowledge: [device, server], policies: [lru, learned], capacities: 20,
                 prefetch: [none, markov], announce: [none, "popular(count=5)", "popular(count=6, counts=on)"]}
            """
        let jobs = try Suite(parsing: text, file: "a.yml").jobs(onTrace: "a")
        // Shared: 2 policies, with and without prefetching. Per user: lru without, learned with either knowledge; markov of a
        // server under each, and of devices under each with 3 announcements.
        #expect(jobs.count == 4 + 3 + 2 + 6)
        let identities = jobs.map {
            CellIdentity($0.job, labels: $0.labels, requests: RequestIdentity(fingerprint: "f"))
        }
        #expect(Set(identities.map(\.hash)).count == jobs.count)
        #expect(identities.count { $0.announce == "popular(count=6,every=1h,counts=on,entry-bytes=64)" } == 2)
        #expect(identities.allSatisfy { $0.announce == nil || $0.knowledge == .device && $0.prefetch != nil })
    }

    @Test("Restarts are part of a cell's identity, only where they are set")
    func restartsArePartOfTheIdentity() throws {
        func jobs(_ restart: String) throws -> [SuiteJob] {
            let text = """
                schema: halcyon.suite/1
                traces: [a.csv]
                experiments:
                  - {name: one, modes: per_user, policies: [lru, learned], capacities: 20\(restart)}
                """
            return try Suite(parsing: text, file: "a.yml").jobs(onTrace: "a")
        }
        func identities(_ restart: String) throws -> [CellIdentity] {
            try jobs(restart).map {
                CellIdentity($0.job, labels: $0.labels, requests: RequestIdentity(fingerprint: "f"))
            }
        }
        let (without, with, few) = (
            try identities(""), try identities(", restart: visits"), try identities(", restart: visits(calls=99)")
        )
        #expect(
            without.allSatisfy {
                $0.restart == nil && !String(decoding: $0.canonicalJSON, as: UTF8.self).contains("restart")
            })
        #expect(
            with.map(\.restart) == ["visits", "visits"]
                && few.map(\.restart) == ["visits(calls=99)", "visits(calls=99)"])
        #expect(Set((without + with + few).map(\.hash)).count == 6)
        #expect(throws: ReplayError.self) { try jobs(", restart: days") }
    }

    @Test("Models are trained for policies of devices that begin with one, never on the replayed trace")
    func pretrainingIsForDevices() throws {
        func jobs(_ fields: String, onTrace trace: String) throws -> [SuiteJob] {
            let text = """
                schema: halcyon.suite/1
                traces: [a.csv, b.csv, c.csv]
                experiments:
                  - {name: one, modes: [shared, per_user], knowledge: [device, server], capacities: 20,
                     policies: [lru, learned, learned(model=shipped)], \(fields)}
                """
            return try Suite(parsing: text, file: "a.yml").jobs(onTrace: trace)
        }
        let pretrain = "pretrain: [none, other-users, 'a, b']"
        let plain = try jobs("prefetch: none", onTrace: "a")
        let found = try jobs(pretrain, onTrace: "a")
        // The learner with device knowledge has two more rows.
        #expect(found.count == plain.count + 2)
        #expect(found.compactMap(\.job.pretraining) == [.otherUsers, .traces(["b"])])
        #expect(try jobs(pretrain, onTrace: "c").compactMap(\.job.pretraining).last == .traces(["a", "b"]))
        func identities(_ jobs: [SuiteJob], _ fingerprint: String) -> [CellIdentity] {
            var requests = RequestIdentity(fingerprint: "f")
            requests.others = ["b": fingerprint]
            return jobs.map { CellIdentity($0.job, labels: $0.labels, requests: requests) }
        }
        let hashes = Set(identities(found, "x").map(\.hash))
        #expect(hashes.isSuperset(of: identities(plain, "x").map(\.hash)) && hashes.count == found.count)
        #expect(identities(found, "x").compactMap(\.pretrain) == ["other-users", "b"])
        // Other requests of the trace to train on are another cell.
        #expect(Set(identities(found, "y").map(\.hash)).subtracting(hashes).count == 1)
        for fields in ["pretrain: d", "pretrain: a", "pretrain: []", "pretrain: 'other-users,a'"] {
            #expect(throws: ReplayError.self) { try jobs(fields, onTrace: "a") }
        }
    }

    @Test("A path is relative to the suite and can name environment variables")
    func pathIsRelativeAndExpandsVariables() throws {
        let suite = try Suite(parsing: Self.text, file: "/x/y/tiny.yml")
        #expect(try suite.traces[0].resolvedPath(inFileAt: suite.path) == "/x/y/a.csv.zst")
        #expect(
            throws: ReplayError.data(
                "${HALCYON_TEST_FOLDER}/b.csv: the environment variable HALCYON_TEST_FOLDER is not set.")
        ) { try suite.traces[1].resolvedPath(inFileAt: suite.path) }
    }

    @Test(
        "An invalid suite gives one sentence with line and column",
        arguments: [
            ("", "s.yml: is empty; a YAML file of a suite is needed."),
            ("schema: x\n", "s.yml:1:9: the schema 'x' is not known: it is halcyon.suite/1."),
            ("schema: halcyon.suite/1\n", "s.yml:1:1: A suite needs 'traces'."),
            (
                "schema: halcyon.suite/1\ntraces: []\n", "s.yml:2:9: 'traces' needs at least one trace."
            ),
            (
                "schema: halcyon.suite/1\ntraces: [a.csv, b/a.csv]\n",
                "s.yml:2:17: the trace 'a' is given twice: give one of them another 'name'."
            ),
            (
                "schema: halcyon.suite/1\ntraces: [{path: a.csv, limits: 1}]\n",
                "s.yml:2:24: A trace has no 'limits': accepted are path, name, then, sizes, columns, header, delimiter, "
                    + "format, time_unit, use_ttl, preset, block_size, count_writes, limit, skip, sort, shuffle, "
                    + "open_delay, join_lists, openings_only, warmup_trace."
            ),
            (
                "schema: halcyon.suite/1\ntraces: [a.csv]\nexperiments: []\n",
                "s.yml:3:14: 'experiments' needs at least one experiment."
            ),
        ])
    func invalidSuiteIsOneSentenceWithLineAndColumn(text: String, sentence: String) {
        #expect(throws: ReplayError.data(sentence)) { try Suite(parsing: text, file: "s.yml") }
    }

    @Test(
        "An invalid experiment gives one sentence with line and column",
        arguments: [
            ("policies: [lru]", "5:5: an experiment needs 'capacities' or 'tiers'."),
            (
                "policies: [lru], capacities: few",
                "5:44: 'few' is not a capacity: write a share (1%), a size with a unit (64MB) or a whole number (1000)."
            ),
            (
                "policies: [lru], capacities: 1, tiers: [{memory: 1, disk: 2}]",
                "5:54: 'tiers' state their capacities: leave out 'capacities' or 'tiers'."
            ),
            ("policies: [], capacities: 1", "5:5: an experiment needs at least one policy."),
            ("policies: lru(x=1), capacities: 1", "5:25: lru has no parameter 'x': it has none at all."),
            (
                "policies: {policy: s3-fifo, grid: {small: [2]}}, capacities: 1",
                "5:49: s3-fifo cannot take small=2: small is a number from 0.0 to 1.0."
            ),
            ("policies: lru, capacities: 1, modes: phone", "5:52: 'phone' is not a mode: write shared or per_user."),
            (
                "policies: lru, capacities: 1, modes: []",
                "5:52: the list is empty: give at least one value, or leave it out."
            ),
            (
                "policies: lru, capacities: 1, seeds: 0",
                "5:52: '0' is not a number of seeds: write a whole number of at least 1."
            ),
            ("policies: lru, capacities: 1, seeds: [1, 1]", "5:56: the seed 1 is given twice; give it once."),
            ("policies: lru, capacities: 1, traces: [c]", "5:54: the suite has no trace 'c': it has a."),
            (
                "policies: lru, capacities: 1, labels: wrong",
                "5:53: 'wrong' does not name labels: write given, without, or a permutation such as permuted uniform #1."
            ),
            (
                "policies: lru, capacities: 1, traces: []",
                "5:53: the list is empty: give at least one value, or leave it out."
            ),
            (
                "policies: lru, capacities: 1, labels: []",
                "5:53: the list is empty: give at least one value, or leave it out."
            ),
            (
                "policies: learned, capacities: 1, prefetch: []",
                "5:59: the list is empty: give at least one value, or leave it out."
            ),
            ("policies: lru, capacities: []", "5:42: the list is empty: give at least one capacity."),
            ("policies: lru, tiers: []", "5:5: an experiment needs 'capacities' or 'tiers'."),
            (
                "policies: [lru, fifo], capacities: 1, labels: without",
                "5:61: the experiment has no run: labels other than 'given' are for runs that look at categories."
            ),
            (
                "policies: lru, capacity: 1",
                "5:30: An experiment has no 'capacity': accepted are name, traces, modes, policies, capacities, tiers, knowledge, "
                    + "prefetch, announce, pretrain, restart, seeds, labels, permutations, warmup, limits."
            ),
            (
                "policies: {policy: s3-fifo, gird: {small: 1}}, capacities: 1",
                "5:43: A policy with a grid has no 'gird': accepted are policy, grid."
            ),
            (
                "policies: lru, tiers: {memory: 1, disc: 2}",
                "5:49: Two tiers has no 'disc': accepted are memory, disk, memory_policy, disk_policy, memory_lifetime, "
                    + "disk_lifetime, latency, decoded_size_ratio."
            ),
            (
                "policies: lru, capacities: 1, prefetch: {policy: popular, budgets: 1}",
                "5:73: Prefetching has no 'budgets': accepted are policy, budget, latency."
            ),
            (
                "policies: lru, capacities: 1, limits: [{policy: lru, flor: 0}]",
                "5:68: A limit has no 'flor': accepted are policy, trace, mode, capacity, floor, byte_floor, "
                    + "highest_latency_ms, baseline, highest_loss."
            ),
            ("policies: lru, capacities: 1, permutations: 3", "5:59: 'permutations' needs 'labels' that are permuted."),
            (
                "policies: lru, capacities: 1, announce: popular(count=0)",
                "5:55: count=0 is no number of entries of a list: give 1 to 10000."
            ),
            (
                "policies: lru, capacities: 1, knowledge: every",
                "5:56: 'every' is no knowledge: write one of device, server."
            ),
            (
                "policies: lru, capacities: 1, prefetch: {policy: popular, latency: soon}",
                "5:82: 'soon' is not a duration: write a number with ms, s, min, h, d or w (300s)."
            ),
        ])
    func invalidExperimentIsOneSentenceWithLineAndColumn(fields: String, sentence: String) {
        let text = "schema: halcyon.suite/1\ntraces:\n  - a.csv\nexperiments:\n  - {name: x, \(fields)}\n"
        #expect(throws: ReplayError.data("s.yml:\(sentence)")) { try Suite(parsing: text, file: "s.yml") }
    }

    @Test("The suites that the README shows can be read, with every field that it names")
    func readmeSuites() throws {
        let page = packageFolder.appending(path: "Experiments/suites/README.md")
        let text = try String(contentsOf: page, encoding: .utf8)
        let suites = try text.components(separatedBy: "```yaml\n").dropFirst()
            .compactMap { $0.components(separatedBy: "```").first }.filter { $0.hasPrefix("schema: \(Suite.schema)\n") }
            .map { try Suite(parsing: $0, file: page.path) }
        #expect(suites.count == 2)
        #expect(suites.map { $0.experiments.flatMap(\.jobs).isEmpty } == [false, false])
        #expect(suites.last?.experiments.first?.limits.count == 2)
    }

    @Test("Labels are parsed from their description")
    func labelsAreParsedFromTheirDescription() throws {
        for text in ["given", "without", "permuted uniform #12", "permuted within=popularity,age,size #1"] {
            #expect(try LabelControl(parsing: text).description == text)
        }
        for text in ["", "permuted uniform", "permuted uniform #0", "permuted within=colour #1", "Given"] {
            #expect(throws: ReplayError.self) { try LabelControl(parsing: text) }
        }
    }

    @Test("The shards of a suite are disjoint and complete")
    func shardsOfASuiteAreDisjointAndComplete() throws {
        let hashes = (0..<500).map { number in
            var identity = CellIdentity(
                ReplayJob(policy: ConfiguredPolicy(LRU.self), capacity: .number(number + 1)), labels: .given,
                requests: RequestIdentity(fingerprint: "0"))
            identity.resultVersion = 2
            return identity.hash
        }
        for count in [1, 2, 3, 7] {
            let parts = try (1...count).map { part in
                let shard = try Shard(parsing: "\(part)/\(count)")
                return hashes.filter { shard.contains($0) }
            }
            #expect(parts.flatMap { $0 }.sorted() == hashes.sorted())
            #expect(parts.allSatisfy { $0.count > 500 / count / 2 })
        }
        for text in ["", "1", "0/2", "3/2", "1/0", "a/b", "1/2/3", "-1/2"] {
            #expect(throws: ReplayError.self) { try Shard(parsing: text) }
        }
    }
}
