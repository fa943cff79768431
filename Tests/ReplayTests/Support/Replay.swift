import Foundation
import HalcyonTestSupport
import Testing

/// What a run of the command left.
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

/// The built command, run as a person runs it.
enum Replay {
    /// The executable.
    static let executable = BuiltExecutable.url("replay")

    /// The command's process in `folder`, not yet started.
    static func process(_ arguments: [String], in folder: TemporaryFolder, environment: [String: String] = [:])
        -> Process
    {
        let process = Process()
        process.executableURL = executable
        process.arguments = arguments
        process.currentDirectoryURL = URL(fileURLWithPath: folder.path)
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardInput = FileHandle.nullDevice
        return process
    }

    /// Runs the command in `folder` to its end.
    static func run(
        _ arguments: String..., in folder: TemporaryFolder, input: String? = nil, environment: [String: String] = [:]
    ) throws -> Outcome {
        try run(arguments, in: folder, input: input, environment: environment)
    }

    /// Runs the command in `folder` to its end. Its output goes through files, which never fill up.
    static func run(
        _ arguments: [String], in folder: TemporaryFolder, input: String? = nil, environment: [String: String] = [:]
    ) throws -> Outcome {
        let process = process(arguments, in: folder, environment: environment)
        let scratch = try TemporaryFolder()
        let output = URL(fileURLWithPath: try scratch.file("output", ""))
        let errors = URL(fileURLWithPath: try scratch.file("errors", ""))
        process.standardOutput = try FileHandle(forWritingTo: output)
        process.standardError = try FileHandle(forWritingTo: errors)
        if let input {
            process.standardInput = FileHandle(forReadingAtPath: try scratch.file("input", input))
        }
        try process.run()
        process.waitUntilExit()
        return Outcome(
            output: try Data(contentsOf: output), errors: try String(contentsOf: errors, encoding: .utf8),
            code: process.terminationStatus + (process.terminationReason == .uncaughtSignal ? 128 : 0))
    }

    /// Runs a line of shell in `folder`, where `replay` is the command; gives its output and exit code.
    static func shell(_ line: String, in folder: TemporaryFolder) throws -> Outcome {
        let process = process(["-c", "replay() { '\(executable.path)' \"$@\"; }\n\(line)"], in: folder)
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        let scratch = try TemporaryFolder()
        let output = URL(fileURLWithPath: try scratch.file("output", ""))
        let errors = URL(fileURLWithPath: try scratch.file("errors", ""))
        process.standardOutput = try FileHandle(forWritingTo: output)
        process.standardError = try FileHandle(forWritingTo: errors)
        try process.run()
        process.waitUntilExit()
        return Outcome(
            output: try Data(contentsOf: output), errors: try String(contentsOf: errors, encoding: .utf8),
            code: process.terminationStatus)
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
