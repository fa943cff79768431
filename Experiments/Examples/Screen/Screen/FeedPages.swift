import CScreen
import Foundation
import Halcyon
import HalcyonViews

/// Pages of a feed in the window. The app announces each page, the visitor opens its first lake, and the manager learns which posts to
/// prefetch.
///
/// It checks each picture that the display shows: those of a page, and that of the post that is open. It counts on how many pages
/// the opened post was in memory before it was opened.
@MainActor
struct FeedPages {
    private static let (pages, perPage) = (40, 16)
    private nonisolated static let categories = ["sunsets", "forests", "lakes", "portraits"]
    private static let large = ImageOptions(
        processor: DownsamplingImageProcessor(size: PixelSize(width: 384, height: 384)))
    private static let small = DownsamplingImageProcessor(size: PixelSize(width: 96, height: 96))

    private let transport = GalleryTransport(answersAtOnce: true, picture: picture)
    private let predictive: LivePrefetcher
    private let window: Gallery
    private let detail: DetailView

    /// - Parameter folder: holds the cache.
    init(in folder: URL) throws {
        let cache = ImageCache<Bitmap>(
            memory: .init(totalCostLimit: 1 << 27), disk: .init(name: "feed", directory: folder),
            serializer: BitmapSerializer(), triggers: [])
        let manager = HalcyonManager(
            cache: cache, downloader: ImageDownloader(name: "feed", configuration: .init(), transport: transport),
            defaultOptions: ImageOptions(processor: Self.small))
        var configuration = PrefetchConfiguration()
        configuration.budget = try PrefetchBudget(parsing: "0/request,2/list")
        predictive = manager.startPredicting(configuration)
        window = try Gallery(manager, rows: Self.pages * Self.perPage, resource: Self.post)
        detail = DetailView(manager)
    }

    func run(_ folder: URL?) async throws {
        try window.open()
        try await Main.pump("The feed does not appear.") { window.visible().count == Self.perPage }
        let extent = Int(halcyon_screen_extent())
        var wasThere: [Bool] = []
        for page in 0..<Self.pages {
            halcyon_screen_scroll(Int32(extent * page / (Self.pages - 1)))
            let rows = Array(page * Self.perPage..<(page + 1) * Self.perPage)
            try await Main.pump("Page \(page) does not appear.") {
                let shown = window.visible()
                return Set(shown.map(\.row)) == Set(rows) && !window.isLoading
            }
            let isLast = page == Self.pages - 1
            let seen = try window.capture()
            try Main.write(seen, isLast ? "6-feed" : nil, to: folder)
            for cell in window.visible() {
                try Main.check(
                    seen[cell.x, cell.y] == GalleryTransport.color(cell.row), "page \(page): post \(cell.row)")
            }
            window.manager.show(list: rows.map(Self.post), in: "feed", options: Self.large)
            await predictive.settle()
            wasThere.append(try await open(rows, write: isLast ? "7-opened" : nil, to: folder))
        }
        await predictive.settle()
        let lists = await predictive.statistics.lists
        halcyon_screen_close()
        let there = wasThere.count { $0 }
        print(
            """
            feed: \(lists.lists) pages with \(lists.shown) posts, \(lists.opened) opened; \(lists.prefetched) prefetched
            the opened post was in memory on \(there) of \(Self.pages) pages; by chance it would be on 5
            """)
        try Main.check(lists.lists == Self.pages && lists.opened == Self.pages, "pages and openings: \(lists)")
        try Main.check(there > Self.pages / 2, "what the visitor opens is not learned")
    }

    /// Opens the post that the visitor chooses, and returns whether its picture was there at once.
    private func open(_ rows: [Int], write name: String?, to folder: URL?) async throws -> Bool {
        let row = rows.first { Self.category($0) == "lakes" } ?? rows[0]
        let starts = transport.starts
        var type: CacheType?
        detail.images.setImage(with: Self.post(row).detail, options: DisplayOptions { $0.load = Self.large }) {
            if case .success(let result) = $0 { type = result.cacheType }
        }
        let isThere = type == .memory
        try await Main.pump("Post \(row) does not open.") { type != nil }
        halcyon_screen_open_detail(true)
        let seen = try window.capture()
        try Main.write(seen, name, to: folder)
        try Main.check(
            seen[Gallery.width / 2, Gallery.height / 2] == GalleryTransport.color(row), "the open post \(row)")
        try Main.check(isThere == (transport.starts == starts), "a post in memory needs no transfer")
        halcyon_screen_open_detail(false)
        return isThere
    }

    private nonisolated static func post(_ row: Int) -> Resource {
        func resource(_ size: String) -> Resource {
            Resource(
                URL(string: "http://feed/\(size)/\(row)") ?? URL(fileURLWithPath: "/"), categories: [category(row)],
                user: "visitor")
        }
        var post = resource("small")
        post.detail = resource("large")
        return post
    }

    /// The category of a post, the same each time.
    private nonisolated static func category(_ row: Int) -> String {
        let state = (UInt64(row) &+ 7) &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return categories[Int(state >> 33) % categories.count]
    }

    /// A picture of a URL: the pattern of its category, and in the middle a disc in the colour of its post.
    private nonisolated static func picture(_ url: URL) -> Bitmap? {
        guard let row = Int(url.lastPathComponent) else { return nil }
        let (side, category, color) = (384, category(row), GalleryTransport.color(row))
        var pixels: [UInt8] = []
        pixels.reserveCapacity(side * side * 4)
        for y in 0..<side {
            for x in 0..<side {
                let (dx, dy) = (x - side / 2, y - side / 2)
                if dx * dx + dy * dy < 60 * 60 {
                    pixels += [color.red, color.green, color.blue, 255]
                    continue
                }
                let light = UInt8(y * 255 / side)
                let pixel: [UInt8] =
                    switch category {
                    case "lakes": [30, light / 2 + 60, 160 + UInt8(abs(y % 32 - 16)) * 5, 255]
                    case "forests": [20, 80 + UInt8(abs(x % 48 - 24)) * 4, light / 4, 255]
                    case "sunsets": [255, 200 - light / 2, light / 3, 255]
                    default: dx * dx + dy * dy < 150 * 150 ? [230, 190, 160, 255] : [90, 70, 110, 255]
                    }
                pixels += pixel
            }
        }
        return Bitmap(width: side, height: side, pixels: pixels)
    }
}
