import Foundation

/// The memory that this process may use: the minimum of the machine's memory and the limits of the process's control
/// groups.
public struct MemoryBudget: Sendable {
    /// The size in bytes.
    public let bytes: Int

    /// Reads the current limits of the machine and of control groups (version 2, and the `memory` controller of
    /// version 1).
    public init() { self.init(physical: Int(clamping: ProcessInfo.processInfo.physicalMemory), root: "") }

    /// Reads the limits of a machine with `physical` bytes of memory whose `/proc` and `/sys` are below `root`.
    init(physical: Int, root: String) {
        let groups = (try? String(contentsOfFile: root + "/proc/self/cgroup", encoding: .utf8)) ?? ""
        var least = physical
        for line in groups.split(separator: "\n") {
            let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard fields.count == 3 else { continue }
            let mount: String
            let file: String
            switch fields[1] {
            case "": (mount, file) = (root + "/sys/fs/cgroup", "memory.max")
            case let names where names.split(separator: ",").contains("memory"):
                (mount, file) = (root + "/sys/fs/cgroup/memory", "memory.limit_in_bytes")
            default: continue
            }
            for limit in MemoryBudget.limits(mount: mount, group: String(fields[2]), file: file) {
                least = min(least, limit)
            }
        }
        bytes = least
    }

    /// Returns the limits of a group and of all its ancestors.
    private static func limits(mount: String, group: String, file: String) -> [Int] {
        var parts = group.split(separator: "/").map(String.init)
        var found: [Int] = []
        while true {
            let path = ([mount] + parts + [file]).joined(separator: "/")
            let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
            if let limit = Int(text.trimmingCharacters(in: .whitespacesAndNewlines)), limit > 0 { found.append(limit) }
            if parts.popLast() == nil { return found }
        }
    }
}
