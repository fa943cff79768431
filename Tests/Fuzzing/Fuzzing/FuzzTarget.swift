import Foundation

/// A parser that is fuzzed.
struct FuzzTarget: Sendable {
    /// The name in commands.
    let name: String
    /// Handles one input; ends the process if the parser does something that it must not.
    let run: @Sendable (Data) -> Void
    /// The inputs that the corpus begins with.
    let seeds: @Sendable () throws -> [Data]

    /// All targets but ``selfTest``.
    static let all: [FuzzTarget] =
        [traceCSV, traceBinary, traceCompressed, traceLog, model, suite, http, disk] + images + [processors]

    /// A planted fault, which the fuzzer must find: else it finds nothing.
    static let selfTest = FuzzTarget(
        name: "selftest",
        run: { data in
            // A branch for each byte, of which the fuzzer sees that it was taken.
            let bytes = [UInt8](data)
            guard bytes.count > 3, bytes[0] == UInt8(ascii: "F") else { return }
            guard bytes[1] == UInt8(ascii: "U") else { return }
            guard bytes[2] == UInt8(ascii: "Z") else { return }
            guard bytes[3] == UInt8(ascii: "Z") else { return }
            fatalError("the planted fault")
        },
        seeds: { [Data("a harmless input".utf8)] })

    static func named(_ name: String) -> FuzzTarget? { (all + [selfTest]).first { $0.name == name } }

    /// Writes the seeds as files that are named by their numbers.
    func writeSeeds(to folder: URL) throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        for (number, seed) in try seeds().enumerated() {
            try seed.write(to: folder.appendingPathComponent("seed-\(number)"))
        }
    }

    /// The files of a folder of the package with one of these extensions, in order of their names.
    static func files(in folder: String, _ extensions: String...) throws -> [Data] {
        let root = URL(fileURLWithPath: ProcessInfo.processInfo.environment["HALCYON_ROOT"] ?? ".")
        let url = root.appendingPathComponent(folder)
        return try FileManager.default.contentsOfDirectory(atPath: url.path).sorted()
            .filter { extensions.contains(($0 as NSString).pathExtension) }
            .map { try Data(contentsOf: url.appendingPathComponent($0)) }
    }
}

/// The folder of this process, for inputs that are read from files. The system's temporary folder has it, which
/// `Tests/Fuzzing/run` deletes.
enum FuzzFolder {
    static let path: String = {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("fuzz-\(getpid())").path
        do {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        } catch {
            fatalError("\(path): \(error)")
        }
        return path
    }()

    /// Writes a file and returns its path.
    static func file(_ name: String, _ data: Data) -> String {
        let path = "\(path)/\(name)"
        guard FileManager.default.createFile(atPath: path, contents: data) else {
            fatalError("\(path) cannot be written")
        }
        return path
    }
}
