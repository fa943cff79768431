import Foundation
import HalcyonTestSupport

/// A small file system in memory, where the tests may mount one.
final class SmallDisk {
    /// Where it is mounted.
    let path: String
    private let folder: TemporaryFolder

    /// Mounts one, or says that this cannot be and returns `nil`.
    init?(kilobytes: Int) throws {
        folder = try TemporaryFolder()
        path = folder.path
        guard SmallDisk.run("mount", "-t", "tmpfs", "-o", "size=\(kilobytes)k", "tmpfs", path) else {
            print("no file system can be mounted here: what happens when it is full or read-only is not tested")
            return nil
        }
    }

    deinit { _ = SmallDisk.run("umount", "-l", path) }

    /// Mounts it anew, with other options and what is in it.
    func remount(_ options: String) -> Bool { SmallDisk.run("mount", "-o", "remount,\(options)", path) }

    /// Runs a command of the system and tells whether it succeeded.
    private static func run(_ command: String...) -> Bool {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = command
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }
}
