import Foundation
import Halcyon
import HalcyonAccessLog

/// Holds what the storages of a ``LoadRun`` count against what is in them, once nobody uses them any more.
struct LoadCheck {
    let run: LoadRun
    let tallies: LoadTallies

    func check() throws {
        check(run.memory, "memory")
        check(run.cache.memoryStorage, "the cache's memory")
        try check(run.disk, "disk")
        guard let disk = run.cache.diskStorage else { Main.fail("the cache has no disk") }
        try check(disk, "the cache's disk")
        let reopened = run.reopened.current
        check(reopened.memoryStorage, "the reopened cache's memory")
        guard let reopenedDisk = reopened.diskStorage else { Main.fail("the reopened cache has no disk") }
        try check(reopenedDisk, "the reopened cache's disk")
        let lookUps = ([run.cache] + run.reopened.all).map(\.statistics.lookUps)
        same(lookUps.reduce(0) { $0 + $1.none }, tallies.misses, "look-ups in vain")
        let received = run.log.statistics.recorded + overload
        let hits = lookUps.reduce(0) { $0 + $1.memory + $1.disk }
        same(received, tallies.records + hits, "accesses and events that the log received")
        try checkLog()
    }

    private func check(_ memory: MemoryStorage<Data>, _ name: String) {
        memory.removeExpired()
        var (cost, count) = (0, 0)
        for number in 0..<LoadMix.keys {
            guard let data = memory.value(forKey: "key-\(number)") else { continue }
            cost += data.count
            count += 1
        }
        same(memory.totalCost, cost, "\(name): cost")
        same(memory.count, count, "\(name): count")
        let uses = (0..<4).map { memory.use(category: "c\($0)") }
        same(uses.reduce(0) { $0 + $1.cost }, cost, "\(name): cost by category")
        same(uses.reduce(0) { $0 + $1.count }, count, "\(name): count by category")
    }

    private func check(_ disk: DiskStorage, _ name: String) throws {
        disk.removeExpiredValues()
        disk.flush()
        let folder = disk.directoryURL.path
        let names = try FileManager.default.contentsOfDirectory(atPath: folder).filter { !$0.hasPrefix(".") }
        let sizes = names.map { name -> Int in
            var status = stat()
            return stat("\(folder)/\(name)", &status) == 0 ? Int(status.st_blocks) * 512 : 0
        }
        same(disk.totalSize, sizes.reduce(0, +), "\(name): size")
        same(disk.count, names.count, "\(name): count")
        let uses = (0..<4).map { disk.use(category: "c\($0)") }
        same(uses.reduce(0) { $0 + $1.count }, names.count, "\(name): count by category")
    }

    private func checkLog() throws {
        let done = DispatchSemaphore(value: 0)
        let log = run.log
        Task {
            do { try await log.close() } catch { Main.fail("\(error)") }
            done.signal()
        }
        done.wait()
        let statistics = log.statistics
        same(
            statistics.recorded, statistics.written + statistics.lostCount - overload + statistics.deletedUnwritten,
            "accesses and events written, lost or deleted")
        let reader = try AccessLogReader(path: log.path)
        var read = 0
        while case let batch = try reader.next(), !batch.isEmpty { read += batch.count }
        same(reader.count, read, "accesses in the log")
    }

    /// The accesses that the log lost on arrival.
    private var overload: Int { run.log.statistics.lost[.overload] ?? 0 }

    private func same(_ counted: Int, _ found: Int, _ what: String) {
        if counted != found { Main.fail("\(what): \(counted) counted, \(found) found") }
    }
}
