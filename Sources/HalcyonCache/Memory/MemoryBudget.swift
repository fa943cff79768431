import Foundation

/// The memory that this process may use: the minimum of the machine's memory and the limits of the process's control
/// groups.
///
/// See `MemoryBudgetTests.budgetIsSmallestLimitAroundProcess()` and `MemoryBudgetTests.budgetReadsVersion1Groups()`.
public struct MemoryBudget: Sendable {
    /// The size in bytes.
    public let bytes: Int

    /// Reads the current limits of the machine and of control groups (version 2, and the `memory` controller of
    /// version 1).
    public init() { self.init(physical: Int(clamping: ProcessInfo.processInfo.physicalMemory), root: "") }

    /// Reads the limits of a machine with `physical` bytes of memory whose `/proc` and `/sys` are below `root`.
    init(physical: Int, root: String) {
        let limited = MemoryBudget.limitedGroup(root: root)
        bytes = min(physical, limited?.limit ?? .max)
    }

    /// Returns the control group of the process whose memory limit is least, as the folder of its files; of groups with the
    /// same limit, the one with most ancestors. `nil` if no group has a limit.
    static func limitedGroup(root: String) -> LimitedGroup? {
        let groups = (try? String(contentsOfFile: root + "/proc/self/cgroup", encoding: .utf8)) ?? ""
        var least: LimitedGroup?
        for line in groups.split(separator: "\n") {
            let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard fields.count == 3 else { continue }
            let (mount, version): (String, Int)
            switch fields[1] {
            case "": (mount, version) = (root + "/sys/fs/cgroup", 2)
            case let names where names.split(separator: ",").contains("memory"):
                (mount, version) = (root + "/sys/fs/cgroup/memory", 1)
            default: continue
            }
            for group in MemoryBudget.groups(mount: mount, group: String(fields[2]), version: version)
            where group.limit < least?.limit ?? .max { least = group }
        }
        return least
    }

    /// A control group with a memory limit.
    struct LimitedGroup: Equatable {
        /// The folder of its files.
        var folder: String
        /// The limit in bytes.
        var limit: Int
        /// The version of control groups: 1 or 2.
        var version: Int
    }

    /// Returns those of a group and its ancestors that have a limit, the group first.
    private static func groups(mount: String, group: String, version: Int) -> [LimitedGroup] {
        var parts = group.split(separator: "/").map(String.init)
        var found: [LimitedGroup] = []
        while true {
            let folder = ([mount] + parts).joined(separator: "/")
            let path = folder + (version == 2 ? "/memory.max" : "/memory.limit_in_bytes")
            let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
            if let limit = Int(text.trimmingCharacters(in: .whitespacesAndNewlines)), limit > 0 {
                found.append(LimitedGroup(folder: folder, limit: limit, version: version))
            }
            if parts.popLast() == nil { return found }
        }
    }
}
