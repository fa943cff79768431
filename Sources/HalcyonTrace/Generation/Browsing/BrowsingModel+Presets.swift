extension BrowsingModel {
    /// The model of `Traces/shop.csv`: a shop whose categories carry all information; no sizes.
    ///
    /// 250 users have a few favourite categories each. In some categories, users view the same objects again; in
    /// others, they view most objects once. Both follow from the category, so a cache that uses it can gain hits.
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

    /// The model of `Traces/uniform-categories.csv`: the accesses of ``shop`` with labels without information.
    public static var uniformCategories: BrowsingModel {
        var model = shop
        model.categorySignal = 0
        return model
    }

    /// The model of `Traces/feed.csv`: an image feed. New posts rank high and lose popularity; sizes depend on the
    /// category.
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

    /// A million users who browse a large shop for a month, about 100 requests each in some eight visits.
    ///
    /// 5,000 users are in a session at the same time, and all are equally active. Tastes and repeat views are those of
    /// ``shop``. The file has 100 million rows, 2.6 GB; write it with `writeCSV(seed:to:compression:)`.
    public static var millionUsers: BrowsingModel {
        var model = shop
        model.requests = 100_000_000
        model.users = 1_000_000
        model.userAlpha = 0
        model.concurrentSessions = 5_000
        model.requestsPerSecond = 40
        model.objectsPerCategory = 2_000
        model.arrivals = 0.005
        model.oneHitShare = 0.01
        model.scanShare = 0.001
        model.memory = 12
        return model
    }

    /// A small shop whose categories carry all information, for tests of the hypothesis.
    public static var informative: BrowsingModel {
        var model = shop
        model.requests = 50_000
        model.users = 100
        return model
    }

    /// The accesses of ``informative`` with categories without information, for tests of the hypothesis.
    public static var uninformative: BrowsingModel {
        var model = informative
        model.categorySignal = 0
        return model
    }

    /// A shared cache in which categories can do harm: 400 users with tastes, 16 categories, and sizes of all categories
    /// from one lognormal distribution with a median of 40 KB.
    ///
    /// Two thirds of the requests of a session stay in the category of the request before; the others follow the user's
    /// fixed tastes. A quarter repeat an earlier view, in all categories alike. The category therefore says who requests an
    /// object, and nothing of whether it is requested again or of its size.
    public static var harmless: BrowsingModel {
        var model = BrowsingModel()
        model.requests = 200_000
        model.users = 400
        model.categories = 16
        model.preference = 1
        model.preferenceDrift = 0
        model.stay = 0.667
        model.related = 0
        model.arrivals = 0
        model.repeatShare = 0.25
        model.categoryContrast = 0
        model.oneHitShare = 0.05
        model.scanShare = 0
        model.medianSize = 40_000
        model.sizeSpread = 1.2
        model.categorySizeRatio = 1
        return model
    }

    /// Returns the preset with this name on the command line, or `nil`.
    package static func preset(named name: String) -> BrowsingModel? {
        switch name {
        case "shop": shop
        case "feed": feed
        case "uniform-categories": uniformCategories
        case "million-users": millionUsers
        case "informative": informative
        case "uninformative": uninformative
        case "harmless": harmless
        default: nil
        }
    }

    /// The names that ``preset(named:)`` accepts.
    package static let presetNames = [
        "shop", "feed", "uniform-categories", "million-users", "informative", "uninformative",
        "harmless",
    ]
}
