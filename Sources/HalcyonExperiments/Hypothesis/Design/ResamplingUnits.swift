import HalcyonSimulation
import HalcyonTrace

/// The units of the variance: users, or time blocks if users are too few or too unequal.
struct ResamplingUnits: Sendable {
    typealias Kind = UnitCounts.Kind

    /// The minimum effective number of users of equal weight.
    static let fewestUsers = 30.0
    /// The maximum share of requests without a user.
    static let largestShareWithoutUser = 0.1
    /// The maximum number of units. More users are divided at random into this number of groups.
    static let mostUnits = 2_000
    /// The number of time blocks, large enough to show how long a series depends on itself.
    static let timeBlockCount = 128

    let kind: Kind
    /// The counted requests of each unit.
    let weights: [Double]
    /// The unit of each user; empty for time blocks.
    private let unitOfUser: [UInt32]
    /// The replay options that ``hits(_:)`` needs.
    let replayOptions: ReplayOptions

    /// Creates the units of a trace. O(requests).
    init(_ trace: Trace, warmup: Warmup, seed: UInt64) {
        var options = ReplayOptions(warmup: warmup, windows: 1)
        let (requests, usersServe) = Self.users(trace, warmup: warmup)
        let counted = trace.count - warmup.requests(of: trace)
        if usersServe {
            kind = .users
            options.byUser = true
            unitOfUser = Self.units(of: requests, seed: seed)
            var weights = [Double](repeating: 0, count: Int(unitOfUser.filter { $0 != .max }.max() ?? 0) + 1)
            for (user, unit) in unitOfUser.enumerated() where unit != .max { weights[Int(unit)] += requests[user] }
            self.weights = weights
        } else {
            kind = .timeBlocks
            options.windows = Self.timeBlockCount
            unitOfUser = []
            let length = Recorder.windowLength(counted: counted, windows: Self.timeBlockCount)
            weights = stride(from: 0, to: counted, by: length).map { Double(min(length, counted - $0)) }
        }
        replayOptions = options
    }

    /// Returns the kind of the units of a trace. O(requests).
    static func kind(of trace: Trace, warmup: Warmup) -> Kind {
        users(trace, warmup: warmup).serve ? .users : .timeBlocks
    }

    /// Returns the counted requests of each user, and whether the users serve as units: whether there are enough, and
    /// few requests without a user. O(requests).
    private static func users(_ trace: Trace, warmup: Warmup) -> (requests: [Double], serve: Bool) {
        let first = warmup.requests(of: trace)
        var requests = [Double](repeating: 0, count: trace.userCount)
        var withUser = 0
        if trace.hasUsers {
            for user in trace.users[first...] where user != Trace.noUser {
                requests[Int(user)] += 1
                withUser += 1
            }
        }
        let counted = trace.count - first
        let serve =
            UnitVariance.effectiveUnits(requests) >= fewestUsers
            && Double(counted - withUser) <= largestShareWithoutUser * Double(counted)
        return (requests, serve)
    }

    /// Returns the hits of each unit in a replay under ``replayOptions``. O(users).
    func hits(_ counts: Recorder) -> [Double] {
        guard kind == .users else { return counts.windows.map { Double($0.hits) } }
        var hits = [Double](repeating: 0, count: weights.count)
        for (user, tally) in counts.byUser.enumerated() where tally.requests > 0 {
            hits[Int(unitOfUser[user])] += Double(tally.hits)
        }
        return hits
    }

    /// Returns the unit of each user with a request, assigned at random if there are more than ``mostUnits``.
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
