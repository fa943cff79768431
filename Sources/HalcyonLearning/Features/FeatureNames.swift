/// What the features are called in model files and reports.
extension Feature {
    /// How many features a network may look at.
    static let layouts = [width]

    /// The name of each place of a row; one that is not used is named by its number.
    static let names: [String] = {
        var names = (0..<width).map { "unused_\($0)" }
        for group in FeatureGroups.named {
            for (place, name) in group.features { names[place] = name }
        }
        names[one] = "one"
        return names
    }()
}

extension FeatureGroups {
    /// A group with its name and its features.
    struct Named: Sendable {
        let group: FeatureGroups
        let name: String
        let features: [(place: Int, name: String)]
    }

    /// The groups in the order in which they are listed.
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
        Named(
            group: .fleet, name: "fleet",
            features: [(Feature.fleetRate, "fleet_rate"), (Feature.fleetAccesses, "fleet_accesses")]),
    ]

    /// The names of the groups in this set, in their order.
    var names: [String] { FeatureGroups.named.filter { contains($0.group) }.map(\.name) }

    /// The groups with these names; `nil` if one is unknown.
    init?(names: [String]) {
        self = []
        for name in names {
            guard let known = FeatureGroups.named.first(where: { $0.name == name }) else { return nil }
            insert(known.group)
        }
    }
}
