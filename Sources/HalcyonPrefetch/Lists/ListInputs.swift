import HalcyonEviction
import HalcyonLearning

/// The inputs of an ``OnlineNetwork`` for the items of a list.
///
/// An item has the numbers of ``Input``, each once as it is and once less its mean over the list: a list competes with itself. In front
/// of them are the constant 1 and the length of the list. O(items × categories of each).
struct ListInputs: ~Copyable {
    /// The inputs of an item, in this order.
    private enum Input: Int, CaseIterable {
        /// The place in the list.
        case place, top
        /// What the user has seen of the object: openings, showings, the time since the last one, whether it is new to the user.
        case ownOpenings, ownShowings, ownAge, isNew, wasOpened
        /// The user's openings of its categories by showings, and their part of all openings, over three spans of time.
        case ownRate, ownRateOfWeek, ownRateOfDay, ownPart, ownPartOfWeek, ownPartOfDay
        /// The same of all users.
        case commonRate, commonRateOfWeek, commonRateOfDay, commonPart, commonPartOfWeek, commonPartOfDay
        /// Whether it has a category of the last opened object, and the part of the list that has its categories.
        case likeLast, mix
        /// What all users have done with the object, over three spans of time.
        case rate, rateOfWeek, rateOfDay, openings, openingsOfWeek, openingsOfDay, isUnknown, age
        /// Whether a server announced a count of the object, and the count.
        case isAnnounced, announcedCount
    }

    /// The number of inputs of an item.
    static let count = 2 + 2 * Input.allCases.count
    /// The inputs without which a network is trained where no server announces counts. Their first weights are 0, so that they say
    /// nothing before it has learned what they mean.
    static let silent: [Int] = [2, 2 + Input.allCases.count].flatMap { first in
        [Input.isAnnounced, .announcedCount].map { first + $0.rawValue }
    }

    /// The openings that a category is assumed to have had at the rate of all categories, in addition to its own.
    private static let trust: Float = 4

    let usesCategories: Bool
    let profile: PlannerParameters.Profile
    var sets = CategorySetMembers()

    init(usesCategories: Bool, profile: PlannerParameters.Profile) {
        (self.usesCategories, self.profile) = (usesCategories, profile)
    }

    /// Returns the inputs of all items, item by item, as of the time at which the list is shown.
    ///
    /// - Parameter announced: the counts that a server announced last, by object.
    func rows(_ list: ShownList, of user: ListUser, all: ListHistory, announced: [UInt32: Int] = [:]) -> [Float] {
        let width = Input.allCases.count
        var values = [Float](repeating: 0, count: list.items.count * width)
        let mix = usesCategories ? self.mix(of: list) : [:]
        let last = Set(sets[user.lastCategories])
        for (place, item) in list.items.enumerated() {
            func set(_ input: Input, _ value: Float) { values[place * width + input.rawValue] = value }
            set(.place, FastMath.log2(Float(place + 1)) / 4)
            set(.top, 1 / Float(place + 1))
            if let own = user.objects[item.object] {
                set(.ownOpenings, FastMath.log2(own.opened + 1))
                set(.ownShowings, FastMath.log2(own.shown + 1))
                set(.ownAge, Self.octaves(minutes(from: own.time, to: list.time)) / 10)
                set(.wasOpened, own.opened > 0 ? 1 : 0)
            } else {
                set(.isNew, 1)
            }
            if usesCategories {
                let members = sets[item.categories]
                if profile != .pooled {
                    let taste = taste(members, user.rates, at: list.time)
                    for span in 0..<3 {
                        values[place * width + Input.ownRate.rawValue + span] = taste.rate[span]
                        values[place * width + Input.ownPart.rawValue + span] = taste.part[span]
                    }
                    set(.likeLast, members.contains(where: last.contains) ? 1 : 0)
                }
                if profile != .personal {
                    let taste = taste(members, all.rates, at: list.time)
                    for span in 0..<3 {
                        values[place * width + Input.commonRate.rawValue + span] = taste.rate[span]
                        values[place * width + Input.commonPart.rawValue + span] = taste.part[span]
                    }
                }
                let alike = members.reduce(Float(0)) { $0 + (mix[$1] ?? 0) } / Float(max(members.count, 1))
                set(.mix, members.isEmpty ? 0 : FastMath.log2((alike + 0.5) / Float(list.items.count)))
            }
            if let count = announced[item.object] {
                set(.isAnnounced, 1)
                set(.announcedCount, FastMath.log2(Float(count) + 1) / 4)
            }
            guard let known = all.objects[item.object] else {
                set(.isUnknown, 1)
                continue
            }
            let counts = known.counts.decayed(to: list.time)
            for span in 0..<3 {
                values[place * width + Input.rate.rawValue + span] =
                    FastMath.log2((counts.opened[span] + 0.3) / (counts.shown[span] + 3))
                values[place * width + Input.openings.rawValue + span] = FastMath.log2(counts.opened[span] + 1)
            }
            set(.age, Self.octaves(minutes(from: known.firstTime, to: list.time) / 60) / 5)
        }
        return Self.centred(values, items: list.items.count)
    }

    private func mix(of list: ShownList) -> [UInt32: Float] {
        var mix: [UInt32: Float] = [:]
        for item in list.items { for member in sets[item.categories] { mix[member, default: 0] += 1 } }
        return mix
    }

    /// Returns how readily categories are opened against all of them, and their part of all openings, over three spans of time. Both
    /// are binary logarithms, means over the categories; 0 without a category.
    private func taste(
        _ members: UnsafeBufferPointer<UInt32>, _ rates: CategoryRates, at time: Int64
    ) -> (rate: SIMD4<Float>, part: SIMD4<Float>) {
        var (rate, part) = (SIMD4<Float>.zero, SIMD4<Float>.zero)
        let total = rates.total.decayed(to: time)
        let usual = (total.opened + 1) / (total.shown + 8)
        for member in members {
            let counts = (rates.categories[member] ?? OpeningCounts()).decayed(to: time)
            let expected = Self.trust * usual
            for span in 0..<3 {
                rate[span] += FastMath.log2(
                    (counts.opened[span] + expected[span]) / ((counts.shown[span] + Self.trust) * usual[span]))
                part[span] += FastMath.log2((counts.opened[span] + 0.5) / (total.opened[span] + 4))
            }
        }
        let share = 1 / Float(max(members.count, 1))
        return (rate * share, part * share)
    }

    private func minutes(from start: Int64, to end: Int64) -> Float { Float(max(end &- start, 0)) / 60e6 }

    private static func octaves(_ value: Float) -> Float { FastMath.log2(value + 1) }

    private static func centred(_ values: [Float], items: Int) -> [Float] {
        let width = Input.allCases.count
        var means = [Float](repeating: 0, count: width)
        for place in 0..<items { for input in 0..<width { means[input] += values[place * width + input] } }
        for input in 0..<width { means[input] /= Float(max(items, 1)) }
        var rows: [Float] = []
        rows.reserveCapacity(items * count)
        for place in 0..<items {
            rows.append(1)
            rows.append(FastMath.log2(Float(items)) / 8)
            rows.append(contentsOf: values[place * width..<(place + 1) * width])
            for input in 0..<width { rows.append(values[place * width + input] - means[input]) }
        }
        return rows
    }
}
