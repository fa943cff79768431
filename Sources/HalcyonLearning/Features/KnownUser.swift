import HalcyonEviction

/// What ``HabitFeatures`` know of a user, looked up once for many sets of categories. Good until the next access is taken into account.
@usableFromInline
struct KnownUser: BitwiseCopyable {
    /// The user; `UInt32.max` if it is not known who asks.
    @usableFromInline var user = UInt32.max
    @usableFromInline var profile: UserProfiles.Profile?
    /// The user's history with categories.
    @usableFromInline var habits = PairRow()
    /// The categories of the user's last request that had any; of the last request of all if it is not known who asks.
    @usableFromInline var active: CategorySetID = 0
    /// What came after these categories, and how often anything did.
    @usableFromInline var followers = PairRow()
    @usableFromInline var followed: Float = 0

    @inlinable
    init() {}
}
