import Foundation
import HalcyonNetworking
import HalcyonURLSession

/// A downloader over the transport on URLSession.
@main
struct Main {
    static func main() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("uses-halcyon-urlsession")
        let downloader = ImageDownloader(name: "a", transport: URLSessionTransport())
        do {
            _ = try await downloader.download(file)
            fatalError("Files are no network.")
        } catch NetworkError.unsupportedScheme {}
    }
}
