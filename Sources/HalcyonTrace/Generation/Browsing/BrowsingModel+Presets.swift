extension BrowsingModel {
    /// `Traces/shop.csv`: a shop whose categories tell everything; no sizes.
    ///
    /// 250 users with a few favourite categories each. In some categories they come back to what they have seen, in others
    /// they look at things once; both follow from the category, so a cache that heeds it has something to gain.
    public static var shop: BrowsingModel {
        var model = BrowsingModel()
        model.requests = 120_000
        model.users = 250
        model.preference = 0.9
        model.related = 0.35
        model.repeatShare = 0.45
        model.oneHitShare = 0.2
        model.categoryContrast = 1
        model.categoryNames = [
            "shoes", "bags", "coats", "shirts", "jeans", "skirts", "hats", "socks", "belts", "watches", "rings", "toys",
            "books", "games", "lamps", "rugs", "pots", "mugs", "tools", "plants", "tents", "bikes", "snacks", "tea",
        ]
        return model
    }

    /// `Traces/uniform-categories.csv`: the very accesses of ``shop``, with labels that tell nothing.
    public static var uniformCategories: BrowsingModel {
        var model = shop
        model.categorySignal = 0
        return model
    }

    /// `Traces/feed.csv`: a picture feed in which posts arrive, rise at once and fade, with sizes by category.
    public static var feed: BrowsingModel {
        var model = BrowsingModel()
        model.requests = 110_000
        model.users = 800
        model.concurrentSessions = 12
        model.requestsPerSecond = 0.5
        model.dailyRhythm = 0.8
        model.categories = 12
        model.categoryNames = [
            "news", "sports", "memes", "food", "travel", "pets", "art", "music", "cars", "nature", "tech", "style",
        ]
        model.categoryAlpha = 0.8
        model.sessionLength = 20
        model.stay = 0.6
        model.objectsPerCategory = 500
        model.popularityAlpha = 0.9
        model.arrivals = 0.15
        model.arrivalDepth = 0.05
        model.repeatShare = 0.15
        model.memory = 20
        model.oneHitShare = 0.12
        model.scanShare = 0.02
        model.scanLength = 80
        model.medianSize = 70_000
        model.sizeSpread = 0.45
        model.categorySizeRatio = 12
        model.smallestSize = 10_000
        model.largestSize = 500_000
        return model
    }

    /// For tests of the hypothesis: a small shop whose categories tell all that drives its accesses.
    public static var informative: BrowsingModel {
        var model = shop
        model.requests = 50_000
        model.users = 100
        return model
    }

    /// For tests of the hypothesis: the accesses of ``informative``, with categories that tell nothing.
    public static var uninformative: BrowsingModel {
        var model = informative
        model.categorySignal = 0
        return model
    }

    /// A preset by the name that the command line knows it by, or nil.
    public static func preset(named name: String) -> BrowsingModel? {
        switch name {
        case "shop": shop
        case "feed": feed
        case "uniform-categories": uniformCategories
        case "informative": informative
        case "uninformative": uninformative
        default: nil
        }
    }

    /// The names that ``preset(named:)`` knows.
    public static let presetNames = ["shop", "feed", "uniform-categories", "informative", "uninformative"]
}
