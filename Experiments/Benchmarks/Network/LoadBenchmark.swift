import Foundation
import Halcyon
import HalcyonCurl
import HalcyonTestSupport

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// 2,000 loads of 40 kB from nginx over 16 connections, five times each, in turns.
struct LoadBenchmark {
    let nginx: NginxServer
    private let loads = isShort ? 100 : 2_000
    private let connections = 16
    private let size = 40_000

    func run() async throws {
        let downloader = downloader()
        let session = session()
        defer { session.invalidateAndCancel() }
        var own: [(clock: Double, processor: Double)] = []
        var other: [(clock: Double, processor: Double)] = []
        for round in 0..<6 {
            let first = try await seconds {
                try await all { try await downloader.download(url(round, $0)).value.count }
            }
            let second = try await seconds {
                try await all { try await session.data(from: url(round, $0)).0.count }
            }
            // The first round opens the connections.
            if round > 0 {
                own.append(first)
                other.append(second)
            }
        }
        for (name, times) in [("ImageDownloader", own), ("URLSession", other)] {
            let clock = median(times.map(\.clock))
            report("\(loads) loads of 40 kB, 16 connections: \(name)", clock * 1e3, "ms")
            report("  loads a second", Double(loads) / clock, "1/s")
            report("  processor time a load", median(times.map(\.processor)) / Double(loads) * 1e6, "µs")
        }
        report("time beside URLSession's", median(own.map(\.clock)) / median(other.map(\.clock)), "")
    }

    private func url(_ round: Int, _ number: Int) -> URL { nginx.url("/40k.bin?\(round)-\(number)") }

    /// Loads them all, twice as many at once as there are connections.
    private func all(_ load: @escaping @Sendable (Int) async throws -> Int) async throws {
        try await withThrowingTaskGroup(of: Int.self) { group in
            var next = 0
            while next < connections * 2 {
                group.addTask { [next] in try await load(next) }
                next += 1
            }
            while let count = try await group.next() {
                guard count == size else { throw WrongSize(count: count) }
                guard next < loads else { continue }
                group.addTask { [next] in try await load(next) }
                next += 1
            }
        }
    }

    private func downloader() -> ImageDownloader {
        var settings = CurlTransport.Configuration()
        settings.maximumConnectionsPerHost = connections
        var configuration = ImageDownloader.Configuration()
        configuration.request = { url in
            var request = TransportRequest(url)
            request.proxy = .none
            return request
        }
        return ImageDownloader(name: "benchmark", configuration: configuration, transport: CurlTransport(settings))
    }

    private func session() -> URLSession {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpMaximumConnectionsPerHost = connections
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        configuration.urlCache = nil
        return URLSession(configuration: configuration)
    }
}

/// Something else was loaded.
struct WrongSize: Error {
    let count: Int
}
