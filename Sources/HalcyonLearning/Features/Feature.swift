/// The groups of features. Each can be switched off.
package struct FeatureGroups: OptionSet, Sendable {
    package let rawValue: UInt16

    package init(rawValue: UInt16) { self.rawValue = rawValue }

    /// The time since the last access, the gaps between the last accesses, the time since the first access.
    package static let recency = FeatureGroups(rawValue: 1 << 0)
    /// The accesses decayed at several time scales, all accesses, the priority by ``GreedyDual``.
    package static let frequency = FeatureGroups(rawValue: 1 << 1)
    /// The size of the object.
    package static let size = FeatureGroups(rawValue: 1 << 2)
    /// The number of changes of the object's user.
    package static let popularity = FeatureGroups(rawValue: 1 << 3)
    /// The use of the object's categories by all users.
    package static let category = FeatureGroups(rawValue: 1 << 4)
    /// The use of the object's categories by the user of its last access.
    package static let user = FeatureGroups(rawValue: 1 << 5)
    /// Whether the object's categories are in use now, and the probability that they follow.
    package static let session = FeatureGroups(rawValue: 1 << 6)
    /// The wall time since the last access, the time of day and of the week.
    package static let time = FeatureGroups(rawValue: 1 << 7)
    /// The activity of the user of the last access: all accesses, those in this session, the time since the last one.
    package static let activity = FeatureGroups(rawValue: 1 << 8)

    package static let all = FeatureGroups(rawValue: 0x1FF)
}

/// The places of the features in a row of ``width`` bytes.
@usableFromInline
package enum Feature {
    /// The bytes of a row.
    @usableFromInline package static let width = 38

    @usableFromInline package static let age = 0, gap1 = 1, gap2 = 2, gap3 = 3, sinceFirst = 4
    @usableFromInline package static let count0 = 5, count1 = 6, count2 = 7, count3 = 8, accesses = 9, worth = 10,
        residentAccesses = 11
    @usableFromInline package static let size = 12
    @usableFromInline package static let userChanges = 13
    @usableFromInline package static let categoryFast = 14, categorySlow = 15, categoryAge = 16, categoryReuse = 17,
        categoryGap = 18
    @usableFromInline package static let userRate = 19, userAge = 20, userShare = 21, userGap = 22, userDistinct = 23,
        userReuse = 24
    @usableFromInline package static let active = 25, transition = 26
    @usableFromInline package static let seconds = 27, dayPhase = 28, dayQuadrature = 29, weekPhase = 30,
        weekQuadrature = 31
    @usableFromInline package static let sinceUser = 32, sessionLength = 33, userAccesses = 34
    /// Two features of a removed group, always 0. The initial weights and the model files depend on the width of a row.
    static let unused = 35..<37
    /// The constant 1, which replaces a bias.
    @usableFromInline package static let one = 37

    /// Returns a byte as an input around 0: (byte − 64) / 64.
    @inline(__always)
    static func input(_ level: Float) -> Float { level * 0.015_625 - 1 }

    /// The user–category features, which depend on the user and the categories alone, in two ranges.
    @usableFromInline package static let userCategory = categoryFast..<transition + 1
    @usableFromInline package static let activity = sinceUser..<userAccesses + 1

    /// The time-of-day features, and those of the time of the week.
    @usableFromInline package static let timeOfDay = dayPhase..<weekQuadrature + 1

    /// Returns the feature at a place of ``userCategory`` and, after it, ``activity``.
    @inline(__always)
    static func userCategoryFeature(_ place: Int) -> Int {
        place < userCategory.count
            ? userCategory.lowerBound + place : activity.lowerBound + place - userCategory.count
    }

    /// Returns the place of a feature for ``userCategoryFeature(_:)``.
    @inlinable @inline(__always)
    package static func userCategoryPlace(_ feature: Int) -> Int {
        feature < userCategory.upperBound
            ? feature - userCategory.lowerBound : feature - activity.lowerBound + userCategory.count
    }

    /// Sets the user–category features of a row to 0.
    @inline(__always)
    static func clearUserCategory(of row: UnsafeMutablePointer<Float>) {
        (row + userCategory.lowerBound).update(repeating: 0, count: userCategory.count)
        (row + activity.lowerBound).update(repeating: 0, count: activity.count)
    }
}

/// The names of the features in model files and reports.
extension Feature {
    /// The numbers of features that a network may have.
    static let layouts = [width]

    /// The name of each place of a row. The ``unused`` places keep their names in model files.
    static let names: [String] = {
        FeatureGroups.named.flatMap { $0.features.map(\.name) } + ["fleet_rate", "fleet_accesses", "one"]
    }()
}

extension FeatureGroups {
    /// A group with its name and its features.
    struct Named: Sendable {
        let group: FeatureGroups
        let name: String
        let features: [(place: Int, name: String)]
    }

    /// The groups in the order of lists.
    static let named: [Named] = [
        Named(
            group: .recency, name: "recency",
            features: [
                (Feature.age, "age"), (Feature.gap1, "gap_1"), (Feature.gap2, "gap_2"), (Feature.gap3, "gap_3"),
                (Feature.sinceFirst, "since_first"),
            ]),
        Named(
            group: .frequency, name: "frequency",
            features: [
                (Feature.count0, "count_0"), (Feature.count1, "count_1"), (Feature.count2, "count_2"),
                (Feature.count3, "count_3"), (Feature.accesses, "accesses"), (Feature.worth, "worth"),
                (Feature.residentAccesses, "resident_accesses"),
            ]),
        Named(group: .size, name: "size", features: [(Feature.size, "size")]),
        Named(
            group: .popularity, name: "popularity",
            features: [(Feature.userChanges, "user_changes")]),
        Named(
            group: .category, name: "category",
            features: [
                (Feature.categoryFast, "category_fast"), (Feature.categorySlow, "category_slow"),
                (Feature.categoryAge, "category_age"), (Feature.categoryReuse, "category_reuse"),
                (Feature.categoryGap, "category_gap"),
            ]),
        Named(
            group: .user, name: "user",
            features: [
                (Feature.userRate, "user_rate"), (Feature.userAge, "user_age"), (Feature.userShare, "user_share"),
                (Feature.userGap, "user_gap"), (Feature.userDistinct, "user_distinct"),
                (Feature.userReuse, "user_reuse"),
            ]),
        Named(
            group: .session, name: "session",
            features: [(Feature.active, "active"), (Feature.transition, "transition")]),
        Named(
            group: .time, name: "time",
            features: [
                (Feature.seconds, "seconds"), (Feature.dayPhase, "day_phase"),
                (Feature.dayQuadrature, "day_quadrature"), (Feature.weekPhase, "week_phase"),
                (Feature.weekQuadrature, "week_quadrature"),
            ]),
        Named(
            group: .activity, name: "activity",
            features: [
                (Feature.sinceUser, "since_user"), (Feature.sessionLength, "session_length"),
                (Feature.userAccesses, "user_accesses"),
            ]),
    ]

    /// The names of the groups in this set, in their order.
    var names: [String] { FeatureGroups.named.filter { contains($0.group) }.map(\.name) }

    /// Creates the set of the groups with these names; `nil` if one is unknown.
    init?(names: [String]) {
        self = []
        for name in names {
            guard let known = FeatureGroups.named.first(where: { $0.name == name }) else { return nil }
            insert(known.group)
        }
    }
}

/// The groups of features as plain Booleans, which are fast to test in debug builds, too.
@usableFromInline
struct FeatureSwitches: BitwiseCopyable {
    @usableFromInline let recency, frequency, size, popularity, category, user, session, time, activity: Bool

    init(_ groups: FeatureGroups) {
        recency = groups.contains(.recency)
        frequency = groups.contains(.frequency)
        size = groups.contains(.size)
        popularity = groups.contains(.popularity)
        category = groups.contains(.category)
        user = groups.contains(.user)
        session = groups.contains(.session)
        time = groups.contains(.time)
        activity = groups.contains(.activity)
    }
}
