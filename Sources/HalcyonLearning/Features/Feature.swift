/// The groups of features, each of which can be switched off.
package struct FeatureGroups: OptionSet, Sendable {
    package let rawValue: UInt16

    package init(rawValue: UInt16) { self.rawValue = rawValue }

    /// Time since the last access and the one before, gaps, time since first seen.
    package static let recency = FeatureGroups(rawValue: 1 << 0)
    /// Accesses decayed at several time scales, accesses in all, the heuristic's worth.
    package static let frequency = FeatureGroups(rawValue: 1 << 1)
    /// What the object costs.
    package static let size = FeatureGroups(rawValue: 1 << 2)
    /// How many users asked for the object.
    package static let popularity = FeatureGroups(rawValue: 1 << 3)
    /// The object's categories over all users.
    package static let category = FeatureGroups(rawValue: 1 << 4)
    /// What the user who asked last has done with the object's categories.
    package static let user = FeatureGroups(rawValue: 1 << 5)
    /// Whether the object's categories are those in use now, and what follows on them.
    package static let session = FeatureGroups(rawValue: 1 << 6)
    /// Wall time since the last access, time of day and of the week.
    package static let time = FeatureGroups(rawValue: 1 << 7)
    /// How much the user who asked last is doing: accesses in all and in this session, time since the last one.
    package static let activity = FeatureGroups(rawValue: 1 << 8)
    /// How often the users of all caches that share the model ask for the object.
    package static let fleet = FeatureGroups(rawValue: 1 << 9)

    package static let all = FeatureGroups(rawValue: 0x3FF)
}

/// Where each feature stands in a row of ``width`` bytes.
@usableFromInline
package enum Feature {
    /// Bytes a row.
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
    @usableFromInline package static let fleetRate = 35, fleetAccesses = 36
    /// The constant 1 that stands in for a bias.
    @usableFromInline package static let one = 37

    /// A byte as a number around 0: less 64, over 64.
    @inline(__always)
    static func input(_ level: Float) -> Float { level * 0.015_625 - 1 }

    /// What depends on the user and the categories alone, in two runs.
    @usableFromInline package static let habits = categoryFast..<transition + 1
    @usableFromInline package static let activity = sinceUser..<userAccesses + 1

    /// The time of day and of the week.
    @usableFromInline package static let timeOfDay = dayPhase..<weekQuadrature + 1

    /// The feature at a place of ``habits`` and, after them, ``activity``.
    @inline(__always)
    static func habit(_ place: Int) -> Int {
        place < habits.count ? habits.lowerBound + place : activity.lowerBound + place - habits.count
    }

    /// Where ``habit(_:)`` has a feature.
    @inlinable @inline(__always)
    package static func habitPlace(_ feature: Int) -> Int {
        feature < habits.upperBound ? feature - habits.lowerBound : feature - activity.lowerBound + habits.count
    }

    /// Nothing is known of the user and the categories.
    @inline(__always)
    static func clearHabits(of row: UnsafeMutablePointer<Float>) {
        (row + habits.lowerBound).update(repeating: 0, count: habits.count)
        (row + activity.lowerBound).update(repeating: 0, count: activity.count)
    }

    /// A row of bytes as ``input(_:)``s; the constant becomes 1.
    @inline(__always)
    static func decode(_ bytes: UnsafePointer<UInt8>, into row: UnsafeMutablePointer<Float>) {
        var index = 0
        while index < width {
            row[index] = input(Float(bytes[index]))
            index &+= 1
        }
        row[one] = 1
    }
}
