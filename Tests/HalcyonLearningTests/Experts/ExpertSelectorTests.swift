import Testing

@testable import HalcyonLearning

@Suite("Expert selection", .timeLimit(.minutes(20)))
struct ExpertSelectorTests {
    private func selector(network: Double, greedyDual: Double, recency: Double, decisions: Int) -> ExpertSelector {
        var selector = ExpertSelector()
        for index in 0..<decisions {
            for (expert, share) in [
                (Expert.network, network), (.greedyDual, greedyDual), (.recency, recency),
            ] {
                let isMistake = Double(index + 1) * share - (Double(index) * share).rounded(.down) >= 1
                selector.countDecision(marks: expert.mark, isPositive: isMistake, weight: 1)
            }
        }
        return selector
    }

    @Test("GDSF decides at first, the network as soon as it is ready")
    func gdsfDecidesUntilTheNetworkIsReady() {
        #expect(ExpertSelector().best(networkIsReady: false, usesUniformSizes: true) == .greedyDual)
        #expect(ExpertSelector().best(networkIsReady: true, usesUniformSizes: true) == .network)
    }

    @Test("Before the network is ready the heuristic with fewer mistakes decides")
    func heuristicWithFewerMistakesDecidesBeforeTheNetwork() {
        let selector = selector(network: 0, greedyDual: 0.3, recency: 0.1, decisions: 200)
        #expect(selector.best(networkIsReady: false, usesUniformSizes: true) == .recency)
    }

    @Test("With variable sizes recency never decides, although it makes the fewest mistakes")
    func recencyNeverDecidesWithVariableSizes() {
        let selector = selector(network: 0, greedyDual: 0.3, recency: 0.1, decisions: 200)
        #expect(selector.best(networkIsReady: false, usesUniformSizes: false) == .greedyDual)
    }

    @Test("The network is overridden only when it makes clearly more mistakes")
    func networkIsOverriddenAfterClearlyMoreMistakes() {
        #expect(
            selector(network: 0.4, greedyDual: 0.2, recency: 0.5, decisions: 1_000).best(
                networkIsReady: true, usesUniformSizes: true)
                == .greedyDual)
        #expect(
            selector(network: 0.21, greedyDual: 0.2, recency: 0.5, decisions: 1_000).best(
                networkIsReady: true, usesUniformSizes: true)
                == .network)
        #expect(
            selector(network: 0.1, greedyDual: 0.2, recency: 0.5, decisions: 1_000).best(
                networkIsReady: true, usesUniformSizes: true)
                == .network)
    }

    @Test("Concordance counts correctly ordered pairs by their weight and ties half")
    func concordanceWeighsPairsAndCountsTiesHalf() {
        var selector = ExpertSelector()
        selector.compare(.init(network: 0, greedyDual: 0, recency: 0, weight: 1), isPositive: false)
        selector.compare(.init(network: 1, greedyDual: 0, recency: -1, weight: 1), isPositive: true)
        #expect(selector.concordance(of: .network) == 1)
        #expect(selector.concordance(of: .greedyDual) == 0.5)
        #expect(selector.concordance(of: .recency) == 0)
    }
}
