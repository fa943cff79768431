/// The groups of features as plain truth values, which cost nothing to ask in a debug build either.
@usableFromInline
struct FeatureSwitches: BitwiseCopyable {
    @usableFromInline let recency, frequency, size, popularity, category, user, session, time, activity, fleet: Bool

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
        fleet = groups.contains(.fleet)
    }
}
