import Foundation
import HalcyonTestSupport
import Testing

/// The outcome of a run of the command.
struct Outcome {
    let output: Data
    let errors: String
    /// The exit code, or 128 and the number of the signal, as shells count.
    let code: Int32

    var text: String { String(decoding: output, as: UTF8.self) }
    var lines: [String] { text.split(separator: "\n").map(String.init) }

    /// The output as a JSON object.
    func json() throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: output) as? [String: Any])
    }

    /// The runs of a report.
    func runs() throws -> [[String: Any]] { try #require(try json()["runs"] as? [[String: Any]]) }
}

/// The built command, run in a process.
enum Replay {
    /// The executable.
    static let executable = BuiltExecutable.url("replay")

    /// Starts the command in `folder`. By default it reports no progress, however slow the machine is.
    static func start(
        _ arguments: [String], in folder: TemporaryFolder, environment: [String: String] = [:],
        input: ChildProcess.Stream = .nothing, output: ChildProcess.Stream = .nothing,
        errors: ChildProcess.Stream = .nothing
    ) throws -> ChildProcess {
        try start(
            executable.path, arguments, in: folder, environment: environment, input: input, output: output,
            errors: errors)
    }

    /// Runs the command in `folder` to its end.
    static func run(
        _ arguments: String..., in folder: TemporaryFolder, input: String? = nil, environment: [String: String] = [:]
    ) throws -> Outcome {
        try run(arguments, in: folder, input: input, environment: environment)
    }

    /// Runs the command in `folder` to its end.
    static func run(
        _ arguments: [String], in folder: TemporaryFolder, input: String? = nil, environment: [String: String] = [:]
    ) throws -> Outcome {
        try run(executable.path, arguments, in: folder, input: input, environment: environment)
    }

    /// Runs a line of shell in `folder`, where `replay` is the command; gives its output and exit code.
    static func shell(_ line: String, in folder: TemporaryFolder) throws -> Outcome {
        let line = "replay() { '\(executable.path)' \"$@\"; }\n\(line)"
        return try run("/bin/sh", ["-c", line], in: folder, input: nil, environment: [:])
    }

    private static func start(
        _ executable: String, _ arguments: [String], in folder: TemporaryFolder, environment: [String: String],
        input: ChildProcess.Stream, output: ChildProcess.Stream, errors: ChildProcess.Stream
    ) throws -> ChildProcess {
        try ChildProcess(
            executable, arguments, in: folder.path,
            environment: ProcessInfo.processInfo.environment.merging(["HALCYON_PROGRESS_SECONDS": "86400"]) { $1 }
                .merging(environment) { $1 }, input: input, output: output,
            errors: errors)
    }

    /// Runs a program to its end. Its output goes through files, which never fill up.
    private static func run(
        _ executable: String, _ arguments: [String], in folder: TemporaryFolder, input: String?,
        environment: [String: String]
    ) throws -> Outcome {
        let scratch = try TemporaryFolder()
        let (output, errors) = (try scratch.file("output", ""), try scratch.file("errors", ""))
        let process = try start(
            executable, arguments, in: folder, environment: environment,
            input: try input.map { .file(try scratch.file("input", $0)) } ?? .nothing, output: .file(output),
            errors: .file(errors))
        let ending = process.wait()
        return Outcome(
            output: try Data(contentsOf: URL(fileURLWithPath: output)),
            errors: try String(contentsOfFile: errors, encoding: .utf8), code: ending.shellCode)
    }
}

extension ChildProcess {
    /// Waits for the first line of progress in `file`, after which the replay handles signals. The environment must
    /// set `HALCYON_PROGRESS_SECONDS` low.
    func waitForProgress(in file: String) throws {
        while isRunning, try !String(contentsOfFile: file, encoding: .utf8).contains(" so far") { usleep(1_000) }
    }

    /// Whether it has a file open in `folder`, with a name or, on Linux, without.
    func hasOpened(in folder: TemporaryFolder) -> Bool {
        let descriptors = "/proc/\(identifier)/fd"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: descriptors)) ?? []
        return names.contains { name in
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "\(descriptors)/\(name)"))?
                .hasPrefix(folder.path + "/") == true
        }
    }
}

extension ChildProcess.Ending {
    /// The exit code, or 128 and the number of the signal, as shells count.
    fileprivate var shellCode: Int32 {
        switch self {
        case .exited(let code): code
        case .killed(by: let signal): 128 + signal
        }
    }
}

extension TemporaryFolder {
    /// The names in it, sorted.
    var contents: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted() }

    /// The content of a file in it.
    func text(_ name: String) throws -> String {
        try String(contentsOf: URL(fileURLWithPath: "\(path)/\(name)"), encoding: .utf8)
    }
}
