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

    /// How often each thing came of a load.
    struct Outcome {
        var counts: [String: Int] = [:]
    }

    /// Runs it; each load ends in one count.
    func run() async throws -> Outcome {
        let requests = Atomic<Int>(0)
        let server = try HostileServer { [faults] visit in
            let number = requests.wrappingAdd(1, ordering: .relaxed).newValue
            answer(visit, fault: number % 100 < faults ? number / 100 % 6 : nil)
        }
        var settings = CurlTransport.Configuration()
        settings.maximumConnectionsPerHost = 24
        var configuration = ImageDownloader.Configuration()
        configuration.request = { url in
            var request = TransportRequest(url)
            request.proxy = .none
            request.timeouts.idle = .seconds(1)
            return request
        }
        let downloader = ImageDownloader(
            name: "load", configuration: configuration, transport: CurlTransport(settings))
        let outcome = await withTaskGroup(of: [String: Int].self) { group in
            for task in 0..<tasks {
                group.addTask { await loads(of: task, downloader, server) }
            }
            return await group.reduce(into: Outcome()) { $0.counts.merge($1) { $0 + $1 } }
        }
        var result = outcome
        result.counts["requests"] = server.visits.count
        result.counts["waiting"] = downloader.waiterCount + downloader.transferCount
        return result
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
        case .failure(let error):
            switch error as? NetworkError {
            case .cancelled: return isCancelled ? "cancelled" : "cancelled by nobody"
            case .truncatedBody: return "truncated"
            case .connectionLost: return "lost"
            case .invalidStatusCode(let head) where head.status == 500: return "status"
            case .invalidResponse: return "garbage"
            case .timedOut(.idle): return "timed out"
            default: return "\(error)"
            }
        }
    }
}

/// What a URL's picture is made of: a few kilobytes, different for each.
private func body(_ number: Int) -> [UInt8] {
    [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 2_000 + number % 1_000)
}

/// Answers well, or in one of six bad ways.
private func answer(_ visit: Visit, fault: Int?) {
    let bytes = body(Int(visit.path.dropFirst()) ?? 0)
    switch fault {
    case nil: visit.answer(bytes)
    case 0: visit.answer([], status: "500 Broken")
    case 1:
        visit.send("HTTP/1.1 200 OK\r\nContent-Length: \(bytes.count)\r\n\r\n")
        visit.send(bytes.dropLast(500))
        visit.close()
    case 2: visit.reset()
    case 3:
        visit.send("no answer at all\r\n\r\n")
        visit.close()
    case 4: _ = visit.waitForClose()
    default: visit.close()
    }
}
