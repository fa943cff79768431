import Foundation
import Halcyon

/// The disk storage.
struct DiskBenchmark {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("halcyon-\(UUID().uuidString)")

    func run() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        try throughput()
        try start()
    }

    private func throughput() throws {
        let disk = try DiskStorage<Data>(config: .init(name: "throughput", directory: folder))
        let names = keys(isShort ? 300 : 3_000)
        let image = Data(repeating: 7, count: 40_000)
        let stored = try seconds { for key in names { try disk.store(value: image, forKey: key) } }
        report("disk stores of 40 KB", Double(names.count) / stored, "/s")
        let read = try seconds { for key in names { _ = try disk.value(forKey: key) } }
        report("disk reads of 40 KB, warm", Double(names.count) / read, "/s")
        let absent = keys(isShort ? 2_000 : 200_000).map { $0 + "?" }
        let missed = try seconds { for key in absent { _ = try disk.value(forKey: key) } }
        report("disk, absent key", missed / Double(absent.count) * 1e9, "ns")
    }

    private func start() throws {
        let config = DiskStorageConfig(name: "start", directory: folder)
        var disk: DiskStorage<Data>? = try DiskStorage(config: config)
        for key in keys(isShort ? 2_000 : 100_000) { try disk?.store(value: Data("x".utf8), forKey: key) }
        disk?.flush()
        disk = nil
        let opened = ContinuousClock().now
        disk = try DiskStorage(config: config)
        let returned = ContinuousClock().now
        let count = disk?.count ?? 0
        let listed = ContinuousClock().now
        func milliseconds(_ duration: Duration) -> Double {
            Double(duration.components.seconds) * 1e3 + Double(duration.components.attoseconds) * 1e-15
        }
        report("start on \(count) files, on the caller's thread", milliseconds(returned - opened), "ms")
        report("start on \(count) files, until all are known", milliseconds(listed - opened), "ms")
        disk?.config.sizeLimit = (disk?.totalSize ?? 0)
        let evicting = try seconds {
            for key in keys(500) { try disk?.store(value: Data("x".utf8), forKey: key + "#") }
        }
        report("disk store that evicts one of \(count)", evicting / 500 * 1e6, "us")
    }
}
