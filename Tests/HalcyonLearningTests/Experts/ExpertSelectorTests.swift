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
    func start() {
        #expect(ExpertSelector().best(networkIsReady: false, usesUniformSizes: true) == .greedyDual)
        #expect(ExpertSelector().best(networkIsReady: true, usesUniformSizes: true) == .network)
    }

    @Test("The heuristic with fewer mistakes decides while the network is not ready")
    func heuristics() {
        let selector = selector(network: 0, greedyDual: 0.3, recency: 0.1, decisions: 200)
        #expect(selector.best(networkIsReady: false, usesUniformSizes: true) == .recency)
    }

    @Test("With variable sizes recency never decides, however few its mistakes")
    func recencyBesideSizes() {
        let selector = selector(network: 0, greedyDual: 0.3, recency: 0.1, decisions: 200)
        #expect(selector.best(networkIsReady: false, usesUniformSizes: false) == .greedyDual)
    }

    @Test("The network is overridden when it makes clearly more mistakes, not for a few")
    func overriding() {
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

    @Test("Pairs in order count by their weight, ties half")
    func concordance() {
        var selector = ExpertSelector()
        selector.compare(.init(network: 0, greedyDual: 0, recency: 0, weight: 1), isPositive: false)
        selector.compare(.init(network: 1, greedyDual: 0, recency: -1, weight: 1), isPositive: true)
        #expect(selector.concordance(of: .network) == 1)
        #expect(selector.concordance(of: .greedyDual) == 0.5)
        #expect(selector.concordance(of: .recency) == 0)
    }
}
