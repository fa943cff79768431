import Foundation
import HalcyonCurl
import HalcyonNetworking

@main
struct Main {
    static func main() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("uses-halcyon-curl-\(getpid())")
        try Data("a".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        do {
            _ = try await ImageDownloader(name: "a").download(file)
            fatalError("Files are no network.")
        } catch NetworkError.unsupportedScheme {}
    }
}
