import HalcyonSimulation
import HalcyonTrace

/// The counts of a run by resampling unit: users in groups, or blocks of time.
///
/// Runs over the same requests have the same units, so that their differences by unit can be compared. Users are
/// grouped by a fixed hash of their number, whatever part of them is replayed.
public struct UnitCounts: Sendable, Codable, Equatable {
    /// The kind of a unit.
    public enum Kind: String, Sendable, Codable {
        /// A user, or a group of users.
        case users
        /// A block of consecutive requests.
        case timeBlocks = "time_blocks"
    }

    /// The kind of the units.
    package var kind: Kind
    /// The counted requests of each unit.
    package var requests: [Int]
    /// The hits of each unit.
    package var hits: [Int]
    /// The size of each unit's requests. Nil if every object has size 1.
    package var sizes: [Int]?
    /// The size of each unit's hits. Nil if every object has size 1.
    package var hitSizes: [Int]?
}

/// Counts runs over a trace by unit.
struct UnitCounter: Sendable {
    /// The number of groups of users. Their variance has 99 degrees of freedom if groups are alike.
    static let groups = 100
    /// The number of blocks of time.
    static let blocks = ResamplingUnits.timeBlockCount

    let kind: UnitCounts.Kind
    private let sizesMatter: Bool

    /// Decides on the units: users, if enough of them send requests, otherwise blocks of time. O(requests).
    init(_ trace: Trace, warmup: Warmup) {
        kind = ResamplingUnits.kind(of: trace, warmup: warmup)
        sizesMatter = trace.sizeUnit == .bytes
    }

    /// The options that a run needs for its counts by unit.
    func options(_ options: ReplayOptions) -> ReplayOptions {
        var options = options
        options.windows = Self.blocks
        options.byUser = kind == .users
        return options
    }

    /// Returns the counts of a run under ``options(_:)``. O(users).
    func counts(_ recorder: Recorder) -> UnitCounts {
        var tallies = recorder.windows
        if kind == .users {
            tallies = Array(repeating: Tally(), count: Self.groups)
            for (user, tally) in recorder.byUser.enumerated() where tally.requests > 0 {
                tallies[Self.group(ofUser: user)].add(tally)
            }
        }
        return UnitCounts(
            kind: kind, requests: tallies.map(\.requests), hits: tallies.map(\.hits),
            sizes: sizesMatter ? tallies.map(\.size) : nil, hitSizes: sizesMatter ? tallies.map(\.hitSize) : nil)
    }

    /// Returns the group of a user, by its hash.
    static func group(ofUser user: Int) -> Int { Int(UserPart.hash(of: UInt32(user)) % UInt64(groups)) }
}
