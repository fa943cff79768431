/// The groups of features, each of which can be switched off.
struct FeatureGroups: OptionSet, Sendable {
    let rawValue: UInt16

    /// Time since the last access and the one before, gaps, time since first seen.
    static let recency = FeatureGroups(rawValue: 1 << 0)
    /// Accesses decayed at several time scales, accesses in all, the heuristic's worth.
    static let frequency = FeatureGroups(rawValue: 1 << 1)
    /// What the object costs.
    static let size = FeatureGroups(rawValue: 1 << 2)
    /// How many users asked for the object.
    static let popularity = FeatureGroups(rawValue: 1 << 3)
    /// The object's categories over all users.
    static let category = FeatureGroups(rawValue: 1 << 4)
    /// What the user who asked last has done with the object's categories.
    static let user = FeatureGroups(rawValue: 1 << 5)
    /// Whether the object's categories are those in use now.
    static let session = FeatureGroups(rawValue: 1 << 6)
    /// Wall time since the last access, time of day.
    static let time = FeatureGroups(rawValue: 1 << 7)

    static let all = FeatureGroups(rawValue: 0xFF)
}

/// Where each feature stands in a row of ``width`` bytes.
enum Feature {
    /// Bytes a row.
    static let width = 32

    static let age = 0, gap1 = 1, gap2 = 2, gap3 = 3, sinceFirst = 4, overdue = 5
    static let count0 = 6, count1 = 7, count2 = 8, count3 = 9, accesses = 10, worth = 11, residentAccesses = 12
    static let size = 13
    static let userChanges = 14, foreignShare = 15
    static let categoryFast = 16, categorySlow = 17, categoryAge = 18, categoryReuse = 19, categoryGap = 20
    static let userRate = 21, userAge = 22, userShare = 23
    static let active = 24, sinceUser = 25, asNow = 26
    static let seconds = 27, dayPhase = 28, dayQuadrature = 29
    /// The constant 1 that stands in for a bias.
    static let one = 31

    /// A row as numbers around 0: each byte less 64, over 64; the constant becomes 1. Rows are aligned to four bytes.
    @inline(__always)
    static func decode(_ bytes: UnsafePointer<UInt8>, into row: UnsafeMutablePointer<Float>) {
        let words = UnsafeRawPointer(bytes).assumingMemoryBound(to: UInt32.self)
        var index = 0
        while index < width / 4 {
            let word = words[index]
            let place = row + 4 * index
            place[0] = FastMath.float(small: word & 0xFF) * 0.015_625 - 1
            place[1] = FastMath.float(small: word >> 8 & 0xFF) * 0.015_625 - 1
            place[2] = FastMath.float(small: word >> 16 & 0xFF) * 0.015_625 - 1
            place[3] = FastMath.float(small: word >> 24) * 0.015_625 - 1
            index &+= 1
        }
        row[one] = 1
    }
}
