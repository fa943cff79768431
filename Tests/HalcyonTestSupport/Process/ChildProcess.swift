import CChildProcess
import Foundation
import Synchronization

/// A program that a test runs beside itself.
///
/// ```swift
/// let child = try ChildProcess("/bin/echo", ["hello"], output: .pipe)
/// #expect(await child.output() == Data("hello\n".utf8))
/// #expect(await child.ended() == .exited(0))
/// ```
///
/// It gets its three streams and nothing else that is open here. Foundation's `Process` closes in the child what was open when it
/// looked, so that a pipe or socket that another thread opens just then goes to the child, too. Who waits for the end of that pipe
/// then waits for both children; `Process` learns the end of a child by such a socket. Where one of the two is a server that runs as
/// long as the tests, as nginx is, that is for ever.
public final class ChildProcess: Sendable {
    /// What one of its streams is.
    public enum Stream: Sendable {
        /// Nothing: nothing comes in, and what goes out is dropped.
        case nothing
        /// The one of this process.
        case shared
        /// A file, which is there.
        case file(String)
        /// A pipe of which this process has the other end.
        case pipe
    }

    /// How it ended.
    public enum Ending: Equatable, Sendable {
        /// With this exit code.
        case exited(Int32)
        /// By this signal.
        case killed(by: Int32)
    }

    /// The number of the process.
    public let identifier: pid_t
    private let writing: FileHandle?
    private let reading: FileHandle?
    private let ending = Mutex<Ending?>(nil)

    /// Starts it.
    ///
    /// - Parameters:
    ///   - folder: where it works; by default where this process does.
    ///   - environment: all of its variables; by default those of this process.
    /// - Throws: `POSIXError` if it cannot be started, or a file cannot be opened.
    public init(
        _ executable: String, _ arguments: [String] = [], in folder: String? = nil,
        environment: [String: String] = ProcessInfo.processInfo.environment, input: Stream = .nothing,
        output: Stream = .shared, errors: Stream = .shared
    ) throws {
        let ends = try [
            StreamEnds(input, 0, O_RDONLY), StreamEnds(output, 1, O_WRONLY), StreamEnds(errors, 2, O_WRONLY),
        ]
        var child: pid_t = 0
        let error = Self.withStrings([executable] + arguments) { arguments in
            Self.withStrings(environment.map { "\($0)=\($1)" }) { environment in
                child_start(
                    &child, executable, arguments, environment, folder, ends.map { $0.child?.fileDescriptor ?? -1 })
            }
        }
        try POSIXError.check(error)
        identifier = child
        (writing, reading) = (ends[0].parent, ends[1].parent)
    }

    deinit {
        closeInput()
        // Who has not waited for it leaves no trace of it, if it has ended.
        if !isRunning { wait() }
    }

    /// Closes the pipe that it reads from.
    public func closeInput() { try? writing?.close() }

    /// Whether it has not ended.
    public var isRunning: Bool { ending.withLock { $0 == nil && child_has_ended(identifier) == 0 } }

    /// Sends it a signal, unless its end is known.
    public func signal(_ number: Int32) {
        ending.withLock { if $0 == nil { kill(identifier, number) } }
    }

    /// Waits until it has ended, which takes the thread.
    @discardableResult
    public func wait() -> Ending {
        // Without the lock, so that it can be sent a signal meanwhile.
        child_wait(identifier)
        return ending.withLock { ending in
            if let ending { return ending }
            let code = child_end(identifier)
            let new: Ending = code >= 256 ? .killed(by: code - 256) : .exited(code)
            ending = new
            return new
        }
    }

    /// Waits until it has ended, on a thread of its own: tasks have few.
    @discardableResult
    public func ended() async -> Ending { await Self.apart { self.wait() } }

    /// All that it writes to its pipe.
    public func output() async -> Data { await Self.apart { (try? self.reading?.readToEnd()) ?? Data() } }

    /// What it writes to its pipe first.
    public func firstOutput() async -> Data { await Self.apart { self.reading?.availableData ?? Data() } }

    private static func apart<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: work()) }
        }
    }

    /// Lends strings as C wants them.
    private static func withStrings<Result>(
        _ strings: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
    ) -> Result {
        let copies = strings.map { strdup($0) }
        defer { for copy in copies { free(copy) } }
        return body(copies + [nil])
    }
}

/// The two ends of a stream; each is closed with its handle.
private struct StreamEnds {
    var child: FileHandle?
    var parent: FileHandle?

    /// - Parameter number: of the stream, of this process and of its child.
    init(_ stream: ChildProcess.Stream, _ number: Int32, _ mode: Int32) throws {
        switch stream {
        case .nothing: break
        case .shared: child = FileHandle(fileDescriptor: number, closeOnDealloc: false)
        case .file(let path):
            let descriptor = open(path, mode | O_CLOEXEC)
            try POSIXError.check(descriptor < 0 ? errno : 0)
            child = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        case .pipe:
            var ends: [Int32] = [-1, -1]
            try POSIXError.check(child_pipe(&ends))
            let (reading, writing) = (
                FileHandle(fileDescriptor: ends[0], closeOnDealloc: true),
                FileHandle(fileDescriptor: ends[1], closeOnDealloc: true)
            )
            (child, parent) = mode == O_RDONLY ? (reading, writing) : (writing, reading)
        }
    }
}

extension POSIXError {
    /// Throws what a number of an error stands for.
    fileprivate static func check(_ number: Int32) throws {
        if number != 0 { throw POSIXError(POSIXErrorCode(rawValue: number) ?? .EINVAL) }
    }
}
