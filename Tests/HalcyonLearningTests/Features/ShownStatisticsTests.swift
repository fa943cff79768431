import Foundation
import HalcyonEviction
import Testing

@testable import HalcyonLearning

@Suite("Statistics of what lists showed", .timeLimit(.minutes(20)))
struct ShownStatisticsTests {
    private static func features(_ statistics: borrowing ShownStatistics, _ object: UInt32) -> [Float] {
        var row = [Float](repeating: -1, count: Feature.shown.count)
        statistics.write(object, into: &row, stride: 1)
        return row
    }

    @Test("The features equal counts that are computed from all lists and requests so far")
    func featuresEqualCountsFromAllLists() {
        var statistics = ShownStatistics()
        var random = SplitMix64(seed: 5)
        var lists: [[UInt32]] = []
        var requestedAfter: [UInt32: Int] = [:]
        for _ in 0..<300 {
            let list = (0..<6).map { _ in UInt32(random.next(below: 90)) }
            statistics.note(list)
            lists.append(list)
            for _ in 0..<random.next(below: 3) {
                let object = UInt32(random.next(below: 90))
                statistics.noteRequest(of: object)
                requestedAfter[object] = lists.count
            }
            let object = UInt32(random.next(below: 100))
            let showing = lists.indices.filter { lists[$0].contains(object) }
            guard let last = showing.last, let place = lists[last].firstIndex(of: object) else {
                let told = Self.features(statistics, object)
                #expect(told == Array(repeating: 0, count: 7))
                continue
            }
            let counts = [0.01, 0.001, 0.000_1, 0.000_01].map { rate in
                showing.reduce(0.0) { $0 + exp2(-Double(lists.count - 1 - $1) * rate) }
            }
            let unopened = showing.count { $0 >= requestedAfter[object] ?? 0 }
            let expected =
                [1 + log2(Double(lists.count - last)) * 8] + counts.map { log2($0 + 1) * 16 }
                + [log2(Double(unopened) + 1) * 32, log2(Double(place) + 2) * 32]
            let features = Self.features(statistics, object)
            for (told, value) in zip(features, expected) {
                // Counts are kept to 0.4 % an event, logarithms to 0.01.
                #expect(abs(Double(told) - value) < 0.6, "list \(lists.count), object \(object): \(told) for \(value)")
            }
        }
    }

    @Test("A list counts an object once; objects with equal numbers modulo the bound replace each other")
    func objectsReplaceEachOther() {
        var statistics = ShownStatistics()
        let (near, far) = (UInt32(7), UInt32(ShownStatistics.bound) + 7)
        let never = [Float](repeating: 0, count: 7)
        statistics.note([3, near, near])
        var (ofNear, ofFar) = (Self.features(statistics, near), Self.features(statistics, far))
        #expect(ofNear[5].rounded() == 32, "shown once, and not opened")
        #expect(ofFar == never)
        statistics.note([far])
        statistics.noteRequest(of: near)
        (ofNear, ofFar) = (Self.features(statistics, near), Self.features(statistics, far))
        #expect(ofNear == never)
        #expect(ofFar[5].rounded() == 32 && ofFar[6].rounded() == 32, "not opened, and first of its list")
        let bytes = statistics.byteCount
        #expect(bytes == 64 * 24, "the places of the 64 lowest numbers modulo the bound")
    }

    @Test("A million showings stay within a byte, and any number of objects within the bound")
    func featuresFitInAByte() {
        var statistics = ShownStatistics()
        for _ in 0..<100_000 { statistics.note([1]) }
        statistics.note(Array(stride(from: 0, to: UInt32.max, by: 4_000_037)) + [UInt32.max])
        for object in [1, 0, 4_000_037, .max] as [UInt32] {
            let features = Self.features(statistics, object)
            #expect(features.allSatisfy { (0...255).contains($0) })
        }
        let bytes = statistics.byteCount
        #expect(bytes <= ShownStatistics.bound * 24)
    }

    @Test("A cache that receives lists learns to keep what they will make popular")
    func listsTellWhatBecomesPopular() throws {
        // 300 objects are requested alike. Every 100 requests another 20 of them are shown in lists, and then requested by most.
        let policies = try ["learned(shown=off)", "learned", "learned(shown=on)"].map {
            try PolicyCatalogue.standard.policy($0)
        }
        let hits = policies.map { policy in
            var context = PolicyContext(capacity: 30, seed: 1)
            context.showsLists = true
            let cache = policy.makeCache(context)
            var random = SplitMix64(seed: 9)
            var (shown, hits): ([UInt32], Int) = ([], 0)
            for request in 0..<20_000 {
                if request % 100 == 0 { shown = (0..<20).map { _ in UInt32(random.next(below: 300)) } }
                if request % 10 == 0 { cache.shown(shown) }
                let isOfList = random.next(below: 10) < 7
                let object = isOfList ? shown[random.next(below: 20)] : UInt32(random.next(below: 300))
                if cache.access(Access(entry: object, requestNumber: request, time: Int64(request))) == .hit {
                    hits += 1
                }
            }
            return hits
        }
        #expect(hits[1] == hits[2], "auto is on where the cache receives lists")
        #expect(Double(hits[1]) > Double(hits[0]) * 1.05, "\(hits)")
    }

    @Test("Without lists, and on a device with the shipped model, lists are no input")
    func autoNeedsListsAndNoTrainedModel() throws {
        var context = PolicyContext(capacity: 10)
        #expect(LearnedParameters().resolved(for: context).shown == .off)
        context.showsLists = true
        #expect(LearnedParameters().resolved(for: context).groups.contains(.shown))
        context.servesOneUser = true
        let onDevice = LearnedParameters().resolved(for: context)
        #expect(onDevice.shown == .off && onDevice.model == .shipped)
        var parameters = LearnedParameters()
        parameters.workload = .on
        #expect(parameters.resolved(for: context).shown == .off)
        parameters.shown = .on
        #expect(
            parameters.conflict
                == "shown=on and workload=on take the same inputs of the network: leave out one of them.")
    }

    @Test("A model that was trained with lists names their features, and is read again as it was")
    func modelFileNamesItsFeatures() throws {
        let groups: FeatureGroups = [.recency, .frequency, .shown]
        let names = Feature.names(of: groups)
        #expect(names.count == Feature.width && Array(names[Feature.shown]) == ShownStatistics.names)
        #expect(Array(Feature.names(of: [.workload])[Feature.workload]) == WorkloadStatistics.names)
        let weights = (0..<Perceptron.parameterCount(inputs: Feature.width, hidden: 4)).map { Float($0) / 100 }
        let model = PretrainedModel(
            weights: weights, inputs: Feature.width, hidden: 4, groups: groups, objective: .objects, perMiss: 1,
            perByte: 0, baseWindow: 0.2, windowMultiplier: 1, trainingSteps: 9, trainingSamples: 8, kernels: .portable,
            producer: "test")
        let read = try PretrainedModel(parsing: model.data())
        #expect(read.groups == groups && read.weights == weights)
    }
}
