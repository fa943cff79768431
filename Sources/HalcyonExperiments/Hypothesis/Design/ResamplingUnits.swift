import HalcyonSimulation
import HalcyonTrace

/// What a bootstrap draws from: users, or stretches of time where users are too few or too unequal to tell much.
struct ResamplingUnits: Sendable {
    /// What a unit is.
    enum Kind: String, Sendable, Codable {
        /// A user, or a random group of users where there are very many.
        case users
        /// A stretch of consecutive requests.
        case timeBlocks = "time_blocks"
    }

    /// Fewer users than this, in users of equal weight, are too few.
    static let fewestUsers = 30.0
    /// Requests without a user may make up this share at most.
    static let largestShareWithoutUser = 0.1
    /// More units than this tell nothing more: users then form as many groups at random.
    static let mostUnits = 2_000
    /// The stretches of time; enough that blocks of several neighbours can be drawn.
    static let stretches = 128

    let kind: Kind
    /// The counted requests of each unit.
    let weights: [Double]
    /// The unit of each user; empty for stretches of time.
    private let unitOfUser: [UInt32]
    /// How a replay must count so that ``hits(_:)`` finds what it needs.
    let replayOptions: ReplayOptions

    /// The units of a trace. O(requests).
    init(_ trace: Trace, warmup: Double, seed: UInt64) {
        var options = ReplayOptions(warmup: warmup, windows: 1)
        let first = options.warmupRequests(of: trace.count)
        var requests = [Double](repeating: 0, count: trace.userCount)
        var withUser = 0
        if trace.hasUsers {
            for user in trace.users[first...] where user != Trace.noUser {
                requests[Int(user)] += 1
                withUser += 1
            }
        }
        let counted = trace.count - first
        let usersServe =
            Bootstrap.effectiveUnits(requests) >= Self.fewestUsers
            && Double(counted - withUser) <= Self.largestShareWithoutUser * Double(counted)
        if usersServe {
            kind = .users
            options.byUser = true
            unitOfUser = Self.units(of: requests, seed: seed)
            var weights = [Double](repeating: 0, count: Int(unitOfUser.filter { $0 != .max }.max() ?? 0) + 1)
            for (user, unit) in unitOfUser.enumerated() where unit != .max { weights[Int(unit)] += requests[user] }
            self.weights = weights
        } else {
            kind = .timeBlocks
            options.windows = Self.stretches
            unitOfUser = []
            let length = Recorder.windowLength(counted: counted, windows: Self.stretches)
            weights = stride(from: 0, to: counted, by: length).map { Double(min(length, counted - $0)) }
        }
        replayOptions = options
    }

    /// The hits of each unit in a replay under ``replayOptions``. O(users).
    func hits(_ counts: Recorder) -> [Double] {
        guard kind == .users else { return counts.windows.map { Double($0.hits) } }
        var hits = [Double](repeating: 0, count: weights.count)
        for (user, tally) in counts.byUser.enumerated() where tally.requests > 0 {
            hits[Int(unitOfUser[user])] += Double(tally.hits)
        }
        return hits
    }

    /// Users with a request, numbered; dealt out at random where they are more than ``mostUnits``.
    private static func units(of requests: [Double], seed: UInt64) -> [UInt32] {
        var active = requests.indices.filter { requests[$0] > 0 }
        if active.count > mostUnits {
            var generator = SeededGenerator(seed: seed, stream: 0x6809)
            for index in stride(from: active.count - 1, to: 0, by: -1) {
                active.swapAt(index, generator.below(index + 1))
            }
        }
        var units = [UInt32](repeating: .max, count: requests.count)
        for (index, user) in active.enumerated() { units[user] = UInt32(index % mostUnits) }
        return units
    }
}
