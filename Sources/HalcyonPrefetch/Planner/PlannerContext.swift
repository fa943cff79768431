import HalcyonEviction

/// What is the same for all candidates of a plan.
struct PlannerContext {
    var now: UInt32
    var seconds: UInt32
    var slot: Int
    var user: PlannerUsers.Record
    /// The user's number among the ``HabitFeatures``, where one who is unknown has one, too.
    var inhabitant: UInt32
    /// The members of the categories of the user's last request that had any.
    var active: UnsafeBufferPointer<UInt32>
    /// What the user went on to from the last object in the past, and from that.
    var own: (first: Follower, second: Follower)
    /// What came after the user's last two objects, over all users.
    var third: Follower

    /// The number of a user among the ``HabitFeatures``.
    @inline(__always)
    static func inhabitant(_ user: UInt32) -> UInt32 { user &+ 1 }
}
