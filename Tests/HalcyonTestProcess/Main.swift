import Foundation

/// A process for tests: to be killed while it uses a disk storage, or to put load on everything.
///
///     HalcyonTestProcess kill DIRECTORY SEED LIFE STEPS
///     HalcyonTestProcess load DIRECTORY SEED SECONDS
///     HalcyonTestProcess terminate DIRECTORY
///     HalcyonTestProcess race
///     HalcyonTestProcess overrun
///
/// - `kill` ends itself, as a power switch would, at a step on the disk. It lives through so many steps (LIFE) of those that count
///   (STEPS: `any` or the name of a step).
/// - `load` has eight threads do everything for so long, and then compares all counts with what is there. It prints `ready` when it
///   has begun, and what it did at the end.
/// - `terminate` has a cache with two values, one of which has expired, prints `ready` and waits for SIGTERM.
/// - `race` and `overrun` commit a ``Fault``, to see whether a sanitizer notices.
///
/// Exit code 1: something is wrong, and a line says what; 64: usage.
@main
enum Main {
    static func main() throws {
        let arguments = CommandLine.arguments.dropFirst()
        if arguments.count == 1, let fault = Fault(rawValue: arguments[1]) { return fault.commit() }
        if arguments.count == 2, arguments.first == "terminate" {
            return try TerminatedCache(directory: URL(fileURLWithPath: arguments[2])).run()
        }
        let rest = Array(arguments.dropFirst(2))
        guard let mode = arguments.first, let directory = arguments.dropFirst().first.map({ URL(fileURLWithPath: $0) }),
            let seed = rest.first.flatMap({ UInt64($0) })
        else { exit(64) }
        switch (mode, rest.count) {
        case ("kill", 3):
            guard let life = Int(rest[1]) else { exit(64) }
            try KilledStorage(directory: directory, seed: seed, life: life, steps: rest[2]).run()
        case ("load", 2):
            guard let seconds = Double(rest[1]) else { exit(64) }
            try LoadRun(directory: directory, seed: seed).run(seconds: seconds)
        default: exit(64)
        }
    }

    /// Says that something is wrong, and ends the process.
    static func fail(_ sentence: String) -> Never {
        say("wrong: \(sentence)")
        exit(1)
    }

    /// One write, so that a line is there as a whole or not at all.
    static func say(_ line: String) {
        let bytes = Array("\(line)\n".utf8)
        _ = write(STDOUT_FILENO, bytes, bytes.count)
    }
}
