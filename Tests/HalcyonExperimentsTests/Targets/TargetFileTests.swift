import Foundation
import HalcyonSimulation
import HalcyonTestSupport
import Testing

@testable import HalcyonExperiments

@Suite("Targets: the file", .timeLimit(.minutes(20)))
struct TargetFileTests {
    static let canonical = """
        # What must hold.
        schema: halcyon.targets/2
        # the build that counted
        result_version: 3
        # half a point for the learner
        margins: {default: 0.001, learned: 0.005}
        groups:
          # the shop
          - trace: ../Traces/shop.csv
            mode: shared
            targets:
              # the paper's figure
              - {policy: lru, capacity: 1%, hits: 33043, floor: 0.274358}
              - {policy: "s3-fifo(small=0.2,ghost=1)", capacity: 64MB, floor: 0.300000, baseline: lru, highest_loss: -0.010000}

          - trace: "a b.csv"
            mode: per_user
            sizes: "lognormal:median=40KB,sigma=1.1"
            limit: 1000
            warmup: 0.25
            seed: 7
            prefetch: planner(price=0.05)
            prefetch_budget: 1/request
            targets:
              - {policy: lfu, capacity: 20}
        history:
          - {date: 2026-11-21, halcyon: 0.1.0, targets: 3, reason: "A \\"first\\" try: #1\\n"}
        # the end

        """

    @Test("what is read is written as it was, comments and all")
    func roundTrip() throws {
        let file = try TargetFile(parsing: Self.canonical, file: "t.yml")
        #expect(file.text == Self.canonical)
        #expect(file.targetCount == 3)
        #expect(file.groups[1].mode == .perUser)
        #expect(file.groups[1].seeds == [7])
        #expect(file.history.first?.reason == "A \"first\" try: #1\n")
        #expect(file.resultVersion == 3)
        #expect(file.groups[0].targets.map(\.hits) == [33_043, nil])
        #expect(file.margin(of: "learned") == 0.005)
        #expect(file.margin(of: "lru") == 0.001)
    }

    static let jobs = """
        schema: halcyon.targets/2
        result_version: 3
        margins: {default: 0.001}
        groups:
          - trace: "${HALCYON_TRACES}/feed.csv"
            mode: per_user
            models: own
            columns: key=item
            limit: 1000
            skip: 10
            sort: true
            seeds: 3
            prefetch: planner
            prefetch_budget: 2/request
            prefetch_latency: 500ms
            targets:
              - {policy: learned, capacity: 20, hits: 12, floor: 0.100000}

          - trace: a.csv
            mode: shared
            tiers: {memory: 64MB, disk: 1GB, memory_policy: fifo, memory_lifetime: 300s, disk_lifetime: 7d, latency: "memory=0.002,disk=10.0,network=90.5,bandwidth=1000000B", decoded_size_ratio: 2.5}
            seeds: [2, 5]
            targets:
              - {policy: lru, hits: 7, floor: 0.200000, byte_floor: 0.190000, highest_latency_ms: 75.250000}
              - {policy: s3-fifo, baseline: lru, highest_loss: 0.000000}

          - trace: a.csv
            mode: shared
            tiers: {memory: 1%, disk: 10%, disk_policy: sieve}
            targets:
              - {policy: lru, highest_latency_ms: 12.000000}
        history: []

        """

    @Test("all parts of a job are written as they were read")
    func roundTripOfJobs() throws {
        let file = try TargetFile(parsing: Self.jobs, file: "t.yml")
        #expect(file.text == Self.jobs)
        #expect(try file.verifiedText(file: "t.yml") == Self.jobs)
        let (first, second) = (file.groups[0], file.groups[1])
        #expect(first.models == .own && first.seeds == [1, 2, 3] && first.prefetch?.latency == .fixed(500_000))
        #expect(first.source.columns == "key=item" && first.source.skip == 10 && first.source.sort)
        let tiers = try #require(second.tiers)
        #expect(second.seeds == [2, 5] && tiers.memoryLifetime == 300_000_000 && tiers.latency.network == 90.5)
        #expect(tiers.memoryPolicy?.label == "fifo" && tiers.diskPolicy == nil)
        #expect(second.targets[0].byteFloor == 0.19 && second.targets[0].highestLatency == 75.25)
        #expect(second.targets.map(\.capacity) == ["", ""])
        #expect(file.groups[2].targets[0].hasLimit)
        // What is not as before is not equal.
        var changed = second
        #expect(changed == second)
        changed.tiers?.latency.network = 91
        #expect(changed != second)
        changed = first
        changed.models = .shared
        #expect(changed != first)
    }

    @Test(
        "what is wrong in a part of a job is one sentence with line and column",
        arguments: [
            ("models: own", "4:13: 'models' needs 'mode: per_user'."),
            (
                "models: both, mode: per_user",
                "4:13: 'both' is not a sharing of models: write one of shared, own."
            ),
            ("tiers: 7", "4:12: Two tiers is a mapping of names to values, and this is '7'."),
            ("tiers: {memory: 1%}", "4:12: Two tiers needs 'disk'."),
            (
                "tiers: {memory: 1%, disk: few}",
                "4:31: 'few' is not a capacity: write a share (1%), a size with a unit (64MB) or a whole number (1000)."
            ),
            (
                "tiers: {memory: 1%, disk: 2%, memory_lifetime: long}",
                "4:52: 'long' is not a duration: write a number with ms, s, min, h, d or w (300s)."
            ),
            (
                "tiers: {memory: 1%, disk: 2%, decoded_size_ratio: 0}",
                "4:55: '0' is not a ratio of decoded sizes: write a number from 0.001 to 10000.0."
            ),
            (
                "tiers: {memory: 1%, disk: 2%, latency: fast}",
                "4:44: 'fast' is not a latency: write memory=0.001,disk=10,network=150 (milliseconds) or bandwidth=5MB (a "
                    + "second)."
            ),
            (
                "tiers: {memory: 1%, disk: 2%, memory_policy: lru, disk_policy: lru}",
                "4:12: the tiers name both policies, so that those of the targets decide nothing: leave out 'memory_policy' or "
                    + "'disk_policy'."
            ),
            (
                "tiers: {memory: 1%, disk: 2%}",
                "6:31: the 'tiers' of the group state the capacities: leave out 'capacity'."
            ),
            ("seeds: 0", "4:12: '0' is not a number of seeds: write a whole number of at least 1."),
            ("seeds: [1, 1]", "4:16: the seed 1 is given twice; give it once."),
            ("seed: 1, seeds: 2", "4:21: 'seed' and 'seeds' exclude each other: leave one out."),
            ("prefetch_latency: 1s", "4:23: a latency needs 'prefetch', which names the prefetch policy."),
            ("prefetch_budget: 1/request", "4:22: a budget needs 'prefetch', which names the prefetch policy."),
            (
                "prefetch: planner, prefetch_latency: soon",
                "4:42: 'soon' is not a duration: write a number with ms, s, min, h, d or w (300s)."
            ),
            ("columns: item", "4:14: "),
            ("skip: -1", "4:11: '-1' is not a number of requests: write a whole number of at least 0."),
            ("sort: perhaps", "4:11: 'perhaps' is neither true nor false."),
        ])
    func badJobs(field: String, sentence: String) {
        let text =
            "schema: halcyon.targets/2\ngroups: [\n  {trace: a.csv,\n    \(field),\n    targets: [\n      "
            + "{policy: lru, capacity: 1, floor: 0}]}]\n"
        do {
            _ = try TargetFile(parsing: text, file: "t.yml")
            Issue.record("\(field) was accepted")
        } catch {
            #expect("\(error)".hasPrefix("t.yml:\(sentence)"), "\(error)")
        }
    }

    @Test(
        "a latency without tiers and limits that are no numbers are refused",
        arguments: [
            (
                "policy: lru, capacity: 1, highest_latency_ms: 3",
                "7:56: a highest latency needs 'tiers' in the group: only tiers have latencies."
            ),
            ("policy: lru, capacity: 1, byte_floor: 2", "7:48: '2' is not a ratio: write a number from 0.0 to 1.0."),
        ])
    func badLimits(target: String, sentence: String) {
        badTargets(target: target, sentence: sentence)
    }

    @Test("a latency limit is a number of milliseconds")
    func badLatency() {
        let text =
            "schema: halcyon.targets/2\ngroups:\n  - trace: a.csv\n    tiers: {memory: 1, disk: 2}\n"
            + "    targets: [{policy: lru, highest_latency_ms: slow}]\n"
        #expect(
            throws: ReplayError.data(
                "t.yml:5:49: 'slow' is not a latency in milliseconds: write a number from 0.0 to 1000000000.0.")
        ) { try TargetFile(parsing: text, file: "t.yml") }
    }

    @Test("every character of a reason is read as it was written")
    func characters() throws {
        let scalars = (1...0x10FFFF as ClosedRange<UInt32>).lazy.filter { $0 < 0x12000 || $0 & 0xFFF8 == 0xFFF8 }
        let reason = String(String.UnicodeScalarView(scalars.compactMap(Unicode.Scalar.init)))
        var file = try TargetFile(parsing: Self.canonical, file: "t.yml")
        file.history.append(TargetRecording(date: "2026-11-22", halcyonVersion: "0.1.0", targets: 1, reason: reason))
        file.groups[0].trace = "a\u{85}b\u{2028}c\u{FEFF}\u{9F}.csv"
        let reread = try TargetFile(parsing: try file.verifiedText(file: "t.yml"), file: "t.yml")
        #expect(Array(try #require(reread.history.last).reason.unicodeScalars) == Array(reason.unicodeScalars))
        #expect(Array(reread.groups[0].trace.unicodeScalars) == Array(file.groups[0].trace.unicodeScalars))
    }

    @Test("what cannot be read again replaces nothing")
    func unreadable() throws {
        var file = try TargetFile(parsing: Self.canonical, file: "t.yml")
        file.margins.append(("lur", 0.1))
        #expect(
            throws: ReplayError.data(
                "t.yml, as it would be written:6:43: 'lur' is neither 'default' nor the name of a policy.")
        ) { try file.verifiedText(file: "t.yml") }
    }

    @Test(
        "what is wrong is one sentence with line and column",
        arguments: [
            ("", "t.yml: is empty; a YAML file of targets is needed."),
            ("# nothing\n", "t.yml: is empty; a YAML file of targets is needed."),
            (
                "a: [1",
                "t.yml:2:1: is not YAML: did not find expected ',' or ']', while parsing a flow sequence at line 1."
            ),
            ("- 1\n", "t.yml:1:1: A file of targets is a mapping of names to values, and this is a list."),
            ("schema: x\nschema: y\n", "t.yml:1:1: 'schema' is given twice; give it once."),
            ("groups: []\n", "t.yml:1:1: A file of targets needs 'schema'."),
            (
                "schema: halcyon.targets/3\n",
                "t.yml:1:9: the schema 'halcyon.targets/3' is not known: it is halcyon.targets/2."
            ),
            (
                "schema: halcyon.targets/1\ntolerances: {default: 0.001}\n",
                "t.yml:1:9: the schema halcyon.targets/1 is no longer read: write halcyon.targets/2, rename 'tolerances' to "
                    + "'margins' and 'lowest_hit_ratio' to 'floor', leave out 'hit_ratio', and record again with --update."
            ),
            (
                "schema: halcyon.targets/2\nresult_version: 0\n",
                "t.yml:2:17: '0' is not a result version: write a whole number of at least 1."
            ),
            (
                "schema: halcyon.targets/2\ngroups: [{trace: a.csv, targets: [{policy: lru, capacity: 1, hits: 7}]}]\n",
                "t.yml:1:1: 'hits' need 'result_version': the result version of the build that recorded them."
            ),
            (
                "schema: halcyon.targets/2\ngroup: []\n",
                "t.yml:2:1: A file of targets has no 'group': accepted are schema, result_version, margins, groups, history."
            ),
            ("schema: halcyon.targets/2\ngroups: 7\n", "t.yml:2:9: 'groups' is a list, and this is '7'."),
            (
                "schema: halcyon.targets/2\nmargins: {lur: 1}\ngroups: []\n",
                "t.yml:2:11: 'lur' is neither 'default' nor the name of a policy."
            ),
            (
                "schema: halcyon.targets/2\nmargins: {lru: 2}\ngroups: []\n",
                "t.yml:2:16: '2' is not a margin: write a number from 0.0 to 1.0."
            ),
        ])
    func badFiles(text: String, sentence: String) {
        #expect(throws: ReplayError.data(sentence)) { try TargetFile(parsing: text, file: "t.yml") }
    }

    @Test(
        "what is wrong in a target is one sentence with line and column",
        arguments: [
            ("policy: lru(x=1), capacity: 1%", "7:18: lru has no parameter 'x': it has none at all."),
            ("policy: lru", "7:9: A target needs 'capacity'."),
            (
                "policy: lru, capacity: few",
                "7:33: 'few' is not a capacity: write a share (1%), a size with a unit (64MB) or a whole number (1000)."
            ),
            (
                "policy: lru, capacity: 1, lowest: 0.3",
                "7:36: A target has no 'lowest': accepted are policy, capacity, hits, floor, baseline, highest_loss, "
                    + "byte_floor, highest_latency_ms."
            ),
            (
                "policy: lru, capacity: 1, floor: 30",
                "7:43: '30' is not a ratio: write a number from 0.0 to 1.0."
            ),
            (
                "policy: lru, capacity: 1, floor: .nan",
                "7:43: '.nan' is not a ratio: write a number from 0.0 to 1.0."
            ),
            (
                "policy: lru, capacity: 1, highest_loss: 0",
                "7:50: a highest loss needs a 'baseline' to compare with."
            ),
            (
                "policy: lru, capacity: 1, hits: few",
                "7:42: 'few' is not a number of hits: write a whole number of at least 0."
            ),
            (
                "policy: learned(kernels=system), capacity: 1, hits: 7",
                "7:62: learned(kernels=system) depends on the processor and has no exact figure: leave out 'hits' and "
                    + "give a 'floor'."
            ),
            ("policy: [lru], capacity: 1", "7:18: A policy is expected, and this is a list."),
            ("policy: , capacity: 1", "7:18: A policy is expected, and there is nothing."),
        ])
    func badTargets(target: String, sentence: String) {
        let text = """
            schema: halcyon.targets/2
            groups:
              - trace: a.csv
                mode: shared
                targets:
                  - {policy: lru, capacity: 1%}
                  - {\(target)}

            """
        #expect(throws: ReplayError.data("t.yml:\(sentence)")) { try TargetFile(parsing: text, file: "t.yml") }
    }

    @Test("exact hits beside a planner that depends on the processor are refused")
    func plannerWithSystemKernels() {
        let target = "{policy: lru, capacity: 1, hits: 7}"
        #expect(
            throws: ReplayError.data(
                "t.yml:4:98: planner(kernels=system) depends on the processor and has no exact figure: leave out 'hits' "
                    + "and give a 'floor'.")
        ) {
            try TargetFile(
                parsing: "schema: halcyon.targets/2\nresult_version: 1\ngroups:\n"
                    + "  - {trace: a.csv, prefetch: planner(kernels=system), targets: [\(target)]}\n", file: "t.yml")
        }
        #expect(throws: Never.self) {
            try TargetFile(
                parsing: "schema: halcyon.targets/2\nresult_version: 1\ngroups:\n"
                    + "  - {trace: a.csv, prefetch: planner, targets: [\(target)]}\n", file: "t.yml")
        }
    }

    @Test("the same target twice, a wrong mode and a group of nothing are refused")
    func badGroups() {
        for (group, sentence) in [
            ("mode: both, targets: []", "2:31: 'both' is not a mode: write shared or per_user."),
            ("targets: []", "2:10: a group needs at least one target."),
            ("limit: 0, targets: []", "2:32: '0' is not a number of requests: write a whole number of at least 1."),
            (
                "targets: [{policy: lru, capacity: 1}, {policy: LRU, capacity: 1}]",
                "2:63: lru at 1 is also in line 2; a group has each policy and capacity once."
            ),
        ] {
            #expect(throws: ReplayError.data("t.yml:\(sentence)")) {
                try TargetFile(
                    parsing: "schema: halcyon.targets/2\ngroups: [{trace: a.csv, \(group)}]\n", file: "t.yml")
            }
        }
    }

    @Test("noise, deep nesting, a folder and a missing file are a sentence")
    func hostileFiles() throws {
        let folder = try TemporaryFolder()
        let files = [
            try folder.file("noise.yml", (0..<4_000).map { UInt8(truncatingIfNeeded: $0 &* 197 &+ $0 >> 3) }),
            try folder.file("zero.yml", [0, 1, 2, 3]),
            try folder.file("deep.yml", String(repeating: "[", count: 20_000)),
            try folder.file("blocks.yml", String(repeating: "- ", count: 20_000)),
            try folder.file("two.yml", "a: 1\n---\nb: 2\n"),
            try folder.file("alias.yml", "a: *b\n"),
            folder.path, folder.path + "/missing.yml",
        ]
        for path in files {
            #expect(throws: ReplayError.self) { try TargetFile(path: path) }
        }
    }

    @Test("the committed file is in its one form, and every target has a limit and exact hits")
    func committed() throws {
        let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../../Experiments/targets.yml").standardizedFileURL.path
        let file = try TargetFile(path: path)
        #expect(file.text == (try String(contentsOfFile: path, encoding: .utf8)))
        try file.requireLimits(path: path)
        #expect(file.groups.allSatisfy { $0.targets.allSatisfy { $0.hits != nil } })
        #expect(Set(file.groups.map(\.trace)).count == 3)
    }
}
