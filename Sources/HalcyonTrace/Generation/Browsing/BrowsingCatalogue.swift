/// The objects of all groups: who is in the catalogue at which rank, and what every object ever made is.
struct BrowsingCatalogue {
    /// The group of each object, in order of creation.
    private(set) var groups: [UInt32] = []
    /// The objects of each group from the most to the least popular.
    private var rankings: [[UInt32]]
    /// The objects of each group that are or were in its ranking, in order of arrival.
    private var arrivals: [[UInt32]]

    private let popularity: AliasTable

    /// Fills each group's catalogue.
    init(groupCount: Int, objectsPerGroup: Int, alpha: Double) {
        popularity = AliasTable.zipf(count: objectsPerGroup, alpha: alpha)
        rankings = Array(repeating: [], count: groupCount)
        arrivals = rankings
        for group in 0..<groupCount {
            for _ in 0..<objectsPerGroup {
                let object = create(in: group)
                rankings[group].append(object)
                arrivals[group].append(object)
            }
        }
    }

    /// The number of objects ever made.
    var count: Int { groups.count }

    /// Makes an object that is in no ranking, so that nobody else will find it.
    mutating func create(in group: Int) -> UInt32 {
        groups.append(UInt32(group))
        return UInt32(groups.count - 1)
    }

    /// An object of `group` by popularity.
    func draw(from group: Int, using random: inout SeededGenerator) -> UInt32 {
        rankings[group][popularity.draw(using: &random)]
    }

    /// A new object enters the ranking of `group` at `rank`; the last one leaves it. O(objects of the group).
    mutating func arrive(in group: Int, atRank rank: Int) {
        let object = create(in: group)
        rankings[group].removeLast()
        rankings[group].insert(object, at: min(rank, rankings[group].count))
        arrivals[group].append(object)
    }

    /// The `position`-th of the latest arrivals in `group` that fill one catalogue, wrapping around at its end.
    func scanned(in group: Int, at position: Int) -> UInt32 {
        let length = rankings[group].count
        return arrivals[group][arrivals[group].count - length + position % length]
    }
}
