import Foundation

/// A small file system in memory, where the tests may mount one.
public final class SmallDisk {
    /// Where it is mounted.
    public let path: String
    private let folder: TemporaryFolder

    /// Mounts one, or says that this cannot be and returns `nil`.
    public init?(kilobytes: Int) throws {
        folder = try TemporaryFolder()
        path = folder.path
        guard SmallDisk.run("mount", "-t", "tmpfs", "-o", "size=\(kilobytes)k", "tmpfs", path) else {
            print("no file system can be mounted here: what happens when it is full or read-only is not tested")
            return nil
        }
    }

    deinit { while SmallDisk.run("umount", "-l", path) {} }

    /// Mounts it anew, with other options and what is in it.
    public func remount(_ options: String) -> Bool { SmallDisk.run("mount", "-o", "remount,\(options)", path) }

    /// Lets nobody open a file for writing any more, which ``remount(_:)`` cannot while one is open so.
    public func forbidWriting() -> Bool {
        SmallDisk.run("mount", "--bind", path, path) && SmallDisk.run("mount", "-o", "remount,bind,ro", path)
    }

    /// Ends ``forbidWriting()``.
    public func allowWriting() -> Bool { SmallDisk.run("umount", path) }

    /// Takes all room that is left; whether there is none then.
    public func fill() -> Bool {
        guard let filler = fopen(path + "/filler", "w") else { return false }
        defer { fclose(filler) }
        setvbuf(filler, nil, _IONBF, 0)
        let page = [UInt8](repeating: 1, count: 4_096)
        while fwrite(page, 1, page.count, filler) == page.count {}
        return errno == ENOSPC
    }

    /// Gives the room back that ``fill()`` took.
    public func empty() throws { try FileManager.default.removeItem(atPath: path + "/filler") }

    /// Runs a command of the system and tells whether it succeeded.
    private static func run(_ command: String...) -> Bool {
        (try? ChildProcess("/usr/bin/env", command, errors: .nothing).wait()) == .exited(0)
    }
}
