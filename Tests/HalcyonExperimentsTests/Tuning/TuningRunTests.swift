import Foundation
import HalcyonEviction
import HalcyonSimulation
import HalcyonTestSupport
import HalcyonTrace
import Testing

@testable import HalcyonExperiments

@Suite("Tuning", .timeLimit(.minutes(20)))
struct TuningRunTests {
    private func files(_ folder: String) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted()
    }

    @Test("the best position is chosen, with the scores of a plain count on all three splits")
    func known() async throws {
        let fixture = try TuningFixture()
        let outcome = try await fixture.tune()
        let record = outcome.record
        #expect(record.candidates.map(\.policy) == ["picked"] + [5, 12, 19].map { "picked(position=\($0))" })
        for (candidate, position) in zip(record.candidates, [0, 5, 12, 19]) {
            #expect(candidate.training.map(\.share) == ["1"])
            #expect(try abs(#require(candidate.fullTraining) - fixture.score(position, "training")) < 1e-12)
            #expect(try abs(#require(candidate.validation) - fixture.score(position, "validation")) < 1e-12)
            #expect(candidate.parameters["position"] == "\(position)")
        }
        #expect(record.chosen.policy == "picked(position=19)" && record.defaults.policy == "picked")
        let test = try #require(record.test)
        #expect(abs(test.defaults - 1) < 1e-12 && abs(test.chosen - fixture.score(19, "test")) < 1e-12)
        let cell = try #require(test.cells.first)
        #expect(test.cells.count == 1 && cell.trace == "test" && cell.capacity == "20")
        #expect(abs(cell.contrast.difference - (cell.chosen - cell.defaults)) < 1e-12)
        #expect(cell.contrast.interval.low > 0, "MRU hits in every round of the loop and LRU never")
        #expect(test.look == 1)
        // 4 candidates and LRU, of which 'picked' and LRU are different cells; twice, and the test with 3.
        #expect(outcome.ran == 5 + 5 + 3)
        let text = outcome.text()
        #expect(text.contains("Chosen: picked(position=19), which has the lowest score on the validation traces.\n"))
        #expect(text.contains("3 candidates in 3.00 of 36 passes over the training traces."))
        #expect(text.contains("First look at these test traces for picked in this folder of results."))
        #expect(text.contains("The chosen parameters hit more often in 1 of 1 test cell and less often in 0"))
    }

    @Test("the policy as given is kept if the training gain does not hold on the validation traces")
    func overfitted() async throws {
        let fixture = try TuningFixture(validation: TuningFixture.recency)
        let record = try await fixture.tune().record
        // The best on the training traces is the worst on the validation traces.
        #expect(try #require(record.candidates[3].fullTraining) < 0.9)
        #expect(try #require(record.candidates[3].validation) > 1.1)
        #expect(record.choice == 0)
        let test = try #require(record.test)
        #expect(test.defaults == test.chosen && test.cells.map(\.contrast.difference) == [0])
        #expect(test.cells[0].contrast.interval == Interval(low: 0, high: 0))
        #expect(record.sentences.contains { $0.hasSuffix("There is no gain to compare.") })
    }

    @Test("only the best of the training traces and the policy as given see the validation traces")
    func finalists() async throws {
        let fixture = try TuningFixture()
        let record = try await fixture.tune(finalists: 1).record
        #expect(record.candidates.map { $0.validation != nil } == [true, false, false, true])
    }

    @Test("halving drops the worse half on the first quarter and the first half of the requests")
    func halving() async throws {
        let fixture = try TuningFixture()
        let outcome = try await fixture.tune(grid: "position=1,4,7,10,13,16,19", search: .halving, budget: 6)
        let record = outcome.record
        // 7 / 4 + 4 / 2 + 2 = 5.75 passes.
        #expect(record.spent == 5.75 && record.identity.budget == 6)
        let positions = [0, 1, 4, 7, 10, 13, 16, 19]
        for (candidate, position) in zip(record.candidates, positions) {
            for (rung, divisor) in zip(candidate.training, [4, 2, 1]) {
                #expect(rung.share == (divisor == 1 ? "1" : "1/\(divisor)"))
                #expect(abs(rung.score - fixture.score(position, "training", divisor: divisor)) < 1e-12)
            }
        }
        // The policy as given is never dropped. Of the others, 4 and then 2 remain, the best by the plain count.
        func best(_ count: Int, of positions: [Int], divisor: Int) -> [Int] {
            Array(
                positions.sorted {
                    (fixture.score($0, "training", divisor: divisor), $0)
                        < (fixture.score($1, "training", divisor: divisor), $1)
                }.prefix(count))
        }
        let second = best(4, of: Array(positions.dropFirst()), divisor: 4)
        let third = best(2, of: second, divisor: 2)
        #expect(third.contains(19))
        let rounds = positions.map { position in
            position == 0 ? 3 : third.contains(position) ? 3 : second.contains(position) ? 2 : 1
        }
        #expect(record.candidates.map(\.training.count) == rounds)
        #expect(record.candidates.filter { $0.validation != nil }.count == 3)
        #expect(record.chosen.policy == "picked(position=19)")
        #expect(
            try fixture.store.cells().contains { $0.trace.name == "training (first 1/4)" && $0.trace.requests == 100 })
    }

    @Test("the same tuning is answered from its file, and its bytes do not depend on threads or an interruption")
    func resumed() async throws {
        let fixture = try TuningFixture()
        func store(_ name: String) -> ResultStore { ResultStore(folder: "\(fixture.folder.path)/\(name)") }
        let whole = try await fixture.tune(store: store("whole"), grid: "position=1..19", search: .random, budget: 9)
        let bytes = try Data(contentsOf: URL(fileURLWithPath: whole.file))
        let again = try await fixture.tune(store: store("whole"), grid: "position=1..19", search: .random, budget: 9)
        #expect(again.ran == 0 && again.record == whole.record)
        #expect(try Data(contentsOf: URL(fileURLWithPath: whole.file)) == bytes)

        // What a killed tuning leaves: some cells and no tuning.
        let part = store("part")
        try part.prepare()
        let kept = try store("whole").hashes().enumerated().filter { $0.offset % 2 == 0 }.map(\.element)
        for hash in kept {
            try FileManager.default.copyItem(atPath: store("whole").path(ofCell: hash), toPath: part.path(ofCell: hash))
        }
        let resumed = try await fixture.tune(
            store: part, grid: "position=1..19", search: .random, budget: 9, workers: 1)
        #expect(resumed.ran == whole.ran - kept.count)
        #expect(try Data(contentsOf: URL(fileURLWithPath: resumed.file)) == bytes)

        // Or the choice without the test: the choice stands.
        var chosen = whole.record
        chosen.test = nil
        let later = store("later")
        try later.write(chosen)
        let tested = try await fixture.tune(store: later, grid: "position=1..19", search: .random, budget: 9)
        #expect(tested.ran == 3, "LRU, the policy as given and the chosen one on the test trace")
        #expect(try Data(contentsOf: URL(fileURLWithPath: tested.file)) == bytes)
    }

    @Test("no test trace is replayed before the choice is written down")
    func choiceComesFirst() async throws {
        let fixture = try TuningFixture()
        // A file where the folder of tunings belongs: the choice cannot be written.
        try FileManager.default.createDirectory(atPath: fixture.store.folder, withIntermediateDirectories: true)
        try Data().write(to: URL(fileURLWithPath: "\(fixture.store.folder)/tuning"))
        await #expect(throws: ReplayError.usage("\(fixture.store.folder)/tuning: cannot be a folder of tunings.")) {
            try await fixture.tune()
        }
        let traces = try fixture.store.cells().map(\.trace.name)
        #expect(Set(traces) == ["training", "validation"] && traces.count == 10)
    }

    @Test("each further tuning of a policy says how often its test traces have been looked at")
    func looks() async throws {
        let fixture = try TuningFixture()
        #expect(try await fixture.tune().record.test?.look == 1)
        let second = try await fixture.tune(grid: "position=4,19")
        #expect(second.record.test?.look == 2)
        #expect(
            second.text().contains(
                "Second look at these test traces for picked in this folder of results: 1 other tuning reported on them "
                    + "before, so the test is no longer independent."))
        // Neither a part of the test trace nor a second name makes it new.
        let renamed = try fixture.suite(
            "  - {path: training.csv, split: training}\n  - {path: validation.csv, split: validation}\n"
                + "  - {path: test.csv, name: other, skip: 300, split: test}\n")
        let third = try await fixture.tune("picked", renamed)
        #expect(third.record.test?.look == 3 && third.text().contains("Third look at these test traces"))
        // Another policy, another test trace, or a tuning without a test has not looked.
        #expect(try await fixture.tune("s3-fifo", grid: "small=0.2").record.test?.look == 1)
        try fixture.write(TuningFixture.loop(40), "fresh")
        let fresh = try fixture.suite(
            "  - {path: training.csv, split: training}\n  - {path: validation.csv, split: validation}\n"
                + "  - {path: fresh.csv, split: test}\n")
        #expect(try await fixture.tune("picked", fresh).record.test?.look == 1)
        // The first tuning keeps its figure.
        #expect(try await fixture.tune().record.test?.look == 1)
        #expect(
            [11, 12, 13, 21, 22, 23, 24, 10].map(TuningRecord.ordinal) == [
                "11th", "12th", "13th", "21st", "22nd", "23rd", "24th", "Tenth",
            ])
    }

    @Test(
        "a request in two splits is refused before any run",
        arguments: [
            (
                "  - {path: training.csv, split: training}\n  - {path: validation.csv, split: validation}\n"
                    + "  - {path: training.csv, name: again, split: test}\n",
                "the traces 'training' (training) and 'again' (test) hold the same requests: a request belongs to one split only."
            ),
            (
                // A copy under another name.
                "  - {path: training.csv, split: training}\n  - {path: copy.csv, split: validation}\n"
                    + "  - {path: test.csv, split: test}\n",
                "the traces 'training' (training) and 'copy' (validation) hold the same requests: a request belongs to one "
                    + "split only."
            ),
            (
                "  - {path: training.csv, limit: 200, split: training}\n"
                    + "  - {path: training.csv, name: late, skip: 150, split: validation}\n"
                    + "  - {path: test.csv, split: test}\n",
                "the traces 'training' (training) and 'late' (validation) share requests 151 to 200 of one file: choose 'skip' "
                    + "and 'limit' so that they do not overlap."
            ),
            (
                // A link, and sizes that change the fingerprint.
                "  - {path: training.csv, limit: 200, split: training}\n  - {path: validation.csv, split: validation}\n"
                    + "  - {path: link.csv, skip: 199, sizes: unit, split: test}\n",
                "the traces 'training' (training) and 'link' (test) share requests 200 to 200 of one file: choose 'skip' and "
                    + "'limit' so that they do not overlap."
            ),
            (
                "  - {path: training.csv, limit: 200, split: training}\n"
                    + "  - {path: training.csv, name: sorted, skip: 200, sort: true, split: validation}\n"
                    + "  - {path: test.csv, split: test}\n",
                "the traces 'training' (training) and 'sorted' (validation) read one file in different ways: give both the same "
                    + "'sort' and 'columns', and parts that do not overlap."
            ),
            (
                "  - {path: training.csv, split: training}\n  - {path: validation.csv, split: validation}\n"
                    + "  - {path: test.csv}\n",
                "a tuning needs a trace with 'split: test' that an experiment uses, and there is none."
            ),
        ])
    func splits(traces: String, sentence: String) async throws {
        let fixture = try TuningFixture()
        try fixture.write(fixture.keys["training"] ?? [], "copy")
        try FileManager.default.createSymbolicLink(
            atPath: "\(fixture.folder.path)/link.csv", withDestinationPath: "\(fixture.folder.path)/training.csv")
        let suite = try fixture.suite(traces)
        await #expect(throws: ReplayError.data("\(fixture.folder.path)/small.yml: \(sentence)")) {
            try await fixture.tune("picked", suite)
        }
        #expect(files(fixture.store.folder).isEmpty)
    }

    @Test("adjacent parts of one file are different requests; per-user parts are compared by their place in the file")
    func adjacentParts() async throws {
        let fixture = try TuningFixture()
        let parts = try fixture.suite(
            "  - {path: training.csv, limit: 150, split: training}\n"
                + "  - {path: training.csv, name: second, skip: 150, limit: 100, split: validation}\n"
                + "  - {path: training.csv, name: third, skip: 250, split: test}\n")
        #expect(try await fixture.tune("picked", parts).record.test != nil)

        // Every other request has no user: the first 100 with a user are among the first 200 of the file.
        let rows = (0..<400).map { "o\($0 % 30),\($0 % 2 == 0 ? "u\($0 % 4)" : "")\n" }
        _ = try fixture.folder.file("users.csv", "key,user\n" + rows.joined())
        func suite(skip: Int) throws -> Suite {
            try Suite(
                parsing: """
                    schema: halcyon.suite/1
                    traces:
                      - {path: users.csv, name: own, limit: 100, split: training}
                      - {path: users.csv, name: all, skip: \(skip), split: validation}
                      - {path: test.csv, split: test}
                    experiments:
                      - {name: a, traces: own, modes: per_user, policies: lru, capacities: 10}
                      - {name: b, traces: [all, test], policies: lru, capacities: 10}
                    """, file: "\(fixture.folder.path)/users.yml", catalogue: TuningFixture.catalogue)
        }
        #expect(throws: ReplayError.self) { try TuningTraces(suite(skip: 198)) }
        let traces = try TuningTraces(suite(skip: 199))
        #expect(
            traces.selections.map { [$0.first, $0.last, $0.requests] } == [
                [0, 198, 100], [199, 399, 201], [0, 399, 400],
            ])
    }

    @Test("a cell that cannot be run, or that leaves LRU no miss, is one sentence")
    func failures() async throws {
        let fixture = try TuningFixture()
        var suite = try fixture.suite()
        suite.experiments[0].capacities = [.bytes(1_000, text: "1kB")]
        await #expect(throws: ReplayError.self) { try await fixture.tune("picked", suite) }
        suite.experiments[0].capacities = [.number(1_000)]
        suite.experiments[0].warmup = 0.5
        await #expect(
            throws: ReplayError.data(
                "LRU misses nothing on training at 1000, so that no policy can be compared with it there: leave that "
                    + "capacity out.")
        ) { try await fixture.tune("picked", suite) }
        suite.experiments[0].tiers = [
            TierOptions(memory: .number(5), disk: .number(20))
        ]
        suite.experiments[0].tiers[0].memoryPolicy = ConfiguredPolicy(LRU.self)
        suite.experiments[0].tiers[0].diskPolicy = ConfiguredPolicy(LRU.self)
        await #expect(
            throws: ReplayError.data(
                "\(fixture.folder.path)/small.yml: the tiers of 'all' name both policies, so that nothing is left to tune: "
                    + "leave out 'memory_policy' or 'disk_policy'.")
        ) { try await fixture.tune("picked", suite) }
    }

    @Test("experiments with tiers, seeds and several modes are scored cell by cell")
    func kinds() async throws {
        let fixture = try TuningFixture()
        for (number, name) in ["training", "validation", "test"].enumerated() {
            let rows = (0..<600).map { "o\(($0 * 11 + number) % (40 + number)),u\($0 % 3)\n" }
            _ = try fixture.folder.file("\(name).csv", "key,user\n" + rows.joined())
        }
        let suite = try Suite(
            parsing: """
                schema: halcyon.suite/1
                traces:
                  - {path: training.csv, split: training}
                  - {path: validation.csv, split: validation}
                  - {path: test.csv, split: test}
                experiments:
                  - {name: a, policies: [lru, learned], capacities: [10, 20], seeds: 2, warmup: 0.1}
                  - {name: b, modes: [per_user], policies: lru, models: [shared, own], capacities: 10, seeds: [3, 4]}
                  - {name: c, policies: lru, tiers: {memory: 5, disk: 20}, seeds: 2}
                tuning: {learned: {hidden: [8, 16]}}
                """, file: "\(fixture.folder.path)/kinds.yml", catalogue: TuningFixture.catalogue)
        let outcome = try await fixture.tune("learned", suite, grid: nil, search: .grid)
        let record = outcome.record
        let test = try #require(record.test)
        #expect(test.cells.map(\.capacity) == ["10", "20", "memory=5,disk=20", "10", "10"])
        #expect(test.cells.map(\.models) == [nil, nil, nil, .shared, .own])
        #expect(record.hasRunNoise && record.isRandomised)
        // Each place has two seeds of three policies and one run of LRU, which shares no models.
        #expect(record.identity.cells["test"]?.count == 5 * 2)
        // The score of the policy as given, by hand from the stored cells.
        let cells = try fixture.store.cells().filter { $0.trace.name == "training" }
        func miss(_ policy: String, _ capacity: String?, _ mode: ReplayMode, _ models: ModelSharing?) -> Double {
            let own = cells.filter {
                $0.identity.policy == policy && $0.identity.capacity == capacity && $0.identity.mode == mode
                    && $0.identity.models == models && $0.identity.parameters["hidden"] != "8"
                    && $0.identity.parameters["hidden"] != "16"
            }
            return 1 - own.reduce(0) { $0 + $1.objectHitRatio } / Double(own.count)
        }
        let ratios = [
            miss("learned", "10", .shared, nil) / miss("lru", "10", .shared, nil),
            miss("learned", "20", .shared, nil) / miss("lru", "20", .shared, nil),
            miss("learned", nil, .shared, nil) / miss("lru", nil, .shared, nil),
            miss("learned", "10", .perUser, .shared) / miss("lru", "10", .perUser, nil),
            miss("learned", "10", .perUser, .own) / miss("lru", "10", .perUser, nil),
        ]
        #expect(try abs(#require(record.defaults.fullTraining) - ratios.reduce(0, +) / 5) < 1e-12)
    }

    @Test("an edited tuning is refused, and so are options without sense")
    func refusals() async throws {
        let fixture = try TuningFixture()
        let outcome = try await fixture.tune()
        let text = try String(contentsOfFile: outcome.file, encoding: .utf8)
        try text.replacing("\"budget\" : 36", with: "\"budget\" : 37").write(
            toFile: outcome.file, atomically: true, encoding: .utf8)
        await #expect(throws: ReplayError.self) { try await fixture.tune() }
        try text.replacing("\"choice\" : 3", with: "\"choice\" : 4").write(
            toFile: outcome.file, atomically: true, encoding: .utf8)
        await #expect(
            throws: ReplayError.data("\(outcome.file): chooses candidate 4, which it does not have: it was edited.")
        ) {
            try await fixture.tune()
        }
        await #expect(throws: ReplayError.usage("--budget 0: give at least 1.")) { try await fixture.tune(budget: 0) }
        await #expect(throws: ReplayError.usage("--choose 0: give at least 1.")) {
            try await fixture.tune(finalists: 0)
        }
        await #expect(
            throws: ReplayError.usage(
                "picked(position=1) sets 'position', which is searched as well: leave it out of one of them.")
        ) { try await fixture.tune("picked(position=1)") }
        await #expect(throws: PolicyError.self) { try await fixture.tune("pickd") }
    }
}
