// The values that the examples of the documents take for granted. `.ci/check-snippets` compiles the examples beside this file, and
// runs none of them. An example that declares a name itself hides the one that is here.
import Foundation
import Halcyon

private func placeholder<Value>() -> Value { fatalError("An example was run.") }

let url: URL = placeholder()
let urls: [URL] = placeholder()
let file: URL = placeholder()
let mirror: URL = placeholder()
let folder: URL = placeholder()
let key: String = placeholder()
let data: Data = placeholder()
let picture: Bitmap = placeholder()
let token: String = placeholder()
let nextPage: [Resource] = placeholder()

let manager: HalcyonManager = placeholder()
let predictive: LivePrefetcher = placeholder()
let cache: ImageCache<Bitmap> = placeholder()
let downloader: ImageDownloader = placeholder()
let thumbnail: any ImageProcessor = placeholder()

/// A product of a shop.
struct Product: Sendable {
    let url: URL
    let category: String
}
let products: [Product] = placeholder()

/// The state of the network, as `NWPath` of Apple's platforms has it.
struct NetworkPath: Sendable {
    let isConstrained: Bool
    let isExpensive: Bool
}
let path: NetworkPath = placeholder()

/// A view of an app that shows a picture. As image views of Apple's platforms do, it has a binding.
@MainActor final class ImageView: ImageDisplaying {
    var image: Bitmap?
    private(set) lazy var halcyon = ImageBinding(self)

    func display(_ picture: Bitmap?, transition: ImageTransition) { image = picture }
}
@MainActor let imageView: ImageView = placeholder()

func show(_ image: some Sendable) {}
func download(_ url: URL) async throws -> Data { placeholder() }
func makeIcon(_ data: Data) throws -> Bitmap { placeholder() }
