import Foundation
import HalcyonTestSupport
import Testing

/// What the command says when the system refuses a file: one sentence with the reason, and exit code 74.
@Suite("Errors of the system", .timeLimit(.minutes(20)))
struct SystemErrorTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        _ = try folder.file("t.csv", SampleTrace().csv)
        _ = try folder.file(
            "suite.yml",
            """
            schema: halcyon.suite/1
            traces: [t.csv]
            experiments:
              - {name: a, policies: [lru, fifo, sieve], capacities: [1KB, 2KB]}
            """)
    }

    /// The commands that write, with the path of what they write.
    private static func commands(_ place: String) -> [[String]] {
        [
            ["sweep", "suite.yml", "--results", "\(place)/results"],
            ["t.csv", "-p", "lru", "--only", "-o", "\(place)/r.json"],
            ["convert", "t.csv", "\(place)/t.oracleGeneral"],
            ["train", "t.csv", "-c", "2KB", "-o", "\(place)/m.safetensors"],
            ["generate", "shop", "-o", "\(place)/shop.csv"], ["curve", "t.csv", "-o", "\(place)/c.csv"],
            ["merge", "\(place)/merged", "stored"], ["results", "stored", "--format", "csv", "-o", "\(place)/s.csv"],
        ]
    }

    private func expectSentence(_ arguments: [String], _ reason: String, place: String) throws {
        let outcome = try Replay.run(arguments, in: folder)
        #expect(outcome.code == 74, "\(arguments): \(outcome.code) \(outcome.errors)")
        #expect(outcome.errors.hasPrefix("replay: \(place)"), "\(outcome.errors)")
        #expect(outcome.errors.contains(reason) && !outcome.errors.contains("Error Domain"), "\(outcome.errors)")
        #expect(!outcome.errors.contains("NSCocoa") && !outcome.errors.contains("UserInfo"), "\(outcome.errors)")
        #expect(outcome.errors.split(separator: "\n").count { $0.hasPrefix("replay: ") } == 1, "\(outcome.errors)")
    }

    @Test("A read-only file system is one sentence with the reason, for every command that writes")
    func readOnlyFileSystemIsOneSentence() throws {
        guard let disk = try SmallDisk(kilobytes: 4_000) else { return }
        #expect(try Replay.run("sweep", "suite.yml", "--results", "stored", in: folder).code == 0)
        #expect(disk.forbidWriting())
        for arguments in Self.commands(disk.path) {
            try expectSentence(arguments, "Read-only file system", place: disk.path)
        }
        #expect(disk.allowWriting())
    }

    @Test("A full disk is one sentence with the reason, and leaves no part of a file")
    func fullDiskIsOneSentence() throws {
        guard let disk = try SmallDisk(kilobytes: 200) else { return }
        #expect(try Replay.run("sweep", "suite.yml", "--results", "stored", in: folder).code == 0)
        #expect(disk.fill())
        // Training ends earlier: so short a trace gives no model to write.
        for arguments in Self.commands(disk.path) where arguments[0] != "train" {
            try expectSentence(arguments, "No space left on device", place: disk.path)
        }
        let files = FileManager.default.enumerator(atPath: disk.path)?.compactMap { $0 as? String } ?? []
        let whole = files.filter { name in
            var isFolder: ObjCBool = false
            return FileManager.default.fileExists(atPath: "\(disk.path)/\(name)", isDirectory: &isFolder)
                && !isFolder.boolValue
        }
        #expect(whole.allSatisfy { $0 == "filler" || $0.hasSuffix("cells.lock") }, "\(whole)")
        try expectSentence(
            ["t.csv", "-p", "lru", "--only", "-o", "/dev/full"], "No space left on device", place: "/dev/full")
    }

    /// The system refuses nothing to its administrator, so the command runs as another user.
    @Test("A folder of another user is one sentence with the reason")
    func folderOfAnotherUserIsOneSentence() throws {
        let isAdministrator = geteuid() == 0
        let place = folder.path + "/theirs"
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: false)
        for path in [folder.path, place] { #expect(chmod(path, 0o755) == 0) }
        for name in ["t.csv", "suite.yml"] { #expect(chmod("\(folder.path)/\(name)", 0o644) == 0) }
        #expect(isAdministrator || chmod(place, 0o555) == 0)
        let prefix = isAdministrator ? "setpriv --reuid=65534 --regid=65534 --clear-groups " : ""
        let probe = try Replay.shell("\(prefix)'\(Replay.executable.path)' --version", in: folder)
        guard probe.code == 0 else {
            print("the command cannot run as another user here: what it says of a folder of another user is not tested")
            return
        }
        for arguments in Self.commands(place) where arguments[0] != "merge" && arguments[0] != "results" {
            let line = "\(prefix)'\(Replay.executable.path)' \(arguments.joined(separator: " "))"
            let outcome = try Replay.shell(line, in: folder)
            #expect(outcome.code == 74 && outcome.errors.contains("Permission denied"), "\(line): \(outcome.errors)")
            #expect(outcome.errors.hasPrefix("replay: \(place)") && !outcome.errors.contains("Error Domain"))
        }
    }
}
