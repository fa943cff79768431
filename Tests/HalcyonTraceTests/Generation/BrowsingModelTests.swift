import Testing

@testable import HalcyonTrace

@Suite(.timeLimit(.minutes(20))) struct BrowsingModelTests {
    /// A model small enough for a debug build.
    private func small() -> BrowsingModel {
        var model = BrowsingModel.informative
        model.requests = 20_000
        return model
    }

    @Test func fullSignalMakesLabelsTheGroups() throws {
        let outcome = try small().generateWithTruth(seed: 3)
        #expect(outcome.groups == labels(of: outcome))
    }

    @Test func signalChangesLabelsOnly() throws {
        var model = small()
        model.medianSize = 50_000
        let told = try model.generateWithTruth(seed: 3)
        model.categorySignal = 0
        let untold = try model.generateWithTruth(seed: 3)
        #expect(told.trace.entries == untold.trace.entries)
        #expect(told.trace.users == untold.trace.users)
        #expect(told.trace.times.elementsEqual(untold.trace.times))
        #expect(told.trace.objectSizes == untold.trace.objectSizes)
        #expect(told.groups == untold.groups)
        #expect(told.trace.objectCategories != untold.trace.objectCategories)
    }

    @Test(arguments: [0, 0.5]) func signalIsTheShareOfTrueLabels(signal: Double) throws {
        var model = small()
        model.categorySignal = signal
        let outcome = try model.generateWithTruth(seed: 3)
        let labels = labels(of: outcome)
        let agreeing = zip(outcome.groups, labels).reduce(0) { $0 + ($1.0 == $1.1 ? 1 : 0) }
        // By chance one label in 24 agrees.
        let expected = signal + (1 - signal) / 24
        let count = Double(labels.count)
        let deviation = (expected * (1 - expected) / count).squareRoot()
        #expect(abs(Double(agreeing) / count - expected) < 5 * deviation)
    }

    @Test func uninformativeLabelsAreIndependentOfTheGroups() throws {
        var model = small()
        model.categorySignal = 0
        model.categories = 6
        let outcome = try model.generateWithTruth(seed: 8)
        let labels = labels(of: outcome)
        var table = [Double](repeating: 0, count: 36)
        for (group, label) in zip(outcome.groups, labels) { table[Int(group) * 6 + Int(label)] += 1 }
        let total = table.reduce(0, +)
        var statistic = 0.0
        for group in 0..<6 {
            let row = (0..<6).reduce(0.0) { $0 + table[group * 6 + $1] }
            for label in 0..<6 {
                let column = (0..<6).reduce(0.0) { $0 + table[$1 * 6 + label] }
                let expected = row * column / total
                let difference = table[group * 6 + label] - expected
                statistic += difference * difference / expected
            }
        }
        // Pearson's statistic of 25 degrees of freedom exceeds 61 once in ten thousand draws.
        #expect(statistic < 61)
    }

    /// 400 users, 16 categories, and sizes with a median of 40 KB in every category.
    @Test func sizesOfHarmlessDoNotDependOnTheCategory() throws {
        let outcome = try BrowsingModel.harmless.generateWithTruth(seed: 1, names: false)
        let trace = outcome.trace
        #expect(trace.count == 200_000 && trace.userCount == 400 && trace.categoryCount == 16)
        #expect(outcome.groups == labels(of: outcome))
        for group in UInt32(0)..<16 {
            let sizes = outcome.groups.indices.filter { outcome.groups[$0] == group }.map { trace.objectSizes[$0] }
                .sorted()
            // The standard error of the median of n lognormal sizes of spread 1.2 is 1.25 · 1.2 / √n.
            let error = 1.5 / Double(sizes.count).squareRoot()
            #expect(abs(Double(sizes[sizes.count / 2]) / 40_000 - 1) < 4 * error)
        }
    }

    @Test func parametersHaveTheirStatedEffects() throws {
        var model = small()
        model.repeatShare = 0
        model.scanShare = 0
        model.oneHitShare = 0.5
        model.categoryContrast = 0
        let trace = try model.generate(seed: 1)
        var counts = [Int](repeating: 0, count: trace.objectCount)
        for entry in trace.entries { counts[Int(entry)] += 1 }
        // Half of the requests create a new object; its key is above the catalogue's or that of an arrival.
        let once = counts.reduce(0) { $0 + ($1 == 1 ? 1 : 0) }
        #expect(once > 10_000 - 400)

        model.oneHitShare = 0
        model.arrivals = 0
        #expect(try model.generate(seed: 1).objectCount <= model.categories * model.objectsPerCategory)

        model.stay = 1
        model.sessionLength = 1_000_000
        model.concurrentSessions = 1
        let one = try model.generate(seed: 1)
        #expect(one.userCount == 1)
        #expect(one.categoryCount == 1)
    }

    @Test func scansFollowTheCatalogue() throws {
        var model = small()
        model.requests = 300
        model.concurrentSessions = 1
        model.scanShare = 1
        model.scanLength = 100
        model.arrivals = 0
        let trace = try model.generate(seed: 4)
        let keys = trace.entries.map { Int(trace.names.keys[$0].dropFirst()) ?? -1 }
        for (index, key) in keys.enumerated() where index % 100 > 0 {
            #expect(key == keys[index - 1] + 1 || key == keys[index - 1] + 1 - model.objectsPerCategory)
        }
    }

    @Test func sizesFollowTheGroup() throws {
        var model = small()
        model.medianSize = 50_000
        model.sizeSpread = 0
        model.categorySizeRatio = 16
        let outcome = try model.generateWithTruth(seed: 4)
        #expect(outcome.trace.sizeUnit == .bytes)
        let sizes = Set(outcome.trace.objectSizes)
        #expect(sizes.count == 24)
        #expect(sizes.min() == 12_500 || sizes.min() == 12_499)
        #expect(sizes.max() == 200_000 || sizes.max() == 199_999)
        for (object, group) in outcome.groups.enumerated() {
            let first = outcome.groups.firstIndex(of: group)
            #expect(first.map { outcome.trace.objectSizes[$0] } == outcome.trace.objectSizes[object])
            if object > 300 { break }
        }
    }

    @Test func timesNeverDecrease() throws {
        let trace = try small().generate(seed: 2)
        for index in 1..<trace.count { #expect(trace.times[index] >= trace.times[index - 1]) }
        // 20,000 requests at 0.05 a second take 4.6 days.
        #expect(abs(Double(trace.times[trace.count - 1]) / 86_400e6 - 4.63) < 0.4)
    }

    @Test func invalidParametersAreRejected() {
        var model = small()
        model.stay = 1.2
        #expect(throws: GenerationError(parameter: "stay", value: "1.2", accepted: "from 0.0 to 1.0")) {
            try model.generate(seed: 1)
        }
        model = small()
        model.concurrentSessions = model.users + 1
        #expect(throws: GenerationError.self) { try model.generate(seed: 1) }
    }

    @Test func everyPresetIsFoundByItsName() {
        #expect(BrowsingModel.presetNames.allSatisfy { BrowsingModel.preset(named: $0) != nil })
        #expect(BrowsingModel.preset(named: "market") == nil)
    }

    private func labels(of outcome: BrowsingOutcome) -> [UInt32] {
        outcome.trace.objectCategories.map { set in
            outcome.groupOfCategory[Int(outcome.trace.categorySets[set].first ?? .max)]
        }
    }
}
