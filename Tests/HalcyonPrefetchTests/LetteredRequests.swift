import HalcyonEviction
import HalcyonPrefetch

/// Requests for a prefetch policy, written by hand: objects are letters, `a` is 0.
struct LetteredRequests {
    let policy: any PrefetchPolicy
    /// The categories of letters; the others have none.
    var sets: [Character: CategorySetID] = [:]
    private var index = 0

    init(_ policy: any PrefetchPolicy) { self.policy = policy }

    /// Requests each of the letters; `.` is an object that is requested only once.
    mutating func ask(_ letters: String, user: UInt32 = 0, isHit: Bool = false) {
        for letter in letters where letter != " " {
            policy.note(access(letter, user: user), isHit: isHit)
            index += 1
        }
    }

    /// Returns the proposals after a request for a letter, as letters. Nothing that is held is evicted.
    func plan(after letter: Character, user: UInt32 = 0, limit: Int = 9, holding held: String = "") -> String {
        let held = Set(held.map(number))
        var plan = PrefetchPlan()
        let outlook = PrefetchOutlook(limit: limit, room: .max, holds: { held.contains($0) })
        policy.plan(after: access(letter, user: user), outlook: outlook, into: &plan)
        return String(plan.proposals.map { Character(UnicodeScalar(UInt8($0.object) + UInt8(ascii: "a"))) })
    }

    /// Returns the proposals after each of the letters.
    func plans(after letters: String) -> [String] {
        var plans: [String] = []
        for letter in letters { plans.append(plan(after: letter)) }
        return plans
    }

    func number(_ letter: Character) -> UInt32 {
        letter == "." ? UInt32(1_000 + index) : UInt32(letter.asciiValue ?? 0) - UInt32(UInt8(ascii: "a"))
    }

    private func access(_ letter: Character, user: UInt32) -> Access {
        Access(entry: number(letter), requestNumber: index, categories: sets[letter] ?? 0, user: user)
    }
}
