/// What users like and remember.
struct BrowsingUsers {
    /// Each user's favourite groups, the dearest first.
    private var favourites: [[UInt32]]
    /// Each user's latest views in each group, the oldest overwritten first; at `user * groupCount + group`.
    private var views: [[UInt32]]
    /// Where the next view goes in a full list.
    private var cursors: [UInt32]

    private let model: BrowsingModel
    private let groupPopularity: AliasTable
    private let favouriteWeights: AliasTable

    init(model: BrowsingModel, random: inout SeededGenerator) {
        self.model = model
        groupPopularity = AliasTable.zipf(count: model.categories, alpha: model.categoryAlpha)
        favouriteWeights = AliasTable.zipf(count: model.favourites, alpha: 1)
        views = Array(repeating: [], count: model.users * model.categories)
        cursors = Array(repeating: 0, count: views.count)
        favourites = []
        for _ in 0..<model.users {
            favourites.append((0..<model.favourites).map { _ in UInt32(groupPopularity.draw(using: &random)) })
        }
    }

    /// With the probability of a drift, `user` drops one favourite for another group.
    mutating func drift(_ user: Int, using random: inout SeededGenerator) {
        if random.chance(model.preferenceDrift) {
            let place = random.below(model.favourites)
            favourites[user][place] = UInt32(groupPopularity.draw(using: &random))
        }
    }

    /// A group by the preference of `user`.
    func group(for user: Int, using random: inout SeededGenerator) -> Int {
        random.chance(model.preference)
            ? Int(favourites[user][favouriteWeights.draw(using: &random)]) : groupPopularity.draw(using: &random)
    }

    /// `user` has seen `object` of `group`.
    mutating func remember(_ object: UInt32, of group: Int, by user: Int) {
        let list = user * model.categories + group
        if views[list].count < model.memory {
            views[list].append(object)
        } else {
            views[list][Int(cursors[list])] = object
            cursors[list] = (cursors[list] + 1) % UInt32(model.memory)
        }
    }

    /// One of the remembered views of `user` in `group`, each as likely; nil if there are none.
    func recall(of group: Int, by user: Int, using random: inout SeededGenerator) -> UInt32? {
        let list = views[user * model.categories + group]
        return list.isEmpty ? nil : list[random.below(list.count)]
    }
}
