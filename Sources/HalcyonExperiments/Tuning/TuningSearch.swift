import HalcyonEviction
import HalcyonSimulation
import HalcyonSupport

/// How a tuning searches the space of a policy's parameters.
public enum TuningSearch: String, Sendable, Codable, CaseIterable {
    /// All combinations of values, each replayed at full length.
    case grid
    /// Combinations drawn at random, each replayed at full length.
    case random
    /// Successive halving of combinations drawn at random. All of them run on the first quarter of the requests, the
    /// better half on the first half, and the better half of these at full length. Source: Jamieson and Talwalkar, "Non-stochastic
    /// best arm identification and hyperparameter optimization", AISTATS 2016, with η = 2 and three rungs.
    case halving

    /// Whether the candidates depend on a seed.
    var isRandomised: Bool { self != .grid }

    /// A round of a search.
    struct Rung: Equatable {
        /// The part of the requests, from the start: one in this number.
        let divisor: Int
        /// The number of candidates, without the defaults.
        let candidates: Int

        /// The part as text: `1/4`, or `1` for all requests.
        var share: String { divisor == 1 ? "1" : "1/\(divisor)" }
        /// The cost in quarters of a pass over all requests.
        var quarters: Int { candidates * 4 / divisor }
    }

    /// Returns the rounds for a number of candidates.
    func rungs(candidates: Int) -> [Rung] {
        guard self == .halving else { return [Rung(divisor: 1, candidates: candidates)] }
        let half = (candidates + 1) / 2
        return [
            Rung(divisor: 4, candidates: candidates), Rung(divisor: 2, candidates: half),
            Rung(divisor: 1, candidates: (half + 1) / 2),
        ]
    }

    /// Returns the largest number of candidates whose rounds cost at most `budget` passes over all requests.
    func candidateCount(budget: Int) -> Int {
        guard self == .halving else { return budget }
        var count = 0
        while rungs(candidates: count + 1).reduce(0, { $0 + $1.quarters }) <= budget * 4 { count += 1 }
        return count
    }
}

/// The candidates of a tuning, the policy as given first.
struct TuningCandidates {
    /// The policies: that of the user, then those of the search.
    let policies: [ConfiguredPolicy]

    /// Creates the candidates. Two combinations with equal parameters count once; so does one that equals the defaults.
    ///
    /// - Throws: `ReplayError.usage(_:)` if the grid exceeds the budget, the budget is too small, or parameters
    ///   exclude each other.
    init(
        _ given: ConfiguredPolicy, space: TuningSpace, search: TuningSearch, budget: Int, seed: UInt64,
        catalogue: PolicyCatalogue
    ) throws(ReplayError) {
        let count = search.candidateCount(budget: budget)
        guard count > 0 else {
            throw .usage("A budget of \(budget) is too small for \(search.rawValue): give at least 2.")
        }
        var policies = [given]
        var seen: Set<String> = [Self.key(given)]
        func add(_ settings: [PolicySpec.Setting]) throws(PolicyError) {
            let spec = PolicySpec(name: given.info.name, settings: given.settings + settings)
            let policy = try catalogue.policy(spec.description)
            if seen.insert(Self.key(policy)).inserted { policies.append(policy) }
        }
        let all = space.combinations(most: search == .grid ? 100_000 : count)
        let isFinite = space.parameters.allSatisfy { if case .list = $0.values { true } else { false } }
        if search == .grid {
            do throws(PolicyError) {
                for settings in all ?? [] { try add(settings) }
            } catch { throw .usage(error.description) }
            guard all != nil, policies.count - 1 <= count else {
                let size = all == nil ? space.combinationCount ?? .max : policies.count - 1
                throw .usage(
                    "The grid has \(size.grouped) combinations and the budget is \(budget): give fewer values with --grid, a "
                        + "larger --budget, or --search random.")
            }
        } else if isFinite, let all {
            // The budget suffices for all combinations. Those that exclude each other are left out.
            for settings in all { try? add(settings) }
        } else {
            var random = SeededGenerator(seed: seed, stream: 0x7475_6e65)
            // In a small space, most draws repeat an earlier one after some time.
            var draws = 0
            while policies.count <= count, draws < count * 1_000 {
                try? add(space.draw(&random))
                draws += 1
            }
        }
        guard policies.count > 1 else {
            throw .usage("The searched values are those of \(given.label) itself: give others.")
        }
        self.policies = policies
    }

    /// The values of all parameters as text.
    private static func key(_ policy: ConfiguredPolicy) -> String {
        policy.parameters.map { "\($0.name)=\($0.value)" }.joined(separator: ",")
    }
}
