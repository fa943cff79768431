import HalcyonSimulation
import Testing

@testable import HalcyonExperiments

@Suite("Limits in a suite", .timeLimit(.minutes(20)))
struct RunLimitTests {
    private func suite(
        _ limits: String, _ fields: String = "policies: [lru, 's3-fifo(small=0.2)']\n    capacities: [1%, 64MB]"
    )
        throws -> Suite
    {
        try Suite(
            parsing:
                "schema: halcyon.suite/1\ntraces: [a.csv, b.csv]\nexperiments:\n  - name: x\n    \(fields)\n    limits:\n      "
                + limits.split(separator: "\n").joined(separator: "\n      ") + "\n", file: "s.yml")
    }

    @Test("Every field of a limit is read")
    func fields() throws {
        let text =
            "- {policy: LRU, trace: b, mode: per_user, capacity: 64MB, floor: 0.25, byte_floor: 0.5, baseline: lru, highest_loss: -0.1}\n"
            + "- {policy: kingfisher, highest_latency_ms: 12.5}"
        let fields = "policies: [lru, kingfisher]\n    capacities: [1%, 64MB]\n    modes: [shared, per_user]"
        let limits = try suite(text, fields).experiments[0].limits
        var first = RunLimit(policy: "lru")
        (first.trace, first.mode, first.capacity) = ("b", .perUser, "64MB")
        (first.floor, first.byteFloor, first.baseline, first.highestLoss) = (0.25, 0.5, "lru", -0.1)
        var second = RunLimit(policy: "kingfisher")
        second.highestLatency = 12.5
        #expect(limits == [first, second])
    }

    @Test(
        "A wrong limit is one sentence with line and column",
        arguments: [
            ("{policy: lru}", "8:9: a limit needs 'floor', 'byte_floor', 'highest_latency_ms' or 'highest_loss'."),
            ("{floor: 0}", "8:9: A limit needs 'policy'."),
            ("{policy: lru, floor: 30}", "8:30: '30' is not a ratio: write a number from 0.0 to 1.0."),
            ("{policy: lru, floor: .nan}", "8:30: '.nan' is not a ratio: write a number from 0.0 to 1.0."),
            ("{policy: lru, byte_floor: 2}", "8:35: '2' is not a ratio: write a number from 0.0 to 1.0."),
            (
                "{policy: lru, hits: 3}",
                "8:23: A limit has no 'hits': accepted are policy, trace, mode, capacity, floor, byte_floor, "
                    + "highest_latency_ms, baseline, highest_loss."
            ),
            ("{policy: fifo, floor: 0}", "8:18: the experiment has no policy 'fifo': it has lru, s3-fifo(small=0.2)."),
            (
                "{policy: s3-fifo, floor: 0}",
                "8:18: the experiment has no policy 's3-fifo': it has lru, s3-fifo(small=0.2)."
            ),
            ("{policy: lru(x=1), floor: 0}", "8:18: lru has no parameter 'x': it has none at all."),
            ("{policy: lru, trace: c, floor: 0}", "8:30: the experiment has no trace 'c': it has a, b."),
            ("{policy: lru, mode: per_user, floor: 0}", "8:29: the experiment has no mode 'per_user': it has shared."),
            ("{policy: lru, mode: both, floor: 0}", "8:29: 'both' is not a mode: write shared or per_user."),
            ("{policy: lru, capacity: 2%, floor: 0}", "8:33: the experiment has no capacity '2%': it has 1%, 64MB."),
            ("{policy: lru, highest_loss: 0}", "8:37: a highest loss needs a 'baseline' to compare with."),
            ("{policy: lru, baseline: lru, floor: 0}", "8:33: a baseline needs 'highest_loss'."),
            (
                "{policy: lru, baseline: arc, highest_loss: 0}",
                "8:33: the experiment has no policy 'arc': it has lru, s3-fifo(small=0.2)."
            ),
            (
                "{policy: lru, highest_latency_ms: 3}",
                "8:43: a highest latency needs 'tiers' or 'prefetch': other runs have no latencies."
            ),
        ])
    func faults(limit: String, sentence: String) {
        #expect(throws: ReplayError.data("s.yml:\(sentence)")) { try suite("- \(limit)") }
    }

    @Test("Two limits that a run may both have are refused; limits of different runs are not")
    func overlaps() throws {
        let first = "- {policy: lru, capacity: 1%, floor: 0}\n"
        for other in [
            "{policy: lru, floor: 0}", "{policy: lru, trace: a, floor: 0}", "{policy: lru, capacity: 1%, floor: 1}",
        ] {
            #expect(throws: ReplayError.data("s.yml:9:9: a run of lru has a limit in line 8 already.")) {
                try suite(first + "- \(other)")
            }
        }
        let apart = ["{policy: lru, capacity: 64MB, floor: 0}", "{policy: s3-fifo(small=0.2), floor: 0}"]
        for other in apart { #expect(throws: Never.self) { try suite(first + "- \(other)") } }
    }

    @Test("A capacity beside tiers, an empty list and a list of nothing but text are refused")
    func otherFaults() {
        let tiers = "policies: lru\n    tiers: {memory: 1%, disk: 10%}"
        #expect(throws: ReplayError.data("s.yml:8:33: 'tiers' state their capacities: leave out 'capacity'.")) {
            try suite("- {policy: lru, capacity: 1%, floor: 0}", tiers)
        }
        #expect(throws: ReplayError.data("s.yml:8:7: the list is empty: give at least one limit, or leave it out.")) {
            try suite("[]")
        }
        #expect(throws: ReplayError.data("s.yml:8:9: A limit is a mapping of names to values, and this is 'lru'.")) {
            try suite("- lru")
        }
    }

    @Test("The folder of results is given, that of the suite, or one with the name of the suite")
    func folders() throws {
        var suite = Suite(name: "app", path: "lab/suites/app.yml", traces: [], experiments: [])
        #expect(suite.resultsFolder() == "results/app")
        for (written, folder) in [
            ("../results/app", "lab/results/app"), ("./r", "lab/suites/r"), ("/r", "/r"), ("../../../r", "../r"),
        ] {
            suite.results = written
            #expect(suite.resultsFolder() == folder)
        }
        suite.path = "/x/y/app.yml"
        suite.results = "../r"
        #expect(suite.resultsFolder() == "/x/r" && suite.resultsFolder("given") == "given")
    }
}
