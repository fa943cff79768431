import HalcyonTestSupport
import Testing

@testable import HalcyonTrace

@Suite(.timeLimit(.minutes(20))) struct ListModelTests {
    @Test func openingsFollowTheChances() throws {
        var model = ListModel()
        model.lists = 6_000
        let (trace, chances) = try model.generateWithTruth(seed: 3)
        let lists = try #require(trace.lists)
        #expect(lists.count == 6_000 && lists.itemCount == 72_000 && chances.count == 72_000)
        // The item that each request opens: of the last list of its user that has its object.
        var last: [UInt64: Int] = [:]
        var isOpened = [Bool](repeating: false, count: lists.itemCount)
        var list = 0
        for request in 0..<trace.count {
            while list < lists.count, lists.positions[list] <= request {
                for item in lists.items(of: list) {
                    last[UInt64(lists.users[list]) << 32 | UInt64(lists.objects[item])] = item
                }
                list += 1
            }
            let item = try #require(last[UInt64(trace.users[request]) << 32 | UInt64(trace.entries[request])])
            isOpened[item] = true
        }
        // Within five standard deviations at each place, and at each rank by chance.
        let ranked = (0..<lists.count).map { list in lists.items(of: list).sorted { chances[$0] > chances[$1] } }
        for rank in 0..<12 {
            for items in [(0..<lists.count).map { lists.items(of: $0).lowerBound + rank }, ranked.map { $0[rank] }] {
                let opened = items.map { chances[$0] * model.openShare }
                let (expected, variance) = (opened.reduce(0, +), opened.reduce(0) { $0 + $1 * (1 - $1) })
                let count = Double(items.count { isOpened[$0] })
                #expect((count - expected) * (count - expected) < 25 * variance, "\(rank): \(count), not \(expected)")
            }
        }
        for list in 0..<lists.count {
            let items = lists.items(of: list)
            #expect(Set(lists.objects[items]).count == 12 && abs(items.reduce(0) { $0 + chances[$1] } - 1) < 1e-9)
        }
    }

    @Test func aFileKeepsTheFeed() throws {
        var model = ListModel()
        (model.lists, model.users, model.openShare, model.categorySignal) = (300, 150, 0.3, 0.5)
        let trace = try model.generate(seed: 1)
        let folder = try TemporaryFolder()
        let path = folder.path + "/lists.csv"
        try TraceWriter.write(trace, to: path)
        let again = try Trace.load(path, .with { $0.names = .all })
        #expect(again.fingerprint == trace.fingerprint && ShownListsTests.text(again) == ShownListsTests.text(trace))
        #expect(again.names == trace.names && again.lists?.names == trace.lists?.names)
        #expect(try model.generate(seed: 1, names: false).fingerprint == trace.fingerprint)
        #expect(try model.generate(seed: 2).fingerprint != trace.fingerprint)
    }

    @Test func invalidParametersAreNamed() {
        var model = ListModel()
        model.catalogue = 11
        let error = #expect(throws: GenerationError.self) { try model.generate(seed: 1) }
        #expect(error?.description == "catalogue is 11; it must be a whole number from 12 to 4294967294.")
    }
}

@Suite(.timeLimit(.minutes(20))) struct KindsModelTests {
    @Test(arguments: [1.0, 8, 20]) func usersRepeatObjectsAtTheRateOfTheirKind(ratio: Double) throws {
        var model = KindsModel()
        (model.reuseRatio, model.reuse) = (ratio, 0.35)
        let trace = try model.generate(seed: 5)
        var known: Set<UInt64> = []
        var counts: [String: (requests: Int, again: Int)] = [:]
        for request in 0..<trace.count {
            let set = trace.categorySets[trace.categorySet(ofRequest: request)]
            let kind = trace.names.categories[set[set.startIndex]]
            let isNew = known.insert(UInt64(trace.users[request]) << 32 | UInt64(trace.entries[request])).inserted
            counts[kind, default: (0, 0)].requests += 1
            if !isNew { counts[kind, default: (0, 0)].again += 1 }
        }
        #expect(abs(model.rates.reduce(0, +) / 4 - 0.35) < 1e-12 && abs(model.rates[0] / model.rates[3] - ratio) < 1e-9)
        for (kind, rate) in zip(KindsModel.kinds, model.rates) {
            let count = try #require(counts[kind])
            // Five standard deviations of some 25,000 requests; a user's first requests of a kind have nothing to repeat.
            #expect(abs(Double(count.again) / Double(count.requests) - rate) < 0.018, "\(kind): \(count), rate \(rate)")
        }
    }

    @Test func sizesAndLabelsAreByKind() throws {
        var model = KindsModel()
        (model.requests, model.sizeSpread) = (20_000, 0)
        let trace = try model.generate(seed: 1)
        let sizes = ["avatars": 8_000, "thumbnails": 20_000, "tiles": 25_000, "pictures": 250_000]
        for object in 0..<trace.objectCount {
            let set = trace.categorySets[trace.objectCategories[object]]
            #expect(Int(trace.objectSizes[object]) == sizes[trace.names.categories[set[set.startIndex]]])
        }
        model.sizeSpread = -1
        let unit = try model.generate(seed: 1)
        #expect(unit.sizeUnit == .objects && unit.entries == trace.entries)
        (model.reuseRatio, model.reuse) = (40, 0.5)
        let error = #expect(throws: GenerationError.self) { try model.generate(seed: 1) }
        // The mean of 1, 40^-1/3, 40^-2/3 and 1/40 is 0.3507.
        #expect(error?.description.hasPrefix("reuse is 0.5; it must be at most 0.35") == true)
    }
}
