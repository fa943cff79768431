import Foundation
import HalcyonTestSupport
import HalcyonTraceTestSupport
import HalcyonTrace
import Testing

@testable import HalcyonSimulation

@Suite("Inspection of a trace", .timeLimit(.minutes(20)))
struct TraceInspectionTests {
    /// Two users, three objects of two categories: x = {0, 1}, y = {2}.
    private func small() -> Trace {
        var sets = CategorySets()
        let x = sets.number(of: [0])
        let y = sets.number(of: [1])
        var names = TraceNames()
        names.categories = StringTable(["x", "y"])
        names.users = StringTable(["ann", "bob"])
        return Trace(
            entries: [0, 1, 0, 0, 2, 1], times: TimeColumn([0, 10, 20, 30, 40, 50].map { $0 * 1_000_000 }),
            users: [0, 1, 0, 0, 0, Trace.noUser], objectSizes: [100, 10, 1], objectCategories: [x, x, y],
            categorySets: sets, categoryCount: 2, userCount: 2, sizeUnit: .bytes, names: names)
    }

    @Test("The inspection has the figures worked by hand")
    func inspectionMatchesFiguresByHand() throws {
        let inspection = TraceInspection(of: small())
        #expect(inspection.requests == 6)
        #expect(inspection.objects == 3)
        #expect(inspection.oneHitWonders == 1)
        #expect(inspection.distinctSize == 111)
        #expect(inspection.requestedSize == 321)
        #expect(inspection.timeSpan == TraceInspection.TimeRange(first: 0, last: 50_000_000))
        // Distances: 0 again at 2, 0 again at 1, 1 again at 3.
        #expect(inspection.reuse.reaccesses == 3)
        #expect(inspection.reuse.log2Histogram == [1, 2])
        #expect(inspection.reuse.percentiles?.p25 == 1)
        #expect(inspection.reuse.percentiles?.p50 == 2)
        #expect(inspection.reuse.percentiles?.p99 == 3)
        let categories = try #require(inspection.categories)
        #expect(categories.count == 2)
        #expect(categories.categorised == 1)
        #expect(categories.top.map(\.name) == ["x", "y"])
        #expect(categories.top.map(\.requests) == [5, 1])
        // Ann: x x x y, of which one pair is of different objects.
        let persistence = try #require(categories.persistence)
        #expect(persistence.pairs == 3)
        #expect(abs(persistence.sameAsPrevious - 2.0 / 3) < 1e-12)
        #expect(persistence.sameAsPreviousOtherObject == 0)
        #expect(abs(persistence.chance - 26.0 / 36) < 1e-12)
        let users = try #require(inspection.users)
        #expect(users.count == 2)
        #expect(users.requestsWithoutUser == 1)
        #expect(users.top.map(\.name) == ["ann", "bob"])
        #expect(users.reaccess == 0.4)
        #expect(users.immediateRepeats == 0.4)
    }

    @Test("The factor of reuse compares the 90th percentile of categories with the 10th")
    func reuseOfCategoriesIsTheFactorByHand() throws {
        var sets = CategorySets()
        let (x, y, both) = (sets.number(of: [0]), sets.number(of: [1]), sets.number(of: [0, 1]))
        // Ann: 0 0 0 1 1, Bob: 0 1 2 2. Object 0 is x, 1 is y and 2 is both.
        let trace = Trace(
            entries: [0, 0, 0, 0, 1, 1, 1, 2, 2], times: TimeColumn(count: 9), users: [0, 1, 0, 0, 0, 1, 0, 1, 1],
            objectSizes: [1, 1, 1], objectCategories: [x, y, both], categorySets: sets, categoryCount: 2, userCount: 2)
        let reuse = try #require(TraceInspection(of: trace).categories?.reuse)
        // x: 6 requests, of which 3 again; y: 5, of which 2 again.
        #expect(reuse.low == 0.4 && reuse.high == 0.5)
        #expect(reuse.ratio == 1.25)
    }

    @Test("Lists have the figures worked by hand")
    func listsHaveTheFiguresByHand() throws {
        var sets = CategorySets()
        let (x, y) = (sets.number(of: [0]), sets.number(of: [1]))
        var lists = ShownLists(shownOnlySizes: [1])
        lists.append(position: 0, time: 0, user: 0, objects: [0, 1, 2], categories: [x, x, y])
        lists.append(position: 1, time: 5, user: 1, objects: [1], categories: [x])
        lists.append(position: 3, time: 9, user: 0, objects: [0, 1], categories: [x, x])
        // Ann opens 0 four later, Bob 1 at the time of his list and again, and Ann 0 of her second list. No list showed 1
        // to the third user.
        let trace = Trace(
            entries: [0, 1, 1, 0, 1], times: TimeColumn([4, 5, 8, 10, 11]), users: [0, 1, 1, 0, 2],
            objectSizes: [1, 1],
            objectCategories: [x, x], categorySets: sets, categoryCount: 1, userCount: 3, lists: lists)
        let inspection = TraceInspection(of: trace)
        let mix = try #require(inspection.lists)
        #expect((mix.lists, mix.items, mix.objects, mix.shownOnly) == (3, 6, 3, 1))
        #expect(mix.medianSize == 2 && mix.largestSize == 3)
        #expect(mix.listsOpened == 1 && mix.itemsOpened == 0.5 && mix.requestsShown == 0.8)
        #expect(mix.categoriesPerList == 4.0 / 3)
        #expect(mix.opening == ListMix.Opening(count: 3, median: 1, simultaneous: 1.0 / 3))
        #expect(inspection.text.contains("3 with 6 items (median 2, at most 3), 3 objects, 1 never requested\n"))
        #expect(TraceInspection(of: small()).lists == nil)
    }

    @Test("Chance counts pairs of sets that share a category")
    func chanceCountsPairsThatShareACategory() throws {
        var sets = CategorySets()
        let comedy = sets.number(of: [0])
        let both = sets.number(of: [0, 1])
        let drama = sets.number(of: [1])
        let trace = Trace(
            entries: [0, 1, 2, 3], times: TimeColumn(count: 4), objectSizes: [1, 1, 1, 1],
            objectCategories: [comedy, both, drama, 0], categorySets: sets, categoryCount: 2)
        let mix = try #require(TraceInspection(of: trace).categories)
        #expect(mix.categorised == 0.75)
        // Of the nine ordered pairs of three sets only comedy with drama and drama with comedy share none.
        #expect(abs((mix.persistence?.chance ?? 0) - 7.0 / 9) < 1e-12)
        #expect(mix.persistence?.sameAsPrevious == 1)
    }

    @Test("An empty trace, or one without users and categories, has no figures of them")
    func emptyTraceHasNoFiguresOfUsersAndCategories() {
        let empty = TraceInspection(of: Trace(entries: [], times: TimeColumn(count: 0), objectSizes: []))
        #expect(empty.requests == 0 && empty.timeSpan == nil && empty.popularity == nil)
        #expect(empty.reuse.percentiles == nil && empty.categories == nil && empty.users == nil)
        #expect(empty.text.hasPrefix("requests"))
        #expect(TraceInspection(of: TinyTraces.unit([0, 1, 0])).users == nil)
    }

    @Test("The popularity slope of a Zipf trace is within 0.03 of its exponent", arguments: [0.6, 0.8, 1, 1.2])
    func slopeOfAZipfTraceIsItsAlpha(alpha: Double) throws {
        let trace = try ZipfModel(requests: 200_000, objects: 2_000, alpha: alpha).generate(seed: 1, names: false)
        let slope = try #require(TraceInspection(of: trace).popularity)
        #expect(abs(slope.alpha - alpha) < 0.03)
        #expect(slope.rSquared > 0.99)
    }

    @Test("The slope of a power law without noise is exact, that of equal counts 0")
    func slopeOfAPowerLawIsExact() throws {
        let counts = (1...200).map { Int((1e9 / Double($0)).rounded()) }
        #expect(abs(try #require(PopularitySlope(counts: counts)).alpha - 1) < 1e-6)
        #expect(try #require(PopularitySlope(counts: [9, 9, 9, 9])).alpha == 0)
        #expect(PopularitySlope(counts: [9, 9, 4, 4]) == nil)
    }

    @Test("The text contains the shares, repeats and time span of the trace")
    func textContainsTheFiguresOfTheTrace() {
        let text = TraceInspection(of: small()).text
        #expect(text.contains("x 83.33 %, y 16.67 %"))
        #expect(text.contains("66.67 % against 72.22 % by chance (0.00 % where the object is another)"))
        #expect(text.contains("40.00 % (immediate repeats 40.00 %)"))
        #expect(text.contains("50.000 seconds"))
    }

    @Test("An inspection is equal after encoding to JSON and decoding")
    func inspectionIsEqualAfterJSON() throws {
        let inspection = TraceInspection(of: small())
        let data = try JSONEncoder().encode(inspection)
        #expect(try JSONDecoder().decode(TraceInspection.self, from: data) == inspection)
    }

    /// Counted independently by a short script over sets of pairs, in tenths of a per cent.
    @Test("Re-access ratios of real traces are those counted by an independent script")
    func sharesOfRealTracesAreThoseKnown() throws {
        guard let folder = HalcyonTestSupport.realTraces(for: "the shares of real traces") else { return }
        func inspect(_ name: String) throws -> TraceInspection {
            TraceInspection(of: try Trace.load(folder.appendingPathComponent("categories/\(name).csv.gz").path))
        }
        func tenths(_ share: Double?) -> Int { Int(((share ?? -1) * 1_000).rounded()) }

        let taobao = try inspect("taobao_users")
        #expect(taobao.requests == 42_080)
        #expect(tenths(taobao.users?.reaccess) == 244)
        #expect(tenths(taobao.users?.immediateRepeats) == 0)
        let albums = try inspect("lastfm_albumart")
        #expect(tenths(albums.users?.reaccess) == 813)
        #expect(tenths(albums.users?.immediateRepeats) == 305)
        let retail = try inspect("onlineretail")
        #expect(tenths(retail.users?.reaccess) == 314)
        #expect(retail.users?.requestsWithoutUser == 330_991 - 198_475)
    }
}
