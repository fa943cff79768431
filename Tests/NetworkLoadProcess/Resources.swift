import CHeapUse
import Foundation

/// What this process has of the system, as /proc tells; zeros where there is none.
struct Resources {
    var descriptors: Int
    var threads: Int
    /// Threads of transports.
    var networkThreads: Int
    /// Resident memory, after what the heap does not need was given back.
    var residentKilobytes: Int
    /// What of the heap is in use: whatever was kept is in here, and nothing else.
    var heapKilobytes: Int

    static var now: Resources {
        let files = FileManager.default
        let threads = (try? files.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
        let network = threads.count { thread in
            let name = try? String(contentsOfFile: "/proc/self/task/\(thread)/comm", encoding: .utf8)
            return name?.hasPrefix("halcyon.network") == true
        }
        let heap = heap_in_use()
        let pages = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
        return Resources(
            descriptors: (try? files.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0, threads: threads.count,
            networkThreads: network,
            residentKilobytes: (pages.flatMap { Int($0[1]) } ?? 0) * Int(sysconf(Int32(_SC_PAGESIZE))) / 1_024,
            heapKilobytes: Int(heap) / 1_024)
    }

    /// What is left when whatever was closed has had time to go: when nothing has changed for half a second, and no transport
    /// is left, and there are no more descriptors than `descriptors`, or after three minutes: on a busy machine what closes may wait.
    static func settled(downTo descriptors: Int = .max) async -> Resources {
        var (last, steady) = (now, 0)
        for _ in 0..<1_800 where steady < 5 || last.networkThreads > 0 || last.descriptors > descriptors {
            try? await Task.sleep(for: .milliseconds(100))
            let next = now
            steady = next.descriptors == last.descriptors && next.threads == last.threads ? steady + 1 : 0
            last = next
        }
        return last
    }
}
