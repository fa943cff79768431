import Foundation
import Halcyon
import HalcyonCurl
import HalcyonEviction
import HalcyonTestSupport
import Synchronization

/// Many loads by many tasks, over URLs that repeat, from a server some of whose answers are faults.
struct NetworkLoad {
    let loads: Int
    let tasks: Int
    let urls: Int
    let faults: Int

    /// Runs it, and returns how often each thing came of a load; each ends in one count.
    func run() async throws -> [String: Int] {
        let requests = Atomic<Int>(0)
        let server = try HostileServer { [faults] visit in
            let number = requests.wrappingAdd(1, ordering: .relaxed).newValue
            visit.answer(
                of: body(Int(visit.path.dropFirst()) ?? 0), fault: number % 100 < faults ? number / 100 % 6 : nil)
        }
        let downloader = Self.downloader()
        var result = await withTaskGroup(of: [String: Int].self) { group in
            for task in 0..<tasks {
                group.addTask { await loads(of: task, downloader, server) }
            }
            return await group.reduce(into: [:]) { $0.merge($1) { $0 + $1 } }
        }
        result["requests"] = server.visits.count
        result["waiting"] = downloader.waiterCount + downloader.transferCount
        return result
    }

    /// A downloader with few connections and little patience.
    static func downloader() -> ImageDownloader {
        var settings = CurlTransport.Configuration()
        settings.maximumConnectionsPerHost = 24
        var configuration = ImageDownloader.Configuration()
        configuration.request = { url in
            var request = TransportRequest(url)
            request.proxy = .none
            request.timeouts.idle = .seconds(1)
            return request
        }
        return ImageDownloader(name: "load", configuration: configuration, transport: CurlTransport(settings))
    }

    /// The loads of one task, one after the other.
    private func loads(
        of task: Int, _ downloader: ImageDownloader, _ server: HostileServer
    ) async -> [String: Int] {
        var counts: [String: Int] = [:]
        var random = SplitMix64(seed: UInt64(task) + 1)
        for _ in 0..<loads / tasks {
            let number = random.next(below: urls)
            let url = server.url("/\(number)")
            let isCancelled = random.next(below: 20) == 0
            let pause = random.next(below: 3_000)
            let load = Task { try await downloader.download(url).value }
            if isCancelled {
                try? await Task.sleep(for: .microseconds(pause))
                load.cancel()
            }
            counts[name(await load.result, number, isCancelled), default: 0] += 1
        }
        return counts
    }

    private func name(_ result: Result<Data, any Error>, _ number: Int, _ isCancelled: Bool) -> String {
        switch result {
        case .success(let data): return data == Data(body(number)) ? "image" : "wrong image"
        case .failure(let error): return Self.name(of: error, isCancelled)
        }
    }

    /// What the error of a load is counted as.
    static func name(of error: any Error, _ isCancelled: Bool) -> String {
        if error.isCancellation { return isCancelled ? "cancelled" : "cancelled by nobody" }
        switch error as? NetworkError {
        case .truncatedBody: return "truncated"
        case .connectionLost: return "lost"
        case .invalidStatusCode(let head) where head.status == 500: return "status"
        case .invalidResponse: return "garbage"
        case .timedOut(.idle): return "timed out"
        default: return "\(error)"
        }
    }
}

/// What a URL's picture is made of: a few kilobytes, different for each.
private func body(_ number: Int) -> [UInt8] {
    [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 2_000 + number % 1_000)
}

extension Visit {
    /// Answers with a body, or in one of six bad ways.
    func answer(of bytes: [UInt8], fault: Int?, headers: [String] = []) {
        switch fault {
        case nil: answer(bytes, headers: headers)
        case 0: answer([], status: "500 Broken")
        case 1:
            send("HTTP/1.1 200 OK\r\nContent-Length: \(bytes.count)\r\n\r\n")
            send(bytes.dropLast(bytes.count / 4))
            close()
        case 2: reset()
        case 3:
            send("no answer at all\r\n\r\n")
            close()
        case 4: _ = waitForClose()
        default: close()
        }
    }
}
