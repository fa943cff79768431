import Foundation
import HalcyonAccessLog

/// Records to a log until it is killed, or a number of accesses; what the tests kill, and their second process.
///
///     AccessLogProcess LOG NAME COUNT FLUSH-MILLISECONDS [ROWS]
///
/// Access n has the key `NAME-n`. After every twentieth a line `n written` says that all up to n were recorded by then, and how
/// many accesses were in the file; the last line is `done`. With ROWS the log keeps so many accesses at most, and accesses come as
/// fast as they can be written.
@main
struct Main {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 5 || arguments.count == 6, let count = Int(arguments[3]), let flush = Int(arguments[4])
        else { exit(64) }
        var configuration = AccessLog.Configuration()
        configuration.keys = .raw
        configuration.flushInterval = .milliseconds(flush)
        configuration.lockTimeout = .seconds(10)
        let bound = arguments.count == 6 ? Int(arguments[5]) : nil
        configuration.bounds = AccessLog.Bounds(rows: bound, bytes: nil, days: nil)
        let log = AccessLog(path: arguments[1], configuration)
        for number in 0..<count {
            log.record(
                "\(arguments[2])-\(number)", cost: number, categories: ["c\(number % 7)"], outcome: .memory,
                user: arguments[2])
            guard number % 20 == 0 else { continue }
            say("\(number) \(log.statistics.written)")
            if bound != nil {
                while log.statistics.waiting > 1_000 { usleep(1_000) }
            } else if count == .max {
                usleep(10_000)
            }
        }
        try await log.close()
        say("done")
    }

    /// One write, so that a line is there as a whole or not at all.
    static func say(_ line: String) {
        let bytes = Array("\(line)\n".utf8)
        _ = write(STDOUT_FILENO, bytes, bytes.count)
    }
}
