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
    /// The use of the object's categories by all users.
    package static let category = FeatureGroups(rawValue: 1 << 4)
    /// The use of the object's categories by the user of its last access.
    package static let user = FeatureGroups(rawValue: 1 << 5)
    /// Whether the object's categories are in use now, and the probability that they follow. The planner's network alone has
    /// them: the eviction network was not better with them.
    package static let session = FeatureGroups(rawValue: 1 << 6)
    /// The wall time since the last access, the time of day and of the week.
    package static let time = FeatureGroups(rawValue: 1 << 7)
    /// The activity of the user of the last access: all accesses, those in this session, the time since the last one.
    package static let activity = FeatureGroups(rawValue: 1 << 8)
    /// How the cache is used: see ``WorkloadStatistics``.
    package static let workload = FeatureGroups(rawValue: 1 << 9)
    /// When and how often the object was shown in lists: see ``ShownStatistics``. Its features have the places of ``workload``, which
    /// is therefore off.
    package static let shown = FeatureGroups(rawValue: 1 << 10)
}

/// The places of the features in a row of ``width`` bytes, and those of the planner behind them.
@usableFromInline
package enum Feature {
    /// The bytes of a row.
    @usableFromInline package static let width = 40

    @usableFromInline package static let age = 0, gap1 = 1, gap2 = 2, gap3 = 3, sinceFirst = 4
    @usableFromInline package static let count0 = 5, count1 = 6, count2 = 7, count3 = 8, accesses = 9, worth = 10,
        residentAccesses = 11
    @usableFromInline package static let size = 12
    @usableFromInline package static let categoryFast = 13, categorySlow = 14, categoryAge = 15, categoryReuse = 16,
        categoryGap = 17
    @usableFromInline package static let userRate = 18, userAge = 19, userShare = 20, userGap = 21, userDistinct = 22,
        userReuse = 23
    @usableFromInline package static let seconds = 24, dayPhase = 25, dayQuadrature = 26, weekPhase = 27,
        weekQuadrature = 28
    @usableFromInline package static let sinceUser = 29, sessionLength = 30, userAccesses = 31
    /// The features of ``WorkloadStatistics``, in its order.
    static let workload = 32..<39
    /// The features of ``ShownStatistics``, in its order.
    static let shown = workload
    /// The constant 1, which replaces a bias.
    @usableFromInline package static let one = 39
    /// The features of the group ``FeatureGroups/session``, behind the row.
    @usableFromInline package static let active = 40, transition = 41
    /// The number of all places.
    @usableFromInline package static let places = 42

    /// The user–category features, which depend on the user and the categories alone, in three ranges. The last one is the
    /// planner's.
    @usableFromInline package static let userCategory = categoryFast..<userReuse + 1
    @usableFromInline package static let activity = sinceUser..<userAccesses + 1
    @usableFromInline package static let session = active..<transition + 1

    /// The time-of-day features, and those of the time of the week.
    @usableFromInline package static let timeOfDay = dayPhase..<weekQuadrature + 1

    /// Returns the feature at a place of ``userCategory`` and, after it, ``activity`` and ``session``.
    @inline(__always)
    static func userCategoryFeature(_ place: Int) -> Int {
        if place < userCategory.count { return userCategory.lowerBound + place }
        let rest = place - userCategory.count
        return rest < activity.count ? activity.lowerBound + rest : session.lowerBound + rest - activity.count
    }

    /// Returns the place of a feature for ``userCategoryFeature(_:)``.
    @inlinable @inline(__always)
    package static func userCategoryPlace(_ feature: Int) -> Int {
        if feature < userCategory.upperBound { return feature - userCategory.lowerBound }
        return feature < activity.upperBound
            ? feature - activity.lowerBound + userCategory.count
            : feature - session.lowerBound + userCategory.count + activity.count
    }

    /// Sets the user–category features of a row to 0.
    @inline(__always)
    static func clearUserCategory(of row: UnsafeMutablePointer<Float>) {
        (row + userCategory.lowerBound).update(repeating: 0, count: userCategory.count)
        (row + activity.lowerBound).update(repeating: 0, count: activity.count)
        (row + session.lowerBound).update(repeating: 0, count: session.count)
    }
}

/// The features of an object at one instant (``Feature``), and the label: 41 bytes.
enum SampleRow {
    static let width = Feature.width + 1
    /// 1 if the object was requested again within the window, once that is known; else 0.
    static let label = Feature.width
}

/// The names of the features in model files and reports.
extension Feature {
    /// Returns the name of each place of a row, for a network with these groups.
    static func names(of groups: FeatureGroups) -> [String] {
        let other: FeatureGroups = groups.contains(.shown) ? .workload : .shown
        return FeatureGroups.named.filter { $0.group != other }.flatMap { $0.features.map(\.name) } + ["one"]
    }
}

extension FeatureGroups {
    /// A group with its name and its features.
    struct Named: Sendable {
        let group: FeatureGroups
        let name: String
        let features: [(place: Int, name: String)]

        /// The group whose features are at the places from `first` on.
        fileprivate init(_ group: FeatureGroups, _ name: String, from first: Int, _ features: [String]) {
            (self.group, self.name) = (group, name)
            self.features = features.enumerated().map { (first + $0.offset, $0.element) }
        }
    }

    /// The groups in the order of lists.
    static let named: [Named] = [
        Named(.recency, "recency", from: Feature.age, ["age", "gap_1", "gap_2", "gap_3", "since_first"]),
        Named(
            .frequency, "frequency", from: Feature.count0,
            ["count_0", "count_1", "count_2", "count_3", "accesses", "worth", "resident_accesses"]),
        Named(.size, "size", from: Feature.size, ["size"]),
        Named(
            .category, "category", from: Feature.categoryFast,
            ["category_fast", "category_slow", "category_age", "category_reuse", "category_gap"]),
        Named(
            .user, "user", from: Feature.userRate,
            ["user_rate", "user_age", "user_share", "user_gap", "user_distinct", "user_reuse"]),
        Named(
            .time, "time", from: Feature.seconds,
            ["seconds", "day_phase", "day_quadrature", "week_phase", "week_quadrature"]),
        Named(
            .activity, "activity", from: Feature.sinceUser, ["since_user", "session_length", "user_accesses"]),
        Named(.workload, "workload", from: Feature.workload.lowerBound, WorkloadStatistics.names),
        Named(.shown, "shown", from: Feature.shown.lowerBound, ShownStatistics.names),
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
    @usableFromInline let recency, frequency, size, category, user, session, time, activity, workload, shown: Bool

    init(_ groups: FeatureGroups) {
        recency = groups.contains(.recency)
        frequency = groups.contains(.frequency)
        size = groups.contains(.size)
        category = groups.contains(.category)
        user = groups.contains(.user)
        session = groups.contains(.session)
        time = groups.contains(.time)
        activity = groups.contains(.activity)
        workload = groups.contains(.workload)
        shown = groups.contains(.shown)
    }
}
