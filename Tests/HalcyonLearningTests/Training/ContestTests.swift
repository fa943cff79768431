import Testing

@testable import HalcyonLearning

@Suite("Who decides")
struct ContestTests {
    private func contest(network: Double, greedyDual: Double, recency: Double, choices: Int) -> Contest {
        var contest = Contest()
        for index in 0..<choices {
            for (judge, share) in [
                (Contest.Judge.network, network), (.greedyDual, greedyDual), (.recency, recency),
            ] {
                let isMistake = Double(index + 1) * share - (Double(index) * share).rounded(.down) >= 1
                contest.note(choices: judge.choice, isPositive: isMistake, weight: 1)
            }
        }
        return contest
    }

    @Test("GDSF before anything is known, the network as soon as it is ready")
    func start() {
        #expect(Contest().winner(networkIsReady: false, costsDiffer: false) == .greedyDual)
        #expect(Contest().winner(networkIsReady: true, costsDiffer: false) == .network)
    }

    @Test("The heuristic with fewer mistakes while the network is not ready")
    func heuristics() {
        let contest = contest(network: 0, greedyDual: 0.3, recency: 0.1, choices: 200)
        #expect(contest.winner(networkIsReady: false, costsDiffer: false) == .recency)
    }

    @Test("Where objects take different room recency never decides, however few its mistakes")
    func recencyBesideSizes() {
        let contest = contest(network: 0, greedyDual: 0.3, recency: 0.1, choices: 200)
        #expect(contest.winner(networkIsReady: false, costsDiffer: true) == .greedyDual)
    }

    @Test("The network hands back when it makes clearly more mistakes, not for a few")
    func handingBack() {
        #expect(
            contest(network: 0.4, greedyDual: 0.2, recency: 0.5, choices: 1_000).winner(
                networkIsReady: true, costsDiffer: false)
                == .greedyDual)
        #expect(
            contest(network: 0.21, greedyDual: 0.2, recency: 0.5, choices: 1_000).winner(
                networkIsReady: true, costsDiffer: false)
                == .network)
        #expect(
            contest(network: 0.1, greedyDual: 0.2, recency: 0.5, choices: 1_000).winner(
                networkIsReady: true, costsDiffer: false)
                == .network)
    }

    @Test("Pairs in order are counted by weight, ties by half")
    func concordance() {
        var contest = Contest()
        contest.note(.init(network: 0, greedyDual: 0, recency: 0, weight: 1), isPositive: false)
        contest.note(.init(network: 1, greedyDual: 0, recency: -1, weight: 1), isPositive: true)
        #expect(contest.concordance(.network) == 1)
        #expect(contest.concordance(.greedyDual) == 0.5)
        #expect(contest.concordance(.recency) == 0)
    }
}
