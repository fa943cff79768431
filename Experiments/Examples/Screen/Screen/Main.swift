import CScreen
import Foundation
import HalcyonViews

/// A gallery of 2,000 pictures in a window of GTK 4, scrolled while pictures load, and read back from the display.
///
///     Experiments/Examples/Screen/run [FOLDER]
///
/// With `--faulty`, the cells show whatever arrives.
///
/// It checks the colours that the display shows at the centre of each cell. Placeholders come before pictures. At no
/// step does a cell show the picture of another row, although cells are reused while their loads end. In the end all
/// pictures are shown, and those in memory at once. It counts the loads that were cancelled. Then it shows pages of a
/// feed (``FeedPages``). Screenshots are written to FOLDER. The exit code is 1 if a check fails.
@main
@MainActor
enum Main {
    static func main() async {
        do {
            let arguments = CommandLine.arguments.dropFirst()
            let folder = arguments.first { $0 != "--faulty" }
            try await run(folder.map { URL(fileURLWithPath: $0) }, isFaulty: arguments.contains("--faulty"))
        } catch {
            print("FAILED: \(error)")
            exit(1)
        }
    }

    static func run(_ folder: URL?, isFaulty: Bool) async throws {
        let transport = GalleryTransport()
        let cache = FileManager.default.temporaryDirectory.appendingPathComponent("halcyon-screen-\(getpid())")
        defer { try? FileManager.default.removeItem(at: cache) }
        let gallery = try Gallery(
            HalcyonManager(
                cache: ImageCache<Bitmap>(
                    memory: .init(totalCostLimit: 1 << 27), disk: .init(name: "screen", directory: cache),
                    serializer: BitmapSerializer(), triggers: []),
                downloader: ImageDownloader(name: "screen", configuration: .init(), transport: transport)),
            rows: 2_000, isFaulty: isFaulty, resource: GalleryTransport.resource)
        try gallery.open()

        // Nothing is answered: the display shows placeholders.
        try await pump("The cells do not appear.") { gallery.visible().count >= 16 }
        let placeholders = try colors(gallery, write: "1-placeholders", to: folder)
        try check(
            placeholders.allSatisfy { $0.found == GalleryTransport.placeholder }, "placeholders first: \(placeholders)")

        try await load(gallery, transport)
        let pictures = try colors(gallery, write: "2-pictures", to: folder)
        try check(pictures.count >= 16 && pictures.allSatisfy { $0.isRight }, "then pictures: \(pictures)")

        // Down to the end. Some answers are given just before the cells are reused, and come while they show other
        // rows.
        let extent = Int(halcyon_screen_extent())
        let steps = 120
        var seen = (placeholders: 0, pictures: 0)
        for step in 1...steps {
            if step % 3 == 0 { transport.answerAll() }
            halcyon_screen_scroll(Int32(extent * step / steps))
            halcyon_screen_pump()
            await Task.yield()
            if step % 4 == 0 {
                for color in try colors(gallery, write: step == 60 ? "3-scrolling" : nil, to: folder) {
                    try check(color.isRight || color.found == GalleryTransport.placeholder, "at step \(step): \(color)")
                    if color.isRight { seen.pictures += 1 } else { seen.placeholders += 1 }
                }
            }
        }
        try check(seen.placeholders > 0 && seen.pictures > 0, "both are seen while scrolling: \(seen)")

        try await load(gallery, transport)
        let last = try colors(gallery, write: "4-end", to: folder)
        try check(last.count >= 16 && last.allSatisfy { $0.isRight }, "the end of the list: \(last)")
        try check(transport.waiting == 0, "transfers that wait: \(transport.waiting)")
        try check(transport.cancels > 0, "no load was cancelled")
        try check(transport.starts == transport.cancels + transport.answers, "each transfer was answered or cancelled")

        // Back to the top, without an answer: these rows are in memory.
        halcyon_screen_scroll(0)
        let first = try colors(gallery, write: "5-top", to: folder)
        try check(first.count >= 16 && first.allSatisfy { $0.isRight }, "from memory, at once: \(first)")
        halcyon_screen_close()

        print(
            "\(gallery.cells.count) cells, \(gallery.bindings) requests: "
                + gallery.outcomes.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
        )
        print("\(transport.starts) transfers, \(transport.cancels) cancelled, \(transport.answers) answered")
        print(
            "while scrolling: \(seen.pictures) pictures, \(seen.placeholders) placeholders, no picture of another row")
        try await FeedPages(in: cache).run(folder)
    }

    struct Color: CustomStringConvertible {
        let row: Int
        let found: PixelColor

        var isRight: Bool { found == GalleryTransport.color(row) }
        var description: String { "row \(row) shows \(found), its picture is \(GalleryTransport.color(row))" }
    }

    /// The colours that the display shows at the centres of the visible cells.
    private static func colors(_ gallery: Gallery, write name: String?, to folder: URL?) throws -> [Color] {
        let picture = try gallery.capture()
        try write(picture, name, to: folder)
        return gallery.visible().map { Color(row: $0.row, found: picture[$0.x, $0.y]) }
    }

    /// Writes a screenshot, if it has a name and a folder.
    static func write(_ picture: Bitmap, _ name: String?, to folder: URL?) throws {
        guard let name, let folder else { return }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try ImageEncoder.png().encode(picture).write(to: folder.appendingPathComponent("\(name).png"))
    }

    /// Answers until no visible cell loads.
    private static func load(_ gallery: Gallery, _ transport: GalleryTransport) async throws {
        try await pump("The pictures do not arrive.") {
            transport.answerAll()
            return !gallery.isLoading && transport.waiting == 0
        }
    }

    /// Handles the events of GTK until a condition holds, for half a minute at most.
    static func pump(_ failure: String, until condition: () throws -> Bool) async throws {
        let start = ContinuousClock.now
        while try !condition() {
            if ContinuousClock.now - start > .seconds(30) { throw Failure(failure) }
            halcyon_screen_pump()
            try await Task.sleep(for: .milliseconds(2))
        }
    }

    static func check(_ holds: Bool, _ failure: @autoclosure () -> String) throws {
        if !holds { throw Failure(failure()) }
    }
}
