import Foundation

/// A real web server for tests: nginx on free ports of the loopback interface, with a folder and certificates of its own. It
/// ends with the instance, and when this process dies.
///
/// What it serves: files of ``folder``'s `files` at `/`, and besides
///
/// | path | answer |
/// |---|---|
/// | `/gzip/…` | the files, compressed on request, in chunks |
/// | `/private/…` | the files, for `ada` with the password `engine` |
/// | `/fresh/…` | the files, with `max-age=60, stale-while-revalidate=30` |
/// | `/unstored/…` | the files, with `no-store` |
/// | `/to/…` | 302 to the file |
/// | `/loop` | 302 to itself |
/// | `/elsewhere/…` | 302 to the file on the TLS port |
/// | `/broken` | 500 |
/// | `/said` | the method and the header `X-Said` |
public final class NginxServer: Sendable {
    /// Whether nginx and openssl are installed.
    public static let isInstalled = path(of: "nginx") != nil && path(of: "openssl") != nil

    /// Where its files are; they lie in `files`.
    public let folder: TemporaryFolder
    /// Speaks HTTP/1.1.
    public let plainPort: Int
    /// Speaks HTTP/1.1 and HTTP/2 with a certificate for 127.0.0.1 and localhost.
    public let securePort: Int
    /// Speaks TLS with a certificate for another name.
    public let misnamedPort: Int
    private let process: ChildProcess

    /// The certificate of the authority that signed the servers' ones.
    public var authority: URL { URL(fileURLWithPath: folder.path + "/authority.pem") }

    /// Starts one and returns when it answers.
    ///
    /// - Throws: ``NginxError`` if it does not.
    public init() throws {
        let folder = try TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.path + "/files", withIntermediateDirectories: false)
        try Certificates.make(in: folder.path)
        _ = try folder.file("passwords", "ada:{PLAIN}engine\n")
        // Another socket may get one of the ports before nginx does, which ends it.
        for _ in 0..<9 {
            let ports = try FreePort.several(3)
            let process = try Self.start(in: folder, ports)
            if Self.isListening(in: folder) {
                (plainPort, securePort, misnamedPort) = (ports[0], ports[1], ports[2])
                (self.folder, self.process) = (folder, process)
                return
            }
            process.closeInput()
            process.wait()
        }
        throw NginxError(reason: "nginx does not start: \(Self.errors(in: folder))")
    }

    private static func start(in folder: TemporaryFolder, _ ports: [Int]) throws -> ChildProcess {
        for name in ["nginx.pid", "error.log"] { try? FileManager.default.removeItem(atPath: "\(folder.path)/\(name)") }
        let configuration = try folder.file(
            "nginx.conf", NginxConfiguration.text(folder: folder.path, ports[0], ports[1], ports[2]))
        // The shell waits for the end of its input, which comes with the end of this process, however that comes.
        let line = "\"$0\" -p \"$1\" -c \"$2\" -e \"$1/error.log\" & pid=$!; cat > /dev/null; kill $pid; wait $pid"
        return try ChildProcess(
            "/bin/sh", ["-c", line, path(of: "nginx") ?? "nginx", folder.path, configuration], input: .pipe,
            output: .nothing, errors: .nothing)
    }

    /// Waits until nginx has written its number, which it does once it listens; `false` if it reports why it ends.
    private static func isListening(in folder: TemporaryFolder) -> Bool {
        let end = Date().addingTimeInterval(120)
        while Date() < end {
            let number = try? String(contentsOfFile: folder.path + "/nginx.pid", encoding: .utf8)
            if number?.hasSuffix("\n") == true { return true }
            if errors(in: folder).contains("[emerg]") { return false }
            usleep(5_000)
        }
        return false
    }

    private static func errors(in folder: TemporaryFolder) -> String {
        (try? String(contentsOfFile: folder.path + "/error.log", encoding: .utf8)) ?? ""
    }

    deinit {
        process.closeInput()
        process.wait()
    }

    /// An address on the plain port.
    public func url(_ path: String) -> URL { url("http", plainPort, path) }

    /// An address on the TLS port.
    public func secureURL(_ path: String) -> URL { url("https", securePort, path) }

    /// An address on the port whose certificate is another's.
    public func misnamedURL(_ path: String) -> URL { url("https", misnamedPort, path) }

    /// Puts a file there.
    @discardableResult
    public func file(_ name: String, _ bytes: [UInt8]) throws -> [UInt8] {
        _ = try folder.file("files/" + name, bytes)
        return bytes
    }

    /// The lines of its access log for a path: `METHOD path status protocol`. Waits for `count` of them, at most 30 seconds: a
    /// server logs a request after it has sent the response.
    public func visits(to path: String, waitingFor count: Int) async throws -> [String] {
        var lines: [String] = []
        for _ in 0..<3_000 {
            lines = try String(contentsOfFile: folder.path + "/access.log", encoding: .utf8)
                .split(separator: "\n").map(String.init)
                .filter { $0.split(separator: " ").dropFirst().first.map(String.init) == path }
            if lines.count >= count { break }
            try await Task.sleep(for: .milliseconds(10))
        }
        return lines
    }

    private func url(_ scheme: String, _ port: Int, _ path: String) -> URL {
        URL(string: "\(scheme)://127.0.0.1:\(port)\(path)") ?? URL(fileURLWithPath: path)
    }

    private static func path(of tool: String) -> String? {
        ["/usr/sbin", "/usr/bin", "/sbin", "/bin", "/usr/local/bin", "/opt/homebrew/bin"].map { "\($0)/\(tool)" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }
}

/// Why there is no nginx.
public struct NginxError: Error, CustomStringConvertible {
    let reason: String

    public var description: String { reason }
}
