import CScreen
import Foundation
import HalcyonViews

/// A cell of the window: a widget of GTK, for which a binding loads pictures.
@MainActor
final class Cell: ImageDisplaying {
    let number: Int32
    private let manager: HalcyonManager
    private(set) lazy var images = ImageBinding(self, manager: manager)
    /// The row that it shows.
    var row: Int?

    init(_ number: Int32, _ manager: HalcyonManager) { (self.number, self.manager) = (number, manager) }

    func display(_ picture: Bitmap?, transition: ImageTransition) {
        guard let picture else { return halcyon_screen_show(number, nil, 0, 0) }
        picture.pixels.withUnsafeBufferPointer {
            halcyon_screen_show(number, $0.baseAddress, Int32(picture.width), Int32(picture.height))
        }
    }
}

/// The picture of the row that is open, which covers the window.
@MainActor
final class DetailView: ImageDisplaying {
    private let manager: HalcyonManager
    private(set) lazy var images = ImageBinding(self, manager: manager)

    init(_ manager: HalcyonManager) { self.manager = manager }

    func display(_ picture: Bitmap?, transition: ImageTransition) {
        guard let picture else { return halcyon_screen_show_detail(nil, 0, 0) }
        picture.pixels.withUnsafeBufferPointer {
            halcyon_screen_show_detail($0.baseAddress, Int32(picture.width), Int32(picture.height))
        }
    }
}

/// The window with its cells.
@MainActor
final class Gallery {
    static let (width, height, side, columns) = (424, 424, 100, 4)

    let manager: HalcyonManager
    let list: ImageList<Int>
    private(set) var cells: [Cell] = []
    private(set) var bindings = 0
    /// The requests by their ends.
    private(set) var outcomes: [String: Int] = [:]
    private let rows: Int
    private let resource: @MainActor (Int) -> Resource
    private let placeholder: Bitmap
    /// Whether cells show whatever arrives, as a view without a binding does; the checks must find it.
    private let isFaulty: Bool
    private var faultyLoads = 0

    /// Whether a cell loads.
    var isLoading: Bool { faultyLoads > 0 || cells.contains { $0.images.isLoading } }

    init(
        _ manager: HalcyonManager, rows: Int, isFaulty: Bool = false, resource: @escaping @MainActor (Int) -> Resource
    ) throws {
        (self.manager, self.rows, self.isFaulty, self.resource) = (manager, rows, isFaulty, resource)
        list = ImageList(manager: manager) { resource($0) }
        guard let grey = Bitmap(width: 1, height: 1, color: GalleryTransport.placeholder) else {
            throw Failure("No picture.")
        }
        placeholder = grey
    }

    /// Opens the window. The gallery must live until the program ends.
    func open() throws {
        let callbacks = HalcyonScreenCallbacks(
            created: { context, cell in Gallery.from(context) { $0.created(cell) } },
            bound: { context, cell, row in Gallery.from(context) { $0.bound(Int(cell), Int(row)) } },
            unbound: { context, cell, row in Gallery.from(context) { $0.unbound(Int(cell), Int(row)) } },
            context: Unmanaged.passUnretained(self).toOpaque())
        let code = halcyon_screen_open(
            Int32(Self.width), Int32(Self.height), Int32(Self.side), Int32(Self.columns), Int32(rows), callbacks)
        if code != 0 { throw Failure("There is no display; start the program by 'run'.") }
    }

    /// The pixels of the display at the place of the window.
    func capture() throws -> Bitmap {
        if halcyon_screen_draw() != 0 { throw Failure("The window is not drawn.") }
        var pixels = [UInt8](repeating: 0, count: Self.width * Self.height * 4)
        if halcyon_screen_capture(&pixels, Int32(Self.width), Int32(Self.height)) != 0 {
            throw Failure("The display cannot be read.")
        }
        guard let picture = Bitmap(width: Self.width, height: Self.height, pixels: pixels) else {
            throw Failure("No picture.")
        }
        return picture
    }

    /// The cells that are wholly inside the window, with the pixel at the centre of each.
    func visible() -> [(cell: Cell, row: Int, x: Int, y: Int)] {
        cells.compactMap { cell in
            var (x, y, width, height): (Int32, Int32, Int32, Int32) = (0, 0, 0, 0)
            guard let row = cell.row, halcyon_screen_bounds(cell.number, &x, &y, &width, &height) else { return nil }
            return (cell, row, Int(x + width / 2), Int(y + height / 2))
        }
    }

    /// GTK calls back on the thread that pumps its events, which is the main actor's.
    private nonisolated static func from(_ context: UnsafeMutableRawPointer?, _ act: @MainActor (Gallery) -> Void) {
        guard let context else { return }
        let address = UInt(bitPattern: context)
        MainActor.assumeIsolated {
            guard let context = UnsafeRawPointer(bitPattern: address) else { return }
            act(Unmanaged<Gallery>.fromOpaque(context).takeUnretainedValue())
        }
    }

    private func created(_ cell: Int32) { cells.append(Cell(cell, manager)) }

    private func bound(_ number: Int, _ row: Int) {
        let cell = cells[number]
        cell.row = row
        bindings += 1
        if isFaulty { return showWhateverArrives(cell, row) }
        ImageContext.resource(resource(row))
            .placeholder(placeholder)
            .whenDisappearing(.cancels)
            .onResult { [weak self] result in self?.note(result) }
            .set(to: cell.images)
        list.willDisplay(row, in: cell.images)
    }

    private func unbound(_ number: Int, _ row: Int) {
        let cell = cells[number]
        cell.row = nil
        list.didEndDisplaying(row, in: cell.images)
    }

    private func showWhateverArrives(_ cell: Cell, _ row: Int) {
        cell.display(placeholder, transition: .none)
        faultyLoads += 1
        manager.retrieveImage(with: resource(row)) { result in
            Task { @MainActor in
                self.faultyLoads -= 1
                if case .success(let result) = result { cell.display(result.image, transition: .none) }
            }
        }
    }

    private func note(_ result: Result<ImageResult, DisplayError>) {
        let word =
            switch result {
            case .success(let result): result.cacheType == .memory ? "from memory" : "loaded"
            case .failure(.superseded): "superseded"
            case .failure(let error): "\(error)"
            }
        outcomes[word, default: 0] += 1
    }
}

/// Why a check fails.
struct Failure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
