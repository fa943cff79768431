import HalcyonEviction
import HalcyonPrefetch

/// A prefetch policy that is asked by hand: objects are letters, `a` is 0.
struct LetteredRequests {
    let policy: any PrefetchPolicy
    /// The categories of letters; the others have none.
    var sets: [Character: CategorySetID] = [:]
    private var index = 0

    init(_ policy: any PrefetchPolicy) { self.policy = policy }

    /// A user asks for each of the letters; `.` is a request of somebody for something never seen again.
    mutating func ask(_ letters: String, user: UInt32 = 0, isHit: Bool = false) {
        for letter in letters where letter != " " {
            policy.note(access(letter, user: user), isHit: isHit)
            index += 1
        }
    }

    /// What is planned after a user has asked for a letter, as letters; what is held never leaves.
    func plan(after letter: Character, user: UInt32 = 0, limit: Int = 9, holding held: String = "") -> String {
        let held = Set(held.map(number))
        var plan = PrefetchPlan()
        let outlook = PrefetchOutlook(limit: limit, room: .max, holds: { held.contains($0) })
        policy.plan(after: access(letter, user: user), outlook: outlook, into: &plan)
        return String(plan.proposals.map { Character(UnicodeScalar(UInt8($0.object) + UInt8(ascii: "a"))) })
    }

    /// What is planned after each of the letters.
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
