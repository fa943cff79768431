import Foundation
import Halcyon

/// A feed: pages of thumbnails. The app announces each page before anything is opened, so that what the visitor opens can be there
/// already.
struct Feed {
    /// The pages, and the posts of a page.
    static let (pages, perPage) = (200, 6)
    private static let large = PixelSize(width: 320, height: 240)

    private let port: Int
    private let manager: HalcyonManager
    private let predictive: LivePrefetcher

    /// - Parameter manager: makes thumbnails unless it is given other options.
    init(port: Int, _ manager: HalcyonManager) throws {
        var configuration = PrefetchConfiguration()
        configuration.budget = try PrefetchBudget(parsing: "0/request,2/list")
        (self.port, self.manager, predictive) = (port, manager, manager.startPredicting(configuration))
    }

    /// Shows all pages, and prints how often an opened image was there. Returns whether the counts are right.
    func run() async throws -> Bool {
        var large = manager.defaultOptions
        large.processor = DownsamplingImageProcessor(size: Self.large)
        var isThere: [Bool] = []
        var categories = Categories()
        for page in 0..<Self.pages {
            let posts = (0..<Self.perPage).map { post(page * Self.perPage + $0, of: categories.next()) }
            manager.show(list: posts, in: "feed", options: large)
            for post in posts { _ = try await manager.image(for: post) }
            // The visitor looks at the thumbnails.
            await predictive.settle()
            guard let opened = choice(posts).detail else { return false }
            let result = try await manager.image(for: opened, options: large)
            isThere.append(result.cacheType.cached && result.image.size == Self.large)
        }
        await predictive.settle()
        let lists = await predictive.statistics.lists
        let half = Self.pages / 2
        print(
            """
            feed: \(lists.lists) pages with \(lists.shown) posts, \(lists.opened) opened; \(lists.prefetched) prefetched, \
            \(lists.used) of them opened
            of \(half) pages, the opened post was there on \(isThere.prefix(half).count { $0 }), of the next \(half) on \
            \(isThere.suffix(half).count { $0 })
            """)
        return lists.lists == Self.pages && lists.shown == Self.pages * Self.perPage && lists.opened == Self.pages
            && lists.used == isThere.count { $0 } && lists.used > half / 2
    }

    /// The post that the visitor opens: the first of the lakes, otherwise the first of all.
    private func choice(_ posts: [Resource]) -> Resource { posts.first { $0.categories == ["lakes"] } ?? posts[0] }

    private func post(_ number: Int, of category: String) -> Resource {
        func resource(_ size: String) -> Resource {
            let index = number % Pictures.perCategory
            let text = "http://127.0.0.1:\(port)/\(category)/\(index).jpg?post=\(number)&size=\(size)"
            return Resource(
                URL(string: text) ?? URL(fileURLWithPath: "/"), categories: [category], user: "visitor")
        }
        var thumbnail = resource("small")
        thumbnail.detail = resource("large")
        return thumbnail
    }

    /// The categories of the posts, the same each time.
    private struct Categories {
        private var state: UInt64 = 7

        mutating func next() -> String {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Pictures.categories[Int(state >> 33) % Pictures.categories.count]
        }
    }
}
