import HalcyonEviction
import HalcyonLearning
import HalcyonSimulation
import HalcyonSupport
import Testing

@testable import HalcyonExperiments

@Suite("Tuning: the searched space", .timeLimit(.minutes(20)))
struct TuningSpaceTests {
    private func entry(_ name: String) throws -> PolicyEntry {
        try #require(TuningFixture.catalogue.entries.first { $0.info.name == name })
    }

    private func texts(_ name: String, except given: String = "") throws -> [String] {
        let policy = try TuningFixture.catalogue.policy(name + given)
        return try TuningSpace(of: entry(name), except: policy.settings).parameters.map { "\($0.name)=\($0.text)" }
    }

    @Test("by default each number from a quarter of its default to four times it, within the accepted range")
    func defaultSpace() throws {
        #expect(try texts("s3-fifo") == ["small=0.025..0.4", "ghost=0.225..3.6", "threshold=1..3"])
        #expect(try texts("s3-fifo", except: "(small=0.2)") == ["ghost=0.225..3.6", "threshold=1..3"])
        #expect(
            try texts("learned") == [
                "horizon=0.05..0.8", "hidden=8..128", "candidates=16..128", "evictions=1..16", "sampling=0.625..4.0",
                "rate=0.00125..0.02", "history=0.375..6.0",
            ])
        // A default of 0 has no scale, and words are named by the user only.
        #expect(try texts("picked") == ["scale=0.5..5.0"])
    }

    @Test("a policy without numbers is one sentence")
    func nothingToTune() throws {
        #expect(throws: ReplayError.usage("lru has no parameter to tune.")) { try texts("lru") }
        #expect(
            throws: ReplayError.usage(
                "car has no number that is searched by default: name values of its parameters (rules) with --grid.")
        ) { try texts("car") }
    }

    @Test("values are lists or ranges, written as the policy writes them")
    func parsing() throws {
        let space = try TuningSpace(parsing: "small=0.05, .1;ghost=0.5..2 ; fill=main,small", of: entry("s3-fifo"))
        #expect(
            space.parameters.map { "\($0.name)=\($0.text)" } == ["small=0.05,0.1", "ghost=0.5..2.0", "fill=main,small"])
        #expect(space.combinationCount == 2 * 3 * 2)
        let all = try #require(space.combinations(most: 12))
        #expect(space.combinations(most: 11) == nil)
        #expect(all.count == 12 && Set(all.map { $0.map(\.value).joined(separator: " ") }).count == 12)
        #expect(all[0].map(\.value) == ["0.05", "0.5", "main"] && all[11].map(\.value) == ["0.1", "2.0", "small"])
        // The middle of a range is the geometric mean.
        #expect(all[2].map(\.value) == ["0.05", "1.0", "main"])
    }

    @Test(
        "what is wrong with values is one sentence",
        arguments: [
            (
                "small",
                "'small' does not name values: write name=value,value or name=low..high, separated by semicolons."
            ),
            ("small=0.1;small=0.2", "The parameter 'small' is given twice; give it once."),
            ("large=1", "s3-fifo has no parameter 'large': it has small, ghost, threshold, fill, refuse."),
            ("small=7", "s3-fifo cannot take small=7: small is a number from 0.0 to 1.0."),
            ("small=0.1,0.10", "small=0.10 is given twice; give it once."),
            (
                "small=0..1",
                "small=0..1 is not a range: write low..high with two numbers above 0, the lower first, or list values with "
                    + "commas."
            ),
            (
                "fill=main..small",
                "fill=main..small is not a range: write low..high with two numbers above 0, the lower first, or list values "
                    + "with commas."
            ),
            ("ghost=1..11", "s3-fifo cannot take ghost=11: ghost is a number from 0.0 to 10.0."),
        ])
    func badValues(text: String, sentence: String) throws {
        let entry = try entry("s3-fifo")
        #expect(throws: ReplayError.usage(sentence)) { try TuningSpace(parsing: text, of: entry) }
    }

    @Test("draws stay in their range, differ, and are equally likely in each octave")
    func draws() throws {
        let space = try TuningSpace(parsing: "ghost=0.5..8;threshold=1..3;fill=main,small", of: entry("s3-fifo"))
        var random = SeededGenerator(seed: 1)
        var (octaves, thresholds, words) = ([0, 0, 0, 0], [0, 0, 0], Set<String>())
        for _ in 0..<4_000 {
            let draw = space.draw(&random)
            let ghost = try #require(Double(draw[0].value))
            #expect((0.5...8).contains(ghost))
            octaves[ghost < 1 ? 0 : ghost < 2 ? 1 : ghost < 4 ? 2 : 3] += 1
            thresholds[try #require(Int(draw[1].value)) - 1] += 1
            words.insert(draw[2].value)
        }
        // Binomial with 4,000 draws: 1,000 and a standard deviation of 27.
        for count in octaves { #expect((860...1_140).contains(count)) }
        // A whole number n stands for n to n + 1: log 2, log 3/2 and log 4/3 in units of log 4.
        #expect((1_840...2_160).contains(thresholds[0]) && (1_030...1_310).contains(thresholds[1]))
        #expect(words == ["main", "small"])
    }

    @Test("a suite names searched values; what is wrong has line and column")
    func suites() throws {
        let fixture = try TuningFixture()
        let suite = try fixture.suite(
            tuning: "tuning: {picked: {position: [1, 2], scale: 0.5..2}, s3-fifo: {small: 0.2}}\n")
        #expect(suite.tuning["picked"]?.parameters.map(\.text) == ["1,2", "0.5..2.0"])
        #expect(suite.tuning["s3-fifo"]?.parameters.map(\.text) == ["0.2"])
        let file = "\(fixture.folder.path)/small.yml"
        for (tuning, sentence) in [
            ("tuning: 7\n", "8:9: 'tuning' is a mapping of names to values, and this is '7'."),
            (
                "tuning: {lur: {a: 1}}\n",
                "8:10: 'lur' is not the name of a policy: write a name without parameters."
            ),
            (
                "tuning: {picked: {places: 1}}\n",
                "8:19: picked has no parameter 'places': it has position, scale, word."
            ),
            (
                "tuning: {picked: {position: [1, x]}}\n",
                "8:19: picked cannot take position=x: position is a whole number from 0 to 1000."
            ),
            ("tuning: {picked: {position: []}}\n", "8:29: 'position' needs at least one value."),
            ("tuning: {picked: {}}\n", "8:18: the searched parameters of picked are missing."),
        ] {
            #expect(throws: ReplayError.data("\(file):\(sentence)")) { try fixture.suite(tuning: tuning) }
        }
    }
}

@Suite("Tuning: the search", .timeLimit(.minutes(20)))
struct TuningSearchTests {
    private typealias Rung = TuningSearch.Rung

    private func candidates(
        _ space: String, _ search: TuningSearch, budget: Int, seed: UInt64 = 1, _ policy: String = "picked"
    ) throws -> [String] {
        let catalogue = TuningFixture.catalogue
        let given = try catalogue.policy(policy)
        let entry = try #require(catalogue.entries.first { $0.info.name == given.info.name })
        return try TuningCandidates(
            given, space: TuningSpace(parsing: space, of: entry), search: search, budget: budget, seed: seed,
            catalogue: catalogue
        ).policies.map(\.label)
    }

    @Test("the rounds of halving and their cost, by hand")
    func halvingByHand() {
        #expect(
            TuningSearch.halving.rungs(candidates: 48) == [
                Rung(divisor: 4, candidates: 48), Rung(divisor: 2, candidates: 24), Rung(divisor: 1, candidates: 12),
            ])
        // 48 / 4 + 24 / 2 + 12 = 36 passes; 49 candidates cost 49 / 4 + 25 / 2 + 13 = 37.75.
        #expect(TuningSearch.halving.candidateCount(budget: 36) == 48)
        #expect(TuningSearch.halving.candidateCount(budget: 37) == 48)
        // 2 / 4 + 1 / 2 + 1 = 2 passes; one candidate costs 1 / 4 + 1 / 2 + 1 = 1.75.
        #expect(TuningSearch.halving.candidateCount(budget: 2) == 2)
        #expect(TuningSearch.halving.candidateCount(budget: 1) == 0)
        #expect(TuningSearch.halving.rungs(candidates: 3).map(\.candidates) == [3, 2, 1])
        #expect(TuningSearch.halving.rungs(candidates: 3).map(\.quarters) == [3, 4, 4])
        for search in [TuningSearch.grid, .random] {
            #expect(search.candidateCount(budget: 36) == 36)
            #expect(search.rungs(candidates: 36) == [Rung(divisor: 1, candidates: 36)])
            #expect(search.rungs(candidates: 36).map(\.quarters) == [36 * 4])
        }
        #expect(throws: ReplayError.usage("A budget of 1 is too small for halving: give at least 2.")) {
            try candidates("scale=1..2", .halving, budget: 1)
        }
    }

    @Test("a grid has all combinations but the policy as given, which comes first and is free")
    func grid() throws {
        #expect(
            try candidates("position=0,1;scale=1,2", .grid, budget: 3) == [
                "picked", "picked(position=0,scale=1.0)", "picked(position=1,scale=1.0)",
                "picked(position=1,scale=2.0)",
            ])
        #expect(
            throws: ReplayError.usage(
                "The grid has 3 combinations and the budget is 2: give fewer values with --grid, a larger --budget, or "
                    + "--search random.")
        ) { try candidates("position=0,1;scale=1,2", .grid, budget: 2) }
        #expect(
            throws: ReplayError.usage("The searched values are those of picked itself: give others.")
        ) { try candidates("position=0", .grid, budget: 2) }
        #expect(
            try candidates("position=1,2", .grid, budget: 2, "picked(word=two)") == [
                "picked(word=two)", "picked(word=two,position=1)", "picked(word=two,position=2)",
            ])
    }

    @Test("a random search has as many different candidates as the budget, by its seed")
    func random() throws {
        let one = try candidates("position=1..900;scale=0.5..5", .random, budget: 20)
        #expect(one.count == 21 && Set(one).count == 21)
        #expect(try candidates("position=1..900;scale=0.5..5", .random, budget: 20) == one)
        #expect(try candidates("position=1..900;scale=0.5..5", .random, budget: 20, seed: 2) != one)
        // All of a small list, whatever the seed; and of a small range.
        #expect(try candidates("position=0,3,4", .random, budget: 20).count == 3)
        #expect(try Set(candidates("position=1..3", .random, budget: 20)).count == 4)
        #expect(try candidates("position=1..900", .halving, budget: 36).count == 49)
    }
}
