import Foundation
import Halcyon
import HalcyonTestSupport
import Testing

@testable import HalcyonCache

@Suite("Memory budget", .timeLimit(.minutes(20)))
struct MemoryBudgetTests {
    func machine(_ files: [String: String]) throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        for (name, text) in files {
            let parent = (name as NSString).deletingLastPathComponent
            try FileManager.default.createDirectory(
                atPath: "\(folder.path)/\(parent)", withIntermediateDirectories: true)
            _ = try folder.file(name, text)
        }
        return folder
    }

    @Test("The budget is the smallest of the machine's memory and the limits of all enclosing groups")
    func budgetIsSmallestLimitAroundProcess() throws {
        let folder = try machine([
            "proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "max\n",
            "sys/fs/cgroup/a/memory.max": "4096\n",
        ])
        #expect(MemoryBudget(physical: 10_000, root: folder.path).bytes == 4_096)
        #expect(MemoryBudget(physical: 1_000, root: folder.path).bytes == 1_000)
    }

    @Test("The budget reads control groups of version 1, and is the machine's memory without groups")
    func budgetReadsVersion1Groups() throws {
        let folder = try machine([
            "proc/self/cgroup": "5:cpu:/x\n4:hugetlb,memory:/x\n",
            "sys/fs/cgroup/memory/x/memory.limit_in_bytes": "512\n",
        ])
        #expect(MemoryBudget(physical: 10_000, root: folder.path).bytes == 512)
        #expect(MemoryBudget(physical: 10_000, root: folder.path + "/nowhere").bytes == 10_000)
    }
}
